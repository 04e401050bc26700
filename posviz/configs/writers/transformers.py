"""transformers: rope_parameters (version 5) and rope_scaling (version 4)."""

from __future__ import annotations

import json
from typing import Any

from posviz.configs.errors import ExportError
from posviz.configs.writers.dialects import TRANSFORMERS, TRANSFORMERS_V4
from posviz.configs.writers.merged import merged_config, nested, original_key
from posviz.configs.writers.releases import dict_for_class, original_beside, version_note
from posviz.configs.writers.rope_dict import rope_dict
from posviz.configs.writers.settings import (
    Settings,
    Task,
    length_notes,
    position_window,
    share_beside,
)

V5_NOTE = "Version assumed: transformers 5 (written against 5.24); the keys go into config.json."


def write_v5(task: Task) -> Settings:
    """rope_parameters, one dict for each layer type where the model has several."""
    changed = {"rope_parameters": rope_parameters(task), **_windows(task)}
    return Settings(
        text=json.dumps(nested(task, changed), indent=2, ensure_ascii=False),
        data=merged_config(task, changed),
        notes=(V5_NOTE, *_stale_keys(task, "rope_scaling"), *_notes(task)),
        runtime="transformers",
        title="transformers (rope_parameters)",
    )


def rope_parameters(task: Task) -> dict[str, Any]:
    """The dict of version 5, with rope_theta inside."""
    if not task.is_per_layer:
        return {
            **rope_dict(task.spec, TRANSFORMERS, with_partial=task.overrules_partial),
            **task.carried,
        }
    result: dict[str, Any] = {}
    for name, spec in task.specs.items():
        result[name] = (
            None
            if spec is None
            else rope_dict(spec, TRANSFORMERS, with_partial=task.overrules_partial)
        )
        if spec is not None and result[name].get("truncate") is False:
            raise ExportError(
                f"{spec.title} cannot be written for transformers: truncate false inside a "
                "per-layer-type dict has no effect there."
            )
    return result


def write_v4(task: Task) -> Settings:
    """rope_theta beside rope_scaling; two bases in the spelling of Gemma 3 and ModernBERT."""
    written = {
        **rope_dict(task.spec, TRANSFORMERS_V4, with_partial=task.overrules_partial),
        **task.carried,
    }
    windows = _windows(task)
    note = version_note(task, written, windows.get("max_position_embeddings"))
    changed = _v4_keys(task, written) | windows
    return Settings(
        text=json.dumps(nested(task, changed), indent=2, ensure_ascii=False),
        data=merged_config(task, changed),
        notes=(note, *_stale_keys(task, "rope_parameters"), *_notes(task)),
        runtime="transformers_v4",
        title="transformers 4 (rope_scaling)",
    )


def _v4_keys(task: Task, written: dict[str, Any]) -> dict[str, Any]:
    keys = {task.facts.base_keys[0]: written.pop("rope_theta"), **share_beside(task, written)}
    if task.is_per_layer:
        keys = _dual_base_keys(task, keys)
    if written == {"rope_type": "default"}:
        return keys | {"rope_scaling": None}
    beside = original_beside(task, written)
    return keys | {"rope_scaling": dict_for_class(task, written)} | beside


def _dual_base_keys(task: Task, keys: dict[str, Any]) -> dict[str, Any]:
    sliding = task.specs.get("sliding_attention")
    config = {} if task.model is None else task.model.config
    model_type = "" if task.model is None else task.model.model_type
    has_two_bases = (
        model_type.startswith(("gemma3", "modernbert")) or "rope_local_base_freq" in config
    )
    if sliding is None or sliding.id != "rope" or len(task.specs) != 2 or not has_two_bases:
        raise ExportError(
            "Rotary parameters per layer type cannot be written for transformers 4, except for two "
            "bases as in Gemma 3 and ModernBERT; version 5 has them.",
            kind="unknown",
        )
    base = rope_dict(sliding, TRANSFORMERS_V4)["rope_theta"]
    if model_type.startswith("modernbert"):
        return {"global_rope_theta": keys["rope_theta"], "local_rope_theta": base}
    return keys | {"rope_local_base_freq": base}


def _windows(task: Task) -> dict[str, Any]:
    window = position_window(task)
    given = {} if window is None else {"max_position_embeddings": window}
    return given | original_key(task)


def _stale_keys(task: Task, name: str) -> list[str]:
    """The other spelling in the model's own file, which would be read beside the new keys."""
    if not task.section.get(name):
        return []
    if name == "rope_scaling":
        return ["Remove rope_scaling from the file: beside rope_parameters it wins, whole."]
    return ["Remove rope_parameters from the file: version 5 reads it where rope_scaling is null."]


def _notes(task: Task) -> list[str]:
    notes = length_notes(task)
    if task.spec.id == "dynamic_ntk":
        notes.append(
            "transformers keeps the raised base after a long call until a call shorter than the "
            "trained window."
        )
    return notes
