"""Writes a spec as the dict that transformers, vLLM and SGLang share, or says why it cannot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from posviz.configs.errors import ExportError
from posviz.encodings.base import Encoding

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
_YARN_DEFAULTS = {"beta_fast": 32.0, "beta_slow": 1.0}


@dataclass(frozen=True)
class Dialect:
    """What one runtime reads of the shared dict."""

    title: str
    has_ntk: bool = False
    """vLLM's own type ntk."""
    has_deepseek_yarn: bool = False
    has_hf_dynamic: bool = True
    """Whether dynamic follows the length of the call, as transformers means it."""
    has_proportional: bool = True
    attention_key: str = "attention_factor"
    """SGLang multiplies the derived factor by attn_factor instead of replacing it."""
    has_extrapolation_factor: bool = False
    longrope_mscales: bool = False
    """vLLM and SGLang read short_mscale and long_mscale, transformers attention_factor."""
    longrope_switch: str = "length"


TRANSFORMERS = Dialect("transformers")
TRANSFORMERS_V4 = Dialect("transformers 4", has_proportional=False)
VLLM = Dialect(
    "vLLM",
    has_ntk=True,
    has_deepseek_yarn=True,
    has_hf_dynamic=False,
    longrope_mscales=True,
    longrope_switch="capacity",
)
SGLANG = Dialect(
    "SGLang",
    has_deepseek_yarn=True,
    has_hf_dynamic=False,
    attention_key="attn_factor",
    has_extrapolation_factor=True,
    longrope_mscales=True,
    longrope_switch="capacity",
)


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


def refusal(spec: Encoding, runtime: str, reason: str) -> ExportError:
    """The one form of a refused export."""
    return ExportError(f"{spec.title} cannot be written for {runtime}: {reason.rstrip('.')}.")


def _rope(spec: Any, dialect: Dialect) -> dict[str, Any]:
    if not spec.is_proportional or spec.partial_rotary_factor == 1:
        return {"rope_type": "default"}
    _refuse_without_proportional(spec, dialect)
    return {"rope_type": "proportional"}


def _refuse_without_proportional(spec: Any, dialect: Dialect) -> None:
    if not dialect.has_proportional:
        raise refusal(spec, dialect.title, "the rope type proportional came with version 5")


def _abf(spec: Any, dialect: Dialect) -> dict[str, Any]:
    return {"rope_type": "default", "rope_theta": spec.new_base}


def _ntk_aware(spec: Any, dialect: Dialect) -> dict[str, Any]:
    if spec.variant == "published":
        return {"rope_type": "default", "rope_theta": published_ntk_base(spec)}
    if not dialect.has_ntk:
        raise refusal(spec, dialect.title, "the variant vllm exists as a rope type in vLLM only")
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
    if not dialect.has_hf_dynamic:
        raise refusal(
            spec,
            dialect.title,
            f"{dialect.title} works its dynamic type out once, not for the length of each call; "
            "static NTK-aware scaling can be exported",
        )
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
    if dialect.title != "transformers":
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
        return written | _longrope_mscales(spec)
    if spec.short_mscale is not None or spec.long_mscale is not None:
        raise refusal(spec, dialect.title, "it has one attention_factor, not one for each list")
    if spec.scaling_factor is not None:
        written["factor"] = spec.scaling_factor
    if spec.attention_factor is not None:
        written["attention_factor"] = spec.attention_factor
    elif spec.magnitude_policy != "su":
        written["attention_factor"] = spec.magnitude(1)
    return written


def _longrope_mscales(spec: Any) -> dict[str, float]:
    plain = (
        spec.attention_factor is None
        and spec.scaling_factor is None
        and spec.magnitude_policy == "su"
        and spec.short_mscale is None
        and spec.long_mscale is None
    )
    if plain:
        return {}
    window = spec.original_max_position_embeddings
    by_length = spec.with_values(switch="length")
    return {
        "short_mscale": by_length.magnitude(window),
        "long_mscale": by_length.magnitude(window + 1),
    }


def _yarn(spec: Any, dialect: Dialect) -> dict[str, Any]:
    _refuse_yarn_switches(spec, dialect)
    written: dict[str, Any] = {
        "rope_type": "yarn",
        "factor": spec.scaling_factor,
        "original_max_position_embeddings": spec.original_max_position_embeddings,
    }
    for key, default in _YARN_DEFAULTS.items():
        if getattr(spec, key) != default:
            written[key] = getattr(spec, key)
    if spec.extrapolation_factor != 1:
        written["extrapolation_factor"] = spec.extrapolation_factor
    if not spec.truncate:
        written["truncate"] = False
    return written | _yarn_magnitude_keys(spec, dialect, written)


def _refuse_yarn_switches(spec: Any, dialect: Dialect) -> None:
    if spec.ramp == "turns":
        raise refusal(
            spec,
            dialect.title,
            "its ramp is linear in the pair index; a ramp in turns exists as the type llama3, "
            "without YaRN's attention factor: export NTK-by-parts for exactly that",
        )
    if spec.extrapolation_factor != 1 and not dialect.has_extrapolation_factor:
        raise refusal(spec, dialect.title, "it does not read extrapolation_factor")
    if changes_crossed_bounds(spec, "backwards"):
        raise refusal(
            spec,
            dialect.title,
            "it runs a ramp whose bounds cross backwards, where this spec makes a step",
        )
    if spec.applies != "always":
        raise refusal(
            spec, dialect.title, "it scales at every length, also within the trained window"
        )


def changes_crossed_bounds(spec: Any, rule: str) -> bool:
    """Whether another rule for crossed bounds would change a frequency of this spec."""
    other = spec.with_values(crossed_bounds=rule)
    return bool((other.frequencies(1) != spec.frequencies(1)).any())


def _yarn_magnitude_keys(spec: Any, dialect: Dialect, written: dict[str, Any]) -> dict[str, Any]:
    keys = {
        name: getattr(spec, name)
        for name in ("mscale", "mscale_all_dim")
        if getattr(spec, name) is not None
    }
    plain = spec.with_values(mscale_rule="transformers")
    if spec.magnitude(1) != plain.magnitude(1):
        if spec.mscale_rule == "deepseek_yarn" and dialect.has_deepseek_yarn and spec.truncate:
            written["rope_type"] = "deepseek_yarn"
            return keys
        raise refusal(
            spec,
            dialect.title,
            f"the rule {spec.mscale_rule} for a missing mscale is not its own; set "
            f"attention_factor to {spec.magnitude(1):.9g} instead",
        )
    if spec.attention_factor is None:
        return keys
    if dialect.attention_key == "attention_factor":
        return keys | {"attention_factor": spec.attention_factor}
    derived = spec.with_values(attention_factor=None, mscale_rule="transformers").magnitude(1)
    # SGLang reads the product only; attention_factor beside it is for whoever reads the dict next.
    keys[dialect.attention_key] = spec.attention_factor / derived
    return keys | {"attention_factor": spec.attention_factor}


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
    "yarn": _yarn,
}
