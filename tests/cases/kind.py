"""One further case of the kinds that practice shows: a configuration, and what to say of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from posviz import configs

PLAIN: dict[str, Any] = {
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "max_position_embeddings": 131072,
    "rope_theta": 1e6,
}
YARN: dict[str, Any] = {
    "rope_type": "yarn",
    "factor": 4.0,
    "original_max_position_embeddings": 32768,
}
LLAMA3: dict[str, Any] = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
LONGROPE: dict[str, Any] = {
    "rope_type": "longrope",
    "short_factor": [1.0] * 64,
    "long_factor": [1.0 + pair / 4 for pair in range(64)],
    "original_max_position_embeddings": 4096,
}
LINEAR: dict[str, Any] = {"rope_type": "linear", "factor": 4.0}
DYNAMIC: dict[str, Any] = {"rope_type": "dynamic", "factor": 2.0}
METHODS: Mapping[str, dict[str, Any]] = {
    "yarn": YARN,
    "llama3": LLAMA3,
    "longrope": LONGROPE,
    "linear": LINEAR,
    "dynamic": DYNAMIC,
}


@dataclass(frozen=True, kw_only=True)
class Kind:
    """``says`` and ``silent_about`` are patterns; ``numbers`` and ``texts`` are in the report."""

    name: str
    config: Any
    severity: str
    says: tuple[str, ...] = ()
    silent_about: tuple[str, ...] = ()
    numbers: Mapping[str, Any] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    ask: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Refusal:
    """What a configuration that cannot even be read gives: one clear sentence."""

    text: str
    severity: str = "error"


def judged(kind: Kind) -> configs.Report | Refusal:
    try:
        return configs.check(kind.config, **kind.ask)
    except configs.ConfigError as error:
        return Refusal(str(error))


def scaled(rope: Any, **keys: Any) -> dict[str, Any]:
    """A whole configuration with this dict under rope_scaling."""
    return {**PLAIN, "rope_scaling": rope, **keys}


def without(mapping: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {key: value for key, value in mapping.items() if key not in names}


def _new(config: dict[str, Any]) -> dict[str, Any]:
    inner = {**config["rope_scaling"], "rope_theta": config["rope_theta"]}
    return {**without(config, "rope_scaling", "rope_theta"), "rope_parameters": inner}


def _old(config: dict[str, Any]) -> dict[str, Any]:
    rope = config["rope_scaling"]
    inner = {**without(rope, "rope_type"), "type": rope["rope_type"]}
    return {**config, "rope_scaling": inner}


def _both(config: dict[str, Any]) -> dict[str, Any]:
    rope = config["rope_scaling"]
    return {**config, "rope_scaling": {**rope, "type": rope["rope_type"]}}


def _layers(config: dict[str, Any]) -> dict[str, Any]:
    inner = {**config["rope_scaling"], "rope_theta": config["rope_theta"]}
    local = {"rope_type": "default", "rope_theta": 1e4}
    both = {"full_attention": inner, "sliding_attention": local}
    types = ["sliding_attention", "full_attention"] * 16
    return {
        **without(config, "rope_scaling", "rope_theta"),
        "layer_types": types,
        "rope_parameters": both,
    }


def _whole(value: Any) -> Any:
    if isinstance(value, list):
        return [_whole(item) for item in value]
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    return int(value) if isinstance(value, float) and value.is_integer() else value


SPELLINGS: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "rope_scaling with rope_type": lambda config: config,
    "rope_scaling with type": _old,
    "both keys": _both,
    "rope_parameters": _new,
    "text_config": lambda config: {"text_config": config, "vision_config": {"hidden_size": 8}},
    "rope_parameters in text_config": lambda config: {"text_config": _new(config)},
    "a dict per layer type": _layers,
    "whole numbers": _whole,
}
"""The same configuration as files spell it."""
