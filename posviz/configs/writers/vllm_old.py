"""vLLM up to 0.11.0: --rope-scaling, --rope-theta and --max-model-len."""

from __future__ import annotations

import json
import shlex
from typing import Any

from posviz.configs.errors import ExportError
from posviz.configs.writers.dialects import VLLM_OLD, refusal
from posviz.configs.writers.merged import merged_config
from posviz.configs.writers.rope_dict import longrope_mscales, rope_dict
from posviz.configs.writers.settings import Settings, Task, extended_length, length_notes
from posviz.parameters import number_text

TITLE = VLLM_OLD.title
NOTE = (
    "Version assumed: vLLM 0.6.3 to 0.11.0. vLLM 0.11.1 removed --rope-scaling and --rope-theta "
    "(pull request 28006); from there on use the settings for vLLM."
)


def write(task: Task) -> Settings:
    """The flags of ``vllm serve`` as they were until November 2025."""
    if task.is_per_layer:
        raise ExportError(
            f"Rotary parameters per layer type cannot be written for {TITLE}: its flags hold for "
            "all layers.",
            kind="unknown",
        )
    if task.model is not None and task.model.text_path:
        raise ExportError(
            f"A model with its text model under {task.model.text_path} cannot be written for "
            f"{TITLE}: the flags set keys of the top level only.",
            kind="unknown",
        )
    written = {**rope_dict(task.spec, VLLM_OLD), **task.carried}
    written.pop("partial_rotary_factor", None)  # the model's own; no flag sets it
    base = written.pop("rope_theta")
    scaling = _scaling(task, written)
    keys: dict[str, Any] = {"rope_scaling": scaling, "rope_theta": base}
    return Settings(
        text=" ".join(_flags(task, scaling, base)),
        data=merged_config(task, {**_kept(task), **keys}),
        notes=(NOTE, *_notes(task)),
        runtime="vllm_old",
        title=TITLE,
        base_config=_base(task),
    )


def _flags(task: Task, scaling: dict[str, Any] | None, base: float) -> list[str]:
    flags = []
    if scaling is not None:
        flags.append(f"--rope-scaling {shlex.quote(json.dumps(scaling, ensure_ascii=False))}")
    flags.append(f"--rope-theta {number_text(base)}")
    length = extended_length(task)
    return flags + ([] if length is None else [f"--max-model-len {length}"])


def _scaling(task: Task, written: dict[str, Any]) -> dict[str, Any] | None:
    if written["rope_type"] != "default" or "mrope_section" in written:
        if "mrope_section" in written and written["rope_type"] != "default":
            raise refusal(task.spec, TITLE, "it has M-RoPE sections with the type default only")
        return written | _mscales(task)
    if not task.section.get("rope_scaling"):
        return None
    # No flag removes the model's own dict, and the type default alone is refused there: a linear
    # factor of 1 divides by 1.
    return {"rope_type": "linear", "factor": 1.0}


def _mscales(task: Task) -> dict[str, float]:
    """LongRoPE's factors by name where the model's own window, which no flag sets, gives others."""
    spec: Any = task.spec
    if spec.id != "longrope" or task.model is None:
        return {}
    return {} if task.model.window == spec.max_position_embeddings else longrope_mscales(spec)


def _base(task: Task) -> dict[str, Any]:
    if task.model is not None:
        return dict(task.model.config)
    return merged_config(task, {**_kept(task), "rope_theta": task.spec.base})  # type: ignore[attr-defined]


def _kept(task: Task) -> dict[str, Any]:
    """Keys that a lone spec carries and no flag sets."""
    spec: Any = task.spec
    if task.model is not None:
        return {}
    kept: dict[str, Any] = {}
    if spec.partial_rotary_factor != 1:
        kept["partial_rotary_factor"] = spec.partial_rotary_factor
    window = getattr(spec, "max_position_embeddings", None)
    window = window or getattr(spec, "original_max_position_embeddings", None)
    return kept if window is None else kept | {"max_position_embeddings": window}


def _notes(task: Task) -> list[str]:
    notes = length_notes(task)
    length = extended_length(task)
    window = None if task.model is None else task.model.window
    beyond = length is not None and (window is None or length > window)
    if beyond and task.spec.id not in ("yarn", "linear"):  # of these it multiplies the window
        notes.append(
            "It refuses a --max-model-len above the model's max_position_embeddings for this rope "
            "type unless VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 is set."
        )
    if task.spec.id == "yarn":
        notes.append(
            "attn_factor multiplies the factor of 0.1·ln s + 1 that it derives; attention_factor "
            "is not read there, and neither are mscale and mscale_all_dim except by the DeepSeek "
            "classes."
        )
    if task.spec.id == "longrope":
        notes.append("Which list is used, and when that is decided, depends on the release.")
    return notes
