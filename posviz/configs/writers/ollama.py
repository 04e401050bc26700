"""Ollama: a Modelfile, which sets how long a context is and nothing about the rotation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from posviz.configs.model import FULL
from posviz.configs.reader import read
from posviz.configs.writers.dialects import refusal
from posviz.configs.writers.llama_cpp_yarn import (
    ATTN_FACTOR,
    refuse_softmax_side_effect,
    refuse_yarn,
    yarn_override,
)
from posviz.configs.writers.merged import merged_config
from posviz.configs.writers.settings import Settings, Task

TITLE = "Ollama"
NOTE = (
    "Version assumed: Ollama 0.30. Replace the path after FROM by your GGUF file or by the name "
    "of the model."
)
_FROM_FILE = (
    "A Modelfile has no parameter for the rotation (early releases had rope_frequency_base and "
    "rope_frequency_scale): all of it comes from the GGUF file, converted from this configuration."
)
_WHERE_ELSE = (
    "a Modelfile sets num_ctx only, and the rotation comes from the GGUF file; convert it again "
    "from a changed config.json (gguf-set-metadata changes only keys that the file has already), "
    "or run it with llama.cpp's own flags"
)
_CONVERTED = ("rope", "linear", "yarn", "llama3", "longrope")
"""Methods that conversion to GGUF carries over, as keys or as tensors."""


def write(task: Task) -> Settings:
    """FROM and, where the length is known, PARAMETER num_ctx."""
    for name, spec in task.specs.items():
        if spec is not None:
            _refuse_other(task, name, spec)
    length = _length(task)
    lines = ["FROM ./model.gguf"]
    lines += [] if length is None else [f"PARAMETER num_ctx {length}"]
    return Settings(
        text="\n".join(lines) + "\n",
        data={} if length is None else {"num_ctx": length},
        notes=(NOTE, _FROM_FILE, *_notes(task, length)),
        runtime="ollama",
        title=TITLE,
        base_config=_base(task),
    )


def _refuse_other(task: Task, name: str, spec: Any) -> None:
    if task.model is None:
        if spec.id != "rope" or (spec.is_proportional and spec.partial_rotary_factor != 1):
            raise refusal(spec, TITLE, _WHERE_ELSE)
        return
    own = read(task.model.config).layer(name).spec
    if own != spec:
        raise refusal(spec, TITLE, _WHERE_ELSE)
    if _is_proportional(spec):
        reason = "conversion carries it over for Gemma 4, as a tensor, and not for every class"
        if not task.model.model_type.startswith("gemma4"):
            raise refusal(spec, TITLE, reason, "in the file")
    elif spec.id not in _CONVERTED and not _is_hunyuan_base(task, spec):
        raise refusal(spec, TITLE, "conversion to a GGUF file does not carry it over")
    if spec.id == "linear" and spec.scaling_factor != 1:
        refuse_softmax_side_effect(task, TITLE)
    if spec.id == "yarn":
        _refuse_unconverted_yarn(task, spec)


def _is_hunyuan_base(task: Task, spec: Any) -> bool:
    """Whether it is HunYuan's alpha, which conversion works into the base."""
    assert task.model is not None
    return spec.id == "ntk_aware" and task.model.model_type.startswith("hunyuan")


def _is_proportional(spec: Any) -> bool:
    whole = spec.partial_rotary_factor == 1
    return spec.id == "p_rope" or (spec.id == "rope" and spec.is_proportional and not whole)


def _refuse_unconverted_yarn(task: Task, spec: Any) -> None:
    refuse_yarn(spec, TITLE)
    override = yarn_override(replace(task, specs={FULL: spec}), TITLE)
    if override is not None and ATTN_FACTOR in override:
        raise refusal(spec, TITLE, "conversion does not carry its attention factor over")


def _length(task: Task) -> int | None:
    window = None if task.model is None else task.model.window
    target = task.target_length
    if target is not None and window is not None and target > window:
        raise refusal(
            task.spec,
            TITLE,
            f"a num_ctx of {target} is cut to the context_length in the GGUF file, {window}; "
            + _WHERE_ELSE,
            "length",
        )
    return target or task.window or window


def _base(task: Task) -> dict[str, Any]:
    if task.model is not None:
        return dict(task.model.config)
    spec: Any = task.spec
    keys: dict[str, Any] = {"rope_theta": spec.base}
    if spec.partial_rotary_factor != 1:
        keys["partial_rotary_factor"] = spec.partial_rotary_factor
    return merged_config(task, keys)


def _notes(task: Task, length: int | None) -> list[str]:
    spec: Any = task.spec
    notes = []
    if task.model is None:
        notes.append(
            f"The file must hold the base {spec.base:g} (rope.freq_base, 10000 where it is missing)"
            + (
                ""
                if spec.partial_rotary_factor == 1
                else f" and {spec.rotary_dim} rotated dimensions (rope.dimension_count)"
            )
            + "."
        )
    else:
        notes.append("It cuts num_ctx to the context_length that the GGUF file holds.")
    if length is None:
        notes.append("Give a target length for PARAMETER num_ctx; without one Ollama chooses.")
    return notes
