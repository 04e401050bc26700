"""The same rotary parameters as configurations spell them."""

from __future__ import annotations

from typing import Any

SPELLINGS = ("rope_scaling", "type", "rope_parameters", "text_config", "per_layer", "whole numbers")


def spelled(
    spelling: str, rope: dict[str, Any], *, base: float = 1e6, window: int = 131072, **keys: Any
) -> dict[str, Any]:
    """A configuration with these rotary parameters in one of :data:`SPELLINGS`."""
    plain = {"head_dim": 128, "max_position_embeddings": window, **keys}
    old = {"type": rope["rope_type"], **{k: v for k, v in rope.items() if k != "rope_type"}}
    match spelling:
        case "rope_scaling":
            return {**plain, "rope_theta": base, "rope_scaling": dict(rope)}
        case "type":
            return {**plain, "rope_theta": base, "rope_scaling": old}
        case "whole numbers":
            return {**plain, "rope_theta": _whole(base), "rope_scaling": _all_whole(rope)}
        case "rope_parameters":
            return {**plain, "rope_parameters": {**rope, "rope_theta": base}}
        case "text_config":
            inner = {**plain, "rope_theta": base, "rope_scaling": dict(rope)}
            return {"text_config": inner, "vision_config": {"hidden_size": 8}}
        case "per_layer":
            local = {"rope_type": "default", "rope_theta": 1e4}
            both = {"full_attention": {**rope, "rope_theta": base}, "sliding_attention": local}
            return {**plain, "rope_parameters": both}
    raise ValueError(spelling)


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _all_whole(rope: dict[str, Any]) -> dict[str, Any]:
    return {
        key: [_whole(item) for item in value] if isinstance(value, list) else _whole(value)
        for key, value in rope.items()
    }
