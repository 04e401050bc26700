"""MLX: the keys of config.json by mlx-lm's own rules."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from posviz.configs.model import Model
from posviz.configs.reader import read
from posviz.configs.section import text_section
from posviz.configs.writers.mlx import longrope_magnitude
from posviz.configs.writers.readers.specs import with_spec
from posviz.configs.writers.readers.text import json_object, laid_over, rotary_dict
from posviz.encodings.base import Encoding
from posviz.encodings.extension import yarn_magnitude

_YARN = ("yarn", "deepseek_yarn", "telechat3-yarn")
_WINDOW_DEFAULTS = {**dict.fromkeys(_YARN, 4096), "llama3": 8192}
"""The trained window that mlx-lm takes where the dict has none."""


def read_mlx(export: str | Mapping[str, Any], base: Mapping[str, Any]) -> Model:
    """The model that mlx-lm makes of these keys."""
    changed = json_object(export) if isinstance(export, str) else export
    config = laid_over(base, changed)
    section = dict(text_section(config)[0].data)
    model = _model(config, section)
    if section.get("rope_traditional") is not True:
        return model
    return with_spec(model, lambda spec: spec.with_values(layout="interleaved"))


def _model(config: Mapping[str, Any], section: Mapping[str, Any]) -> Model:
    written = _normal(rotary_dict(section))
    if not written:
        return read(config)
    model = read(_replaced(config, written))
    rope_type = written["rope_type"]
    if rope_type == "yarn":
        return with_spec(model, lambda spec: _yarn(spec, rotary_dict(section)))
    if rope_type == "longrope":
        return with_spec(model, _longrope)
    return model


def _normal(written: Mapping[str, Any]) -> dict[str, Any]:
    """The dict as transformers would write what mlx-lm reads; YaRN's magnitude comes later."""
    if not written:
        return {}
    rope_type = written.get("type") or written.get("rope_type", "default")
    unread = ("type", "attention_factor", "truncate", "extrapolation_factor", "attn_factor")
    kept = {name: value for name, value in written.items() if name not in unread}
    if rope_type in _YARN:
        mscale = kept.pop("mscale", None)
        if kept.get("mscale_all_dim") and mscale is not None and mscale >= 0:
            kept["mscale"] = mscale
    if rope_type in _WINDOW_DEFAULTS:
        kept.setdefault("original_max_position_embeddings", _WINDOW_DEFAULTS[rope_type])
    return {**kept, "rope_type": "yarn" if rope_type in _YARN else rope_type}


def _replaced(config: Mapping[str, Any], written: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration with its dict of rotary parameters exchanged, wherever it stands."""
    result = dict(config)
    for name, value in config.items():
        if name in ("rope_scaling", "rope_parameters"):
            result[name] = dict(written) if value else value
        elif name.endswith(("_config", "_model")) and isinstance(value, Mapping):
            result[name] = _replaced(value, written)
    return result


def _yarn(spec: Any, written: Mapping[str, Any]) -> Encoding:
    """A missing mscale is 1 and a missing mscale_all_dim 0, on cos and sin."""
    factor = spec.scaling_factor
    mscale = 1.0 if written.get("mscale") is None else float(written["mscale"])
    over_all = float(written.get("mscale_all_dim") or 0)
    magnitude = yarn_magnitude(factor, mscale) / yarn_magnitude(factor, over_all)
    if math.isclose(spec.magnitude(1), magnitude, rel_tol=1e-14):
        return spec  # type: ignore[no-any-return]
    return spec.with_values(attention_factor=magnitude)  # type: ignore[no-any-return]


def _longrope(spec: Any) -> Encoding:
    """Always the long list, and a magnitude from the two windows alone."""
    magnitude = longrope_magnitude(
        spec.max_position_embeddings, spec.original_max_position_embeddings
    )
    plain = spec.with_values(
        switch="always_long",
        attention_factor=None,
        scaling_factor=None,
        magnitude_policy="su",
        short_mscale=None,
        long_mscale=None,
    )
    if math.isclose(plain.magnitude(1), magnitude, rel_tol=1e-14):
        return plain  # type: ignore[no-any-return]
    return plain.with_values(attention_factor=magnitude)  # type: ignore[no-any-return]
