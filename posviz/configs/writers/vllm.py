"""vLLM: --hf-overrides with the whole dict, and --max-model-len."""

from __future__ import annotations

import json
import shlex
from typing import Any

from posviz.configs.errors import ExportError
from posviz.configs.writers.dialects import VLLM
from posviz.configs.writers.merged import merged_config, nested, original_key
from posviz.configs.writers.rope_dict import rope_dict
from posviz.configs.writers.settings import (
    Settings,
    Task,
    extended_length,
    length_notes,
    position_window,
)

NOTE = (
    "Version assumed: vLLM 0.33, where --rope-scaling and --rope-theta are gone. The dict "
    "replaces the model's own, whole."
)


def write(task: Task) -> Settings:
    """The flags of ``vllm serve``."""
    changed = {"rope_parameters": _rope_parameters(task), **_windows(task)}
    overrides = json.dumps(nested(task, changed), ensure_ascii=False)
    length = extended_length(task)
    flags = [f"--hf-overrides {shlex.quote(overrides)}"]
    flags += [] if length is None else [f"--max-model-len {length}"]
    return Settings(
        text=" ".join(flags),
        data=merged_config(task, changed),
        notes=(NOTE, *_notes(task)),
        runtime="vllm",
        title="vLLM",
    )


def _rope_parameters(task: Task) -> dict[str, Any]:
    if "mrope_section" in task.carried and task.spec.id == "yarn":
        raise ExportError(
            "YaRN with M-RoPE cannot be written for vLLM: it works the ramp out with four times "
            "the trained window."
        )
    if not task.is_per_layer:
        return {**rope_dict(task.spec, VLLM, with_partial=task.overrules_partial), **task.carried}
    return {
        name: None if spec is None else rope_dict(spec, VLLM, with_partial=task.overrules_partial)
        for name, spec in task.specs.items()
    }


def _windows(task: Task) -> dict[str, Any]:
    window = position_window(task)
    given = {} if window is None else {"max_position_embeddings": window}
    return given | original_key(task)


def _notes(task: Task) -> list[str]:
    notes = length_notes(task)
    if task.spec.id in ("yarn", "llama3", "longrope", "ntk_by_parts"):
        notes.append(
            "max_position_embeddings is raised too: vLLM does not multiply it for this type."
        )
    if task.spec.id == "longrope":
        notes.append(
            "vLLM picks the short or the long list once, by --max-model-len; transformers by the "
            "length of each call."
        )
    if getattr(task.spec, "softmax_correction", False):
        notes.append("The DeepSeek classes turn yarn into vLLM's deepseek_yarn themselves.")
    return notes
