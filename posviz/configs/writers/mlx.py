"""MLX: rope_theta and rope_scaling of config.json, as mlx-lm reads them."""

from __future__ import annotations

import json
import math
from typing import Any

from posviz.configs.errors import ExportError
from posviz.configs.writers.dialects import MLX, refusal
from posviz.configs.writers.merged import merged_config, nested, original_key
from posviz.configs.writers.mlx_classes import (
    KNOWN,
    ROTATES_PARTIALLY,
    TWO_BASES,
    WANTS_TYPE,
    class_name,
    reason_against,
)
from posviz.configs.writers.rope_dict import rope_dict
from posviz.configs.writers.settings import (
    Settings,
    Task,
    length_notes,
    position_window,
    share_beside,
)

TITLE = MLX.title
NOTE = (
    "Version assumed: mlx-lm 0.32.2. The keys go into config.json; where a dict has both type and "
    "rope_type, mlx-lm takes type."
)


def write(task: Task) -> Settings:
    """The keys that mlx-lm's model classes read."""
    name = class_name(task)
    if name and name not in KNOWN:
        reason = f"what its class for {name} reads is not known here"
        raise refusal(task.spec, TITLE, reason, "unknown")
    written = {**_dict(task), **task.carried}
    _refuse_by_class(task, written)
    changed = _keys(task, written) | _windows(task)
    return Settings(
        text=json.dumps(nested(task, changed), indent=2, ensure_ascii=False),
        data=merged_config(task, changed),
        notes=(NOTE, *_notes(task, written)),
        runtime="mlx",
        title=TITLE,
    )


def _dict(task: Task) -> dict[str, Any]:
    if task.spec.id == "longrope":
        return _longrope(task.spec)
    return rope_dict(task.spec, MLX, with_partial=task.overrules_partial)


def _longrope(spec: Any) -> dict[str, Any]:
    if not spec.is_long_at(1) and spec.short_factor != spec.long_factor:
        raise refusal(
            spec,
            TITLE,
            "it divides by the long list at every length, also inside the trained window, where "
            "this model wants the short one",
        )
    derived = longrope_magnitude(
        spec.max_position_embeddings, spec.original_max_position_embeddings
    )
    lengths = (1, spec.original_max_position_embeddings + 1)
    if any(not math.isclose(spec.magnitude(n), derived, rel_tol=1e-14) for n in lengths):
        raise refusal(
            spec,
            TITLE,
            "its factor on cos and sin is always √(1 + ln s / ln L) with s = "
            f"max_position_embeddings / L, here {derived:.9g}",
        )
    return {
        "rope_type": "longrope",
        "rope_theta": spec.base,
        "short_factor": list(spec.short_factor),
        "long_factor": list(spec.long_factor),
        "original_max_position_embeddings": spec.original_max_position_embeddings,
        **_partial(spec),
    }


def longrope_magnitude(window: int, original: int) -> float:
    """MLX's factor on cos and sin, from the two windows and nothing else."""
    factor = window / original
    return 1.0 if factor <= 1 else math.sqrt(1 + math.log(factor) / math.log(original))


def _partial(spec: Any) -> dict[str, float]:
    partial = spec.partial_rotary_factor
    return {} if partial == 1 else {"partial_rotary_factor": partial}


def _refuse_by_class(task: Task, written: dict[str, Any]) -> None:
    rope_type = written["rope_type"]
    reason = reason_against(task, rope_type)
    if reason:
        raise refusal(task.spec, TITLE, reason)
    name = class_name(task)
    partial = written.get("partial_rotary_factor", 1.0)
    if name and partial != 1 and rope_type != "proportional" and name not in ROTATES_PARTIALLY:
        raise refusal(task.spec, TITLE, f"its class for {name} rotates whole heads")
    if task.is_per_layer and not _has_two_bases(task):
        raise ExportError(
            f"Rotary parameters per layer type cannot be written for {TITLE}, except for Gemma 3's "
            "two bases: its classes read one dict, and some of them dicts of their own shape.",
            kind="unknown",
        )


def _has_two_bases(task: Task) -> bool:
    sliding = task.specs.get("sliding_attention")
    plain = sliding is not None and sliding.id == "rope"
    return plain and len(task.specs) == 2 and class_name(task) in TWO_BASES


def _keys(task: Task, written: dict[str, Any]) -> dict[str, Any]:
    keys: dict[str, Any] = {task.facts.base_keys[0]: written.pop("rope_theta")}
    if written["rope_type"] != "proportional":
        # The classes read it beside the dict; only the type proportional reads it inside.
        keys |= share_beside(task, written)
    if task.is_per_layer:
        sliding: Any = task.specs["sliding_attention"]
        keys["rope_local_base_freq"] = sliding.base
    if class_name(task) in WANTS_TYPE:
        written["type"] = written["rope_type"]
    keys["rope_scaling"] = None if set(written) <= {"rope_type", "type"} else written
    if task.section.get("rope_parameters") is not None:
        keys["rope_parameters"] = None  # some classes fall back on it
    if task.model is None and task.spec.layout == "interleaved":  # type: ignore[attr-defined]
        keys["rope_traditional"] = True
    return keys


def _windows(task: Task) -> dict[str, Any]:
    window = position_window(task)
    given = {} if window is None else {"max_position_embeddings": window}
    return given | original_key(task)


def _notes(task: Task, written: dict[str, Any]) -> list[str]:
    notes = length_notes(task)
    if task.model is None:
        notes.append(
            "Written for a class that hands rope_scaling on as it is, as Llama's and Qwen2's do; "
            "mlx-lm's classes for Mixtral, Qwen3-MoE and others read the base only."
        )
    if task.spec.id == "yarn":
        notes.append(
            "mlx-lm does not read attention_factor; a missing mscale is 1 there and a missing "
            "mscale_all_dim 0, so a lone mscale k gives the factor 0.1·k·ln s + 1."
        )
    if task.spec.id == "dynamic_ntk":
        notes.append("mlx-lm works the base out anew for each call; it keeps no state.")
    if "mrope_section" in task.carried:
        notes.append("mlx-lm runs the text model only and does not read the M-RoPE sections.")
    return notes
