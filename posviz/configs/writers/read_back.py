"""Reads an export back, as the runtime that it was written for would take it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from posviz.catalog import get
from posviz.configs.errors import ConfigError
from posviz.configs.messages import Message
from posviz.configs.model import Model
from posviz.configs.reader import read
from posviz.configs.section import text_section
from posviz.configs.writers.llama_cpp import FLAG_NAMES
from posviz.configs.writers.merged import _REPLACED
from posviz.configs.writers.settings import Settings
from posviz.encodings.base import Encoding

_OVERRIDE_FLAGS = {"vllm": "--hf-overrides", "sglang": "--json-model-override-args"}


def read_export(
    export: Settings | str | Mapping[str, Any],
    runtime: str | None = None,
    base_config: Mapping[str, Any] | None = None,
) -> Model:
    """The model that an export stands for.

    Parameters
    ----------
    export : what :func:`posviz.configs.export` gave, or its text, or its data.
    runtime : the runtime it was written for; Settings know their own.
    base_config : the model's own configuration, over which text or flags are laid.

    Raises
    ------
    ConfigError : no settings of that runtime, or a configuration that cannot be used.
    """
    if isinstance(export, Settings):
        runtime, base_config = export.runtime, base_config or export.base_config
        export = export.data
    base = dict(base_config or {})
    if runtime == "llama_cpp":
        flags = _flags(export) if isinstance(export, str) else dict(export)
        return _from_flags(flags, base)
    changed = _changed(export, runtime) if isinstance(export, str) else dict(export)
    return _as_runtime_reads(_laid_over(base, changed), runtime)


def _changed(text: str, runtime: str | None) -> dict[str, Any]:
    flag = _OVERRIDE_FLAGS.get(runtime or "")
    if flag is not None:
        words = _words(text)
        if flag not in words[:-1]:
            raise ConfigError(f"There is no {flag} in these settings.")
        text = words[words.index(flag) + 1]
    try:
        changed = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        raise ConfigError("These settings hold no readable JSON.") from None
    if not isinstance(changed, dict):
        raise ConfigError("These settings must hold a JSON object.")
    return changed


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        raise ConfigError("The quotes in these settings do not match.") from None


def _laid_over(base: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    names = ("rope_scaling", "rope_parameters", "rope_theta")
    dropped = _REPLACED if any(name in changed for name in names) else ()
    result = {name: value for name, value in base.items() if name not in dropped}
    for name, value in changed.items():
        own = result.get(name)
        inside = name not in names and isinstance(value, Mapping) and isinstance(own, Mapping)
        result[name] = _laid_over(own, value) if inside and own is not None else value
    return result


def _as_runtime_reads(config: dict[str, Any], runtime: str | None) -> Model:
    model = read(config)
    if runtime not in ("sglang", "vllm"):
        return model
    section, _ = text_section(config)
    written = section.data.get("rope_scaling") or section.data.get("rope_parameters") or {}
    if runtime == "sglang" and written.get("rope_type") == "yarn":
        return _sglang_yarn(model, written)
    return model


def _sglang_yarn(model: Model, written: Mapping[str, Any]) -> Model:
    """attn_factor multiplies what SGLang derives, and extrapolation_factor is read."""

    def changed(spec: Encoding) -> Encoding:
        values: dict[str, Any] = {}
        if written.get("extrapolation_factor") is not None:
            values["extrapolation_factor"] = float(written["extrapolation_factor"])
        derived = spec.with_values(attention_factor=None)
        times = written.get("attn_factor")
        # attention_factor itself is not read by SGLang.
        values["attention_factor"] = (
            None if times is None else float(times) * derived.magnitude(1)  # type: ignore[attr-defined]
        )
        return spec.with_values(**values)

    return _with_spec(model, changed)


def _with_spec(model: Model, change: Callable[[Encoding], Encoding]) -> Model:
    messages: tuple[Message, ...] = tuple(
        message for message in model.messages if message.code not in ("PV161", "PV164")
    )
    return model.with_spec(change(model.spec()), messages=messages)


def _flags(text: str) -> dict[str, Any]:
    words = _words(text)
    names = {flag: name for name, flag in FLAG_NAMES.items()}
    if len(words) % 2:
        raise ConfigError("Every flag of llama.cpp here has one value; one is missing.")
    flags: dict[str, Any] = {}
    for flag, value in zip(words[::2], words[1::2], strict=True):
        if flag not in names:
            raise ConfigError(f"{flag} is no flag that sets a rotation in llama.cpp.")
        try:
            flags[names[flag]] = value if flag == "--rope-scaling" else float(value)
        except ValueError:
            raise ConfigError(f"{flag} needs a number; got {value!r:.40}.") from None
    return flags


def _from_flags(flags: Mapping[str, Any], base: dict[str, Any]) -> Model:
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
    changed: dict[str, Any] = {"rope_parameters": written}
    if kind == "yarn" and "ctx" in flags:
        changed["max_position_embeddings"] = flags["ctx"]
    model = read(_laid_over(base, changed))
    if "grp_attn_n" in flags:
        return _with_spec(model, lambda spec: _self_extend(spec, flags, model))
    if "yarn_ext_factor" in flags:
        return _with_spec(model, lambda spec: _ext_factor(spec, flags))
    return model


def _ext_factor(spec: Encoding, flags: Mapping[str, Any]) -> Encoding:
    values = {"extrapolation_factor": float(flags["yarn_ext_factor"])}
    if "yarn_attn_factor" in flags:
        values["attention_factor"] = float(flags["yarn_attn_factor"])
    return spec.with_values(**values)


def _self_extend(spec: Any, flags: Mapping[str, Any], model: Model) -> Encoding:
    values = {name: getattr(spec, name) for name in ("base", "head_dim", "layout")}
    values["partial_rotary_factor"] = spec.partial_rotary_factor
    values["window"] = int(flags["grp_attn_w"])
    values["group_size"] = int(flags["grp_attn_n"])
    if model.trained_window is not None:
        values["original_max_position_embeddings"] = model.trained_window
    return get("self_extend")(**values)
