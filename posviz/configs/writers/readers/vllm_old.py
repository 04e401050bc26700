"""vLLM up to 0.11.0: the flags over a model's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from posviz.configs.errors import ConfigError
from posviz.configs.model import Model
from posviz.configs.reader import read
from posviz.configs.writers.readers.specs import longrope_by_mscales, multiplied_yarn, with_spec
from posviz.configs.writers.readers.text import flag_values, json_object, number_of, rotary_dict

_FLAGS = ("--rope-scaling", "--rope-theta", "--max-model-len")


def read_vllm_old(export: str | Mapping[str, Any], base: Mapping[str, Any]) -> Model:
    """Each flag replaces one key of the top level; the other stays."""
    changed = _from_flags(export) if isinstance(export, str) else dict(export)
    # Those releases know no rope_parameters.
    config = {name: value for name, value in base.items() if name != "rope_parameters"} | changed
    model, written = read(config), rotary_dict(config)
    if written.get("rope_type") == "yarn":
        return with_spec(
            model, lambda spec: multiplied_yarn(spec.with_values(truncate=True), written)
        )
    if written.get("rope_type") == "longrope":
        return with_spec(model, lambda spec: longrope_by_mscales(spec, written))
    return model


def _from_flags(text: str) -> dict[str, Any]:
    flags = flag_values(text)
    for flag in flags:
        if flag not in _FLAGS:
            raise ConfigError(f"{flag} is no flag that sets a rotation in vLLM 0.11.0 and older.")
    changed: dict[str, Any] = {}
    if "--rope-scaling" in flags:
        changed["rope_scaling"] = json_object(flags["--rope-scaling"])
    if "--rope-theta" in flags:
        changed["rope_theta"] = number_of("--rope-theta", flags["--rope-theta"])
    return changed
