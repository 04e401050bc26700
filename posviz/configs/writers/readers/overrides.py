"""transformers, vLLM and SGLang: a dict in config.json, or laid over it by a flag."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from posviz.configs.errors import ConfigError
from posviz.configs.model import Model
from posviz.configs.reader import read
from posviz.configs.section import text_section
from posviz.configs.writers.readers.specs import longrope_by_mscales, multiplied_yarn, with_spec
from posviz.configs.writers.readers.text import json_object, laid_over, rotary_dict, words


def read_transformers(export: str | Mapping[str, Any], base: Mapping[str, Any]) -> Model:
    """Keys of config.json."""
    changed = json_object(export) if isinstance(export, str) else export
    return read(laid_over(base, changed))


def read_vllm(export: str | Mapping[str, Any], base: Mapping[str, Any]) -> Model:
    """vLLM's --hf-overrides."""
    config = laid_over(base, _changed(export, "--hf-overrides"))
    return _with_mscales(read(config), config)


def read_sglang(export: str | Mapping[str, Any], base: Mapping[str, Any]) -> Model:
    """SGLang's --json-model-override-args."""
    config = laid_over(base, _changed(export, "--json-model-override-args"))
    model, written = read(config), _written(config)
    if written.get("rope_type") == "yarn":
        heeds = "mrope_section" not in written
        return with_spec(model, lambda spec: multiplied_yarn(spec, written, reads_mscale=heeds))
    return _with_mscales(model, config)


def _changed(export: str | Mapping[str, Any], flag: str) -> Mapping[str, Any]:
    if not isinstance(export, str):
        return export
    found = words(export)
    if flag not in found[:-1]:
        raise ConfigError(f"There is no {flag} in these settings.")
    return json_object(found[found.index(flag) + 1])


def _with_mscales(model: Model, config: Mapping[str, Any]) -> Model:
    written = _written(config)
    if written.get("rope_type") != "longrope" or len(model.layers) != 1:
        return model
    return with_spec(model, lambda spec: longrope_by_mscales(spec, written))


def _written(config: Mapping[str, Any]) -> Mapping[str, Any]:
    return rotary_dict(text_section(config)[0].data)
