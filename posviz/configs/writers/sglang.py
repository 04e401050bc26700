"""SGLang: --json-model-override-args and --context-length."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any

from posviz.configs.errors import ExportError
from posviz.configs.writers.dialects import SGLANG, SGLANG_WITH_SECTIONS, refusal
from posviz.configs.writers.merged import merged_config, nested, original_key
from posviz.configs.writers.rope_dict import rope_dict
from posviz.configs.writers.settings import (
    Settings,
    Task,
    extended_length,
    length_notes,
    position_window,
)

_LAID_OVER = "The override is laid over the model's own dict key by key"
_REPLACED = (
    "Under {} the override replaces the dict, whole; releases that do not yet merge a nested "
    "override put a plain dict in place of {} and stop"
)
_LIMIT = (
    "SGLang refuses a --context-length above max_position_embeddings (times the factor, where the "
    "dict has no original_max_position_embeddings and the type is not llama3) unless "
    "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN=1"
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
_STALE_IN_DEEPSEEK: dict[str, Any] = {"mscale": 1.0, "mscale_all_dim": 0.0}
"""deepseek_yarn makes a number of each, so null stops it; these are its own defaults."""
_STALE_IN_LONGROPE: dict[str, Any] = {"short_mscale": None, "long_mscale": None}
_MSCALES = tuple(_STALE_IN_DEEPSEEK)
_DEEPSEEK = ("deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2")
"""Model types whose class takes every scaling for deepseek_yarn (models/deepseek_v2.py)."""


def write(task: Task) -> Settings:
    """The flags of ``python -m sglang.launch_server``."""
    if task.is_per_layer:
        raise ExportError(
            "Rotary parameters per layer type cannot be written for SGLang: each of its model "
            "classes reads such dicts in its own way, Gemma 3's for example only the bases.",
            kind="unknown",
        )
    dialect = SGLANG_WITH_SECTIONS if _has_sections(task) else SGLANG
    written = {**rope_dict(task.spec, dialect, with_partial=task.overrules_partial), **task.carried}
    _refuse_other(task, written)
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
        notes=(_version_note(task, windows), *_notes(task, written)),
        runtime="sglang",
        title="SGLang",
    )


def _has_sections(task: Task) -> bool:
    return "mrope_section" in task.carried


def _own(task: Task) -> Mapping[str, Any]:
    found = task.section.get("rope_scaling") or task.section.get("rope_parameters")
    return found if isinstance(found, Mapping) else {}


def _is_merged(task: Task) -> bool:
    """Whether keys of the model's own dict stay beside those of the override."""
    return task.model is not None and not task.model.text_path


def _refuse_other(task: Task, written: Mapping[str, Any]) -> None:
    if task.model is not None and "." in task.model.text_path:
        reason = (
            "its override reaches into one sub-configuration, and this model's text model lies "
            f"deeper ({task.model.text_path})"
        )
        raise refusal(task.spec, SGLANG.title, reason, "unknown")
    name = "" if task.model is None else task.model.model_type
    if name in _DEEPSEEK and written["rope_type"] not in ("default", "yarn", "deepseek_yarn"):
        reason = f"its class for {name} takes every scaling for YaRN"
        raise refusal(task.spec, SGLANG.title, reason)
    if written["rope_type"] != "yarn":
        return
    if _has_sections(task) and _is_merged(task) and any(key in _own(task) for key in _MSCALES):
        reason = (
            "its yarn with M-RoPE sections stops at mscale and mscale_all_dim, which the model's "
            "own dict has and the override cannot remove"
        )
        raise refusal(task.spec, SGLANG.title, reason)
    spec: Any = task.spec
    if spec.softmax_correction and not spec.truncate:
        reason = "its DeepSeek classes always round the bounds of the ramp (truncate true)"
        raise refusal(spec, SGLANG.title, reason)


def _undo_stale(task: Task, written: dict[str, Any]) -> dict[str, Any]:
    if not _is_merged(task):
        return written
    spec, own = task.spec, _own(task)
    defaults: dict[str, Any] = {}
    if spec.id == "yarn":
        latent = spec.softmax_correction  # type: ignore[attr-defined]
        defaults = _STALE_DEFAULTS | (_STALE_IN_DEEPSEEK if latent else {})
    elif spec.id == "longrope":
        defaults = _STALE_IN_LONGROPE
    stale = {key: default for key, default in defaults.items() if key in own and key not in written}
    return {**written, **stale}


def _version_note(task: Task, windows: Mapping[str, Any]) -> str:
    path = "" if task.model is None else task.model.text_path
    how = _REPLACED.format(path, path) if path else _LAID_OVER
    own = None if task.model is None else task.model.window
    written = windows.get("max_position_embeddings")
    raised = written is not None and (own is None or written > own)
    end = ", so the window is raised too." if raised else "."
    return f"Version assumed: SGLang 0.5.23. {how}. {_LIMIT}{end}"


def _windows(task: Task) -> dict[str, Any]:
    window = position_window(task)
    if (
        task.spec.id == "linear"
        and _is_merged(task)
        and "original_max_position_embeddings" in _own(task)
    ):
        # The key stays in the merged dict and takes the factor out of the limit on the length.
        window = max(window or 0, extended_length(task) or 0)
    given = {} if window is None else {"max_position_embeddings": window}
    return given | original_key(task)


def _notes(task: Task, written: dict[str, Any]) -> list[str]:
    notes = length_notes(task)
    if "attn_factor" in written:
        notes.append(
            "attn_factor multiplies the factor that SGLang derives (0.1·ln s + 1, or the ratio of "
            "the two magnitudes where mscale and mscale_all_dim both stand); it is chosen so that "
            "the product is the one asked for."
        )
    if task.spec.id == "longrope":
        original = task.spec.original_max_position_embeddings  # type: ignore[attr-defined]
        notes.append(
            "SGLang picks the list for each forward pass: the long one for every token of the "
            f"batch once a position is above {original}; keys cached before keep the short one."
        )
    return notes
