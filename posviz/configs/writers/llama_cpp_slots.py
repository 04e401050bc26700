"""How long a slot of llama.cpp's server may grow, which is not what --ctx-size says."""

from __future__ import annotations

from typing import Any

from posviz.configs.reader import read
from posviz.configs.writers.llama_cpp_yarn import architecture
from posviz.configs.writers.settings import Task

WHERE = "the context length in the GGUF file"


def slot_cap(window: int | None = None, who: str = "llama.cpp's") -> str:
    """What its server does with a context above the window (server-context.cpp, n_ctx_slot)."""
    return f"{who} server caps each slot at {'' if window is None else f'{window} tokens, '}{WHERE}"


def slot_notes(task: Task, context: int | None) -> list[str]:
    """A note where --ctx-size lies above what a slot gets.

    With --rope-scaling yarn and a scale that is not the file's own, the cap becomes
    --yarn-orig-ctx × --rope-scale (since August 2026, llama.cpp pull request 28030).
    """
    spec: Any = task.spec
    window = None if task.model is None else task.model.window
    reach = getattr(spec, "original_max_position_embeddings", None) if window is None else window
    if context is None or reach is None or context <= reach:
        return []
    if spec.id == "yarn" and spec.scaling_factor != _scale_in_file(task):
        return []
    key = _context_key(task)
    return [
        f"--ctx-size {context} is not what a slot gets: {slot_cap(window)}. Add --override-kv "
        f"{key}=int:{context} to raise it."
    ]


def _scale_in_file(task: Task) -> float:
    """What conversion wrote as rope.scaling.factor; 1 where it wrote none or is not known."""
    own: Any = None if task.model is None else read(task.model.config).layer().spec
    return float(own.scaling_factor) if own is not None and own.id in ("yarn", "linear") else 1.0


def _context_key(task: Task) -> str:
    file = None if task.model is None else task.model.gguf
    named = None if file is None else file.names.get("max_position_embeddings")
    return named or f"{architecture(task) or 'ARCHITECTURE'}.context_length"
