"""llama.cpp: the flags over a model's configuration, which stands for its GGUF file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from posviz.catalog import get
from posviz.configs.errors import ConfigError
from posviz.configs.model import Model
from posviz.configs.reader import read
from posviz.configs.section import text_section
from posviz.configs.writers.llama_cpp import FLAG_NAMES
from posviz.configs.writers.llama_cpp_yarn import ATTN_FACTOR, multiplier_in_file, overridden
from posviz.configs.writers.readers.specs import with_spec
from posviz.configs.writers.readers.text import flag_values, laid_over, number_of
from posviz.encodings.base import Encoding

_TEXTS = ("rope_scaling", "override_kv")


def read_llama_cpp(export: str | Mapping[str, Any], base: Mapping[str, Any]) -> Model:
    """The model that these flags make of the base configuration."""
    flags = _flags(export) if isinstance(export, str) else dict(export)
    section, model_type = text_section(base)
    changed: dict[str, Any] = {"rope_parameters": _written(flags)}
    if flags.get("rope_scaling") == "yarn":
        changed["rope_parameters"] |= _multiplier(section.data, model_type)
        changed |= {"max_position_embeddings": flags["ctx"]} if "ctx" in flags else {}
    for name in reversed(section.path.split(".") if section.path else []):
        changed = {name: changed}
    model = read(laid_over(base, changed))
    if "grp_attn_n" in flags:
        return with_spec(model, lambda spec: _self_extend(spec, flags, model))
    if "yarn_ext_factor" in flags:
        model = with_spec(model, lambda spec: _ext_factor(spec, flags))
    if "override_kv" in flags:
        model = with_spec(model, lambda spec: _override(spec, flags["override_kv"]))
    return model


def _multiplier(section: Mapping[str, Any], model_type: str) -> dict[str, float]:
    """yarn_log_multiplier of the file: the magnitude is m(s, 1)/m(s, mscale_all_dim)."""
    over_all = multiplier_in_file(section, model_type)
    return {"mscale": 1.0, "mscale_all_dim": over_all} if over_all else {}


def _flags(text: str) -> dict[str, Any]:
    names = {flag: name for name, flag in FLAG_NAMES.items()}
    flags: dict[str, Any] = {}
    for flag, value in flag_values(text).items():
        if flag not in names:
            raise ConfigError(f"{flag} is no flag that sets a rotation in llama.cpp.")
        name = names[flag]
        flags[name] = value if name in _TEXTS else number_of(flag, value)
    return flags


def _written(flags: Mapping[str, Any]) -> dict[str, Any]:
    kind = flags.get("rope_scaling", "none")
    written: dict[str, Any] = {"rope_type": "default"}
    if kind == "linear":
        written = {"rope_type": "linear", "factor": flags.get("rope_scale", 1.0)}
    elif kind == "yarn":
        written = {"rope_type": "yarn", "factor": flags.get("rope_scale", 1.0)}
        for ours, theirs in (("beta_fast", "yarn_beta_fast"), ("beta_slow", "yarn_beta_slow")):
            written |= {ours: flags[theirs]} if theirs in flags else {}
        if "yarn_orig_ctx" in flags:
            written["original_max_position_embeddings"] = flags["yarn_orig_ctx"]
    if "rope_freq_base" in flags:
        written["rope_theta"] = flags["rope_freq_base"]
    return written


def _ext_factor(spec: Encoding, flags: Mapping[str, Any]) -> Encoding:
    values = {"extrapolation_factor": float(flags["yarn_ext_factor"])}
    if "yarn_attn_factor" in flags:
        values["attention_factor"] = float(flags["yarn_attn_factor"])
    return spec.with_values(**values)


def _override(spec: Any, text: str) -> Encoding:
    found = overridden(text)
    if found is None:
        raise ConfigError(f"--override-kv {text!r:.80} sets no key that is written here.")
    key, value = found
    if key == ATTN_FACTOR:
        values = {"attention_factor": value * spec.magnitude(1)}
    else:
        # A tenth of mscale_all_dim; llama.cpp takes mscale to be the same, so cos and sin stay.
        over_all = value * 10
        values = {"mscale": over_all, "mscale_all_dim": over_all, "softmax_correction": True}
    return spec.with_values(**values)  # type: ignore[no-any-return]


def _self_extend(spec: Any, flags: Mapping[str, Any], model: Model) -> Encoding:
    values = {name: getattr(spec, name) for name in ("base", "head_dim", "layout")}
    values["partial_rotary_factor"] = spec.partial_rotary_factor
    values["window"] = int(flags["grp_attn_w"])
    values["group_size"] = int(flags["grp_attn_n"])
    if model.trained_window is not None:
        values["original_max_position_embeddings"] = model.trained_window
    return get("self_extend")(**values)
