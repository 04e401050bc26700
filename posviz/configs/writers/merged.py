"""The whole configuration as a runtime sees it once the settings are laid over the model's own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from posviz.configs.writers.settings import Task

REPLACED = (
    "rope_scaling",
    "rope_parameters",
    "rope_theta",
    "rope_local_base_freq",
    "global_rope_theta",
    "local_rope_theta",
    "rotary_emb_base",
)


def merged_config(task: Task, changed: Mapping[str, Any]) -> dict[str, Any]:
    """The model's configuration with its rotary keys replaced by the changed ones.

    Without a model it holds the size of the head and the layout, which are not settings.
    """
    if task.model is None:
        return {**head_keys(task), **changed}
    config = dict(task.model.config)
    path = task.model.text_path.split(".") if task.model.text_path else []
    return _replaced(config, path, changed)


def _replaced(
    config: Mapping[str, Any], path: list[str], changed: Mapping[str, Any]
) -> dict[str, Any]:
    if path:
        inner = _replaced(config[path[0]], path[1:], changed)
        return {**config, path[0]: inner}
    kept = {name: value for name, value in config.items() if name not in REPLACED}
    return {**kept, **changed}


def nested(task: Task, changed: Mapping[str, Any]) -> dict[str, Any]:
    """The changed keys where the model has them: under text_config for a multimodal model."""
    result = dict(changed)
    path = task.model.text_path if task.model is not None else ""
    for name in reversed(path.split(".") if path else []):
        result = {name: result}
    return result


def head_keys(task: Task) -> dict[str, Any]:
    """Facts about the head that a lone spec carries and a runtime takes from the model."""
    spec: Any = task.spec
    # The correction in the softmax belongs to latent attention, whose rotated part has its own key.
    latent = bool(getattr(spec, "softmax_correction", False))
    keys: dict[str, Any] = {"qk_rope_head_dim" if latent else "head_dim": spec.head_dim}
    if spec.layout == "interleaved":
        keys["rope_interleave"] = True
    return keys


def original_key(task: Task) -> dict[str, Any]:
    """A top-level original length beats the dict (Phi-3), so it must follow the spec."""
    spec: Any = task.spec
    name = "original_max_position_embeddings"
    if task.model is None or spec.id not in ("yarn", "longrope", "llama3", "ntk_by_parts"):
        return {}
    beats_dict = task.section.get(name) is not None or task.facts.original_window is not None
    return {name: spec.original_max_position_embeddings} if beats_dict else {}
