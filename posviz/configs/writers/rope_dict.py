"""Writes a spec as the dict that transformers, vLLM and SGLang share, or says why it cannot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from posviz.configs.writers.dialects import Dialect, refusal
from posviz.configs.writers.yarn_dict import yarn_dict

_REFUSALS: Mapping[str, str] = {
    "rerope": "it changes distances inside the attention kernel, which is no rope type",
    "leaky_rerope": "it changes distances inside the attention kernel, which is no rope type",
    "self_extend": "it changes distances inside the attention kernel, which is no rope type",
    "dca": "it changes distances inside the attention kernel, which is no rope type",
    "log_n": "it scales the queries by their position, which is no rope type",
    "dynamic_linear": "no rope type divides by a factor that follows the length",
    "dynamic_yarn": "no rope type gives YaRN a factor that follows the length",
    "resonance": "no rope type rounds the wavelengths",
    "truncated_basis": "no rope type sets single frequencies to a constant or to 0",
    "power_basis": "no rope type has this ladder",
}


def rope_dict(spec: Any, dialect: Dialect, *, with_partial: bool = False) -> dict[str, Any]:
    """rope_type, rope_theta and the keys of the type.

    A partial factor of 1 is written only when asked for, to overrule one that stands elsewhere.

    Raises
    ------
    ExportError : the runtime cannot express the spec; the reason, and what can be done instead.
    """
    if spec.id in _REFUSALS:
        raise refusal(spec, dialect.title, _REFUSALS[spec.id])
    writer = _WRITERS.get(spec.id)
    if writer is None:
        raise refusal(spec, dialect.title, "it is no rope type")
    written = writer(spec, dialect)
    if with_partial or spec.partial_rotary_factor != 1 or written["rope_type"] == "proportional":
        written["partial_rotary_factor"] = spec.partial_rotary_factor
    return {
        "rope_type": written.pop("rope_type"),
        "rope_theta": written.pop("rope_theta", spec.base),
        **written,
    }


def _rope(spec: Any, dialect: Dialect) -> dict[str, Any]:
    if not spec.is_proportional or spec.partial_rotary_factor == 1:
        return {"rope_type": "default"}
    _refuse_without_proportional(spec, dialect)
    return {"rope_type": "proportional"}


def _refuse_without_proportional(spec: Any, dialect: Dialect) -> None:
    if dialect.proportional_missing:
        raise refusal(spec, dialect.title, dialect.proportional_missing)


def _abf(spec: Any, dialect: Dialect) -> dict[str, Any]:
    return {"rope_type": "default", "rope_theta": spec.new_base}


def _ntk_aware(spec: Any, dialect: Dialect) -> dict[str, Any]:
    if spec.variant == "published":
        return {"rope_type": "default", "rope_theta": published_ntk_base(spec)}
    if dialect.ntk_missing:
        raise refusal(spec, dialect.title, dialect.ntk_missing, dialect.kind_without("ntk"))
    extra = {} if spec.mixed_b is None else {"mixed_b": spec.mixed_b}
    return {"rope_type": "ntk", "factor": spec.scaling_factor, **extra}


def published_ntk_base(spec: Any) -> float:
    """The larger base that static NTK-aware scaling amounts to, b·s^(d/(d-2))."""
    dim = spec.rotary_dim
    if dim == 2:
        return float(spec.base)
    return float(spec.base * spec.scaling_factor ** (dim / (dim - 2)))


def _linear(spec: Any, dialect: Dialect) -> dict[str, Any]:
    return {"rope_type": "linear", "factor": spec.scaling_factor}


def _dynamic(spec: Any, dialect: Dialect) -> dict[str, Any]:
    if spec.rule == "vllm":
        raise refusal(
            spec, dialect.title, "the rule vllm changes nothing at any length; export plain RoPE"
        )
    if dialect.dynamic_missing:
        raise refusal(spec, dialect.title, dialect.dynamic_missing)
    # The published rule, α = ℓ/L, is transformers' rule with a factor of 1.
    factor = spec.scaling_factor if spec.rule == "transformers" else 1.0
    return {"rope_type": "dynamic", "factor": factor}


def _llama3(spec: Any, dialect: Dialect) -> dict[str, Any]:
    return {
        "rope_type": "llama3",
        "factor": spec.scaling_factor,
        "low_freq_factor": spec.low_freq_factor,
        "high_freq_factor": spec.high_freq_factor,
        "original_max_position_embeddings": spec.original_max_position_embeddings,
    }


def _ntk_by_parts(spec: Any, dialect: Dialect) -> dict[str, Any]:
    if spec.variant != "paper":
        raise refusal(spec, dialect.title, "no rope type has the three-way blend of 2023")
    # llama3 with low = alpha and high = beta is the paper's ramp, exactly.
    return {
        "rope_type": "llama3",
        "factor": spec.scaling_factor,
        "low_freq_factor": spec.beta_slow,
        "high_freq_factor": spec.beta_fast,
        "original_max_position_embeddings": spec.original_max_position_embeddings,
    }


def _p_rope(spec: Any, dialect: Dialect) -> dict[str, Any]:
    _refuse_without_proportional(spec, dialect)
    if spec.scaling_factor == 1:
        return {"rope_type": "proportional"}
    if not dialect.proportional_has_factor:
        raise refusal(spec, dialect.title, "its proportional type has no factor")
    return {"rope_type": "proportional", "factor": spec.scaling_factor}


def _longrope(spec: Any, dialect: Dialect) -> dict[str, Any]:
    if spec.switch not in ("length", dialect.longrope_switch):
        raise refusal(
            spec,
            dialect.title,
            f"it chooses the list by {dialect.longrope_switch}, not as switch {spec.switch} says",
        )
    written: dict[str, Any] = {
        "rope_type": "longrope",
        "short_factor": list(spec.short_factor),
        "long_factor": list(spec.long_factor),
        "original_max_position_embeddings": spec.original_max_position_embeddings,
    }
    if dialect.longrope_mscales:
        return written | ({} if _has_plain_magnitude(spec) else longrope_mscales(spec))
    if spec.short_mscale is not None or spec.long_mscale is not None:
        raise refusal(spec, dialect.title, "it has one attention_factor, not one for each list")
    if spec.scaling_factor is not None:
        written["factor"] = spec.scaling_factor
    if spec.attention_factor is not None:
        written["attention_factor"] = spec.attention_factor
    elif spec.magnitude_policy != "su":
        written["attention_factor"] = spec.magnitude(1)
    return written


def _has_plain_magnitude(spec: Any) -> bool:
    given = (
        spec.attention_factor,
        spec.scaling_factor,
        spec.short_mscale,
        spec.long_mscale,
    )
    return spec.magnitude_policy == "su" and all(value is None for value in given)


def longrope_mscales(spec: Any) -> dict[str, float]:
    """LongRoPE's factor on cos and sin with each list, by the names that vLLM and SGLang read."""
    window = spec.original_max_position_embeddings
    by_length = spec.with_values(switch="length")
    return {
        "short_mscale": by_length.magnitude(window),
        "long_mscale": by_length.magnitude(window + 1),
    }


_WRITERS: Mapping[str, Callable[[Any, Dialect], dict[str, Any]]] = {
    "rope": _rope,
    "abf": _abf,
    "ntk_aware": _ntk_aware,
    "linear": _linear,
    "dynamic_ntk": _dynamic,
    "llama3": _llama3,
    "ntk_by_parts": _ntk_by_parts,
    "p_rope": _p_rope,
    "longrope": _longrope,
    "yarn": yarn_dict,
}
