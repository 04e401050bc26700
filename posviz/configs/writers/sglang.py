"""SGLang: --json-model-override-args and --context-length."""

from __future__ import annotations

import json
import shlex
from typing import Any

from posviz.configs.errors import ExportError
from posviz.configs.writers.dialects import SGLANG
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
    "Version assumed: SGLang 0.5.23. The override is laid over the model's own dict key by key, "
    "and SGLang refuses a --context-length above the configured window unless "
    "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1, so the window is raised too."
)
_STALE_DEFAULTS: dict[str, Any] = {
    "beta_fast": 32.0,
    "beta_slow": 1.0,
    "truncate": True,
    "extrapolation_factor": 1.0,
    "attn_factor": 1.0,
    "mscale": None,
    "mscale_all_dim": None,
}
"""Values that undo a key of the model's own dict, since the override cannot remove it."""


def write(task: Task) -> Settings:
    """The flags of ``python -m sglang.launch_server``."""
    if task.is_per_layer:
        raise ExportError(
            "Rotary parameters per layer type cannot be written for SGLang: each of its model "
            "classes reads such dicts in its own way, Gemma 3's for example only the bases."
        )
    written = {**rope_dict(task.spec, SGLANG, with_partial=task.overrules_partial), **task.carried}
    windows = _windows(task)
    override = {"rope_scaling": _undo_stale(task, written), **windows}
    length = extended_length(task)
    flags = [
        "--json-model-override-args "
        f"{shlex.quote(json.dumps(nested(task, override), ensure_ascii=False))}"
    ]
    flags += [] if length is None else [f"--context-length {length}"]
    return Settings(
        text=" ".join(flags),
        data=merged_config(task, {"rope_scaling": written, **windows}),
        notes=(NOTE, *_notes(task, written)),
        runtime="sglang",
        title="SGLang",
    )


def _undo_stale(task: Task, written: dict[str, Any]) -> dict[str, Any]:
    if task.model is None or written["rope_type"] not in ("yarn", "deepseek_yarn"):
        return written
    own = task.section.get("rope_scaling") or task.section.get("rope_parameters") or {}
    stale = {
        key: default
        for key, default in _STALE_DEFAULTS.items()
        if key in own and key not in written
    }
    return {**written, **stale}


def _windows(task: Task) -> dict[str, Any]:
    window = position_window(task)
    given = {} if window is None else {"max_position_embeddings": window}
    return given | original_key(task)


def _notes(task: Task, written: dict[str, Any]) -> list[str]:
    notes = length_notes(task)
    if "attn_factor" in written:
        notes.append(
            "attn_factor multiplies the factor that SGLang derives, which heeds no mscale outside "
            "the DeepSeek classes; it is chosen so that the product is the one asked for."
        )
    if task.spec.id == "longrope":
        notes.append("SGLang picks the short or the long list once, by the context length.")
    return notes
