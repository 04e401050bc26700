"""YaRN in the shared dict: the ramp's keys, and the key that holds the factor on cos and sin."""

from __future__ import annotations

import math
from typing import Any

from posviz.configs.writers.dialects import Dialect, refusal
from posviz.encodings.extension import yarn_magnitude

YARN_DEFAULTS = {"beta_fast": 32.0, "beta_slow": 1.0}


def yarn_dict(spec: Any, dialect: Dialect) -> dict[str, Any]:
    """The keys of type yarn, without the base.

    Raises
    ------
    ExportError : the runtime cannot express the spec.
    """
    _refuse_switches(spec, dialect)
    written: dict[str, Any] = {
        "rope_type": "yarn",
        "factor": spec.scaling_factor,
        "original_max_position_embeddings": spec.original_max_position_embeddings,
    }
    for key, default in YARN_DEFAULTS.items():
        if getattr(spec, key) != default:
            written[key] = getattr(spec, key)
    if spec.extrapolation_factor != 1:
        written["extrapolation_factor"] = spec.extrapolation_factor
    if not spec.truncate:
        written["truncate"] = False
    return written | _magnitude_keys(spec, dialect, written)


def _refuse_switches(spec: Any, dialect: Dialect) -> None:
    if spec.ramp == "turns":
        raise refusal(
            spec,
            dialect.title,
            "its ramp is linear in the pair index; a ramp in turns exists as the type llama3, "
            "without YaRN's attention factor: export NTK-by-parts for exactly that",
        )
    if spec.extrapolation_factor != 1 and not dialect.has_extrapolation_factor:
        raise refusal(spec, dialect.title, "it does not read extrapolation_factor")
    if not spec.truncate and dialect.truncate_missing:
        kind = dialect.kind_without("truncate")
        raise refusal(spec, dialect.title, dialect.truncate_missing, kind)
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


def _magnitude_keys(spec: Any, dialect: Dialect, written: dict[str, Any]) -> dict[str, Any]:
    if dialect.attention_key == "mscale":
        return _by_lone_mscale(spec, dialect)
    if dialect.attention_key == "attn_factor":
        return _by_multiple(spec, dialect)
    keys = _given_mscales(spec)
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
    return keys | {"attention_factor": spec.attention_factor}


def _given_mscales(spec: Any) -> dict[str, Any]:
    names = ("mscale", "mscale_all_dim")
    return {name: getattr(spec, name) for name in names if getattr(spec, name) is not None}


def _by_multiple(spec: Any, dialect: Dialect) -> dict[str, Any]:
    """attn_factor times what SGLang and older vLLM derive: 0.1·ln s + 1, or a ratio.

    SGLang takes the ratio of the two magnitudes where mscale and mscale_all_dim both stand, 0
    included; older vLLM reads neither. Their DeepSeek classes read one alone too; a missing one is
    1, or 0. They read the product only; attention_factor beside it is for whoever reads the dict
    next.
    """
    keys = _given_mscales(spec)
    if not spec.softmax_correction and not (dialect.reads_mscale and len(keys) == 2):
        keys = {}
    derived = _deepseek_magnitude(spec.scaling_factor, keys)
    wanted = spec.magnitude(1)
    if _close(wanted, derived):
        return keys
    return keys | {"attn_factor": wanted / derived, "attention_factor": wanted}


def _by_lone_mscale(spec: Any, dialect: Dialect) -> dict[str, Any]:
    """MLX multiplies by m(s, mscale)/m(s, mscale_all_dim), 1 and 0 where they are missing.

    m(s, k) = 0.1·k·ln s + 1 takes any value for some k, so any factor can be written. The factor
    itself stands beside it, for runtimes that read attention_factor and ignore a lone mscale.
    """
    factor, wanted = spec.scaling_factor, spec.magnitude(1)
    keys = _given_mscales(spec) if spec.softmax_correction else {}
    if _close(wanted, _deepseek_magnitude(factor, keys)):
        return keys
    if factor == 1:
        raise refusal(
            spec,
            dialect.title,
            "it multiplies cos and sin by 1 where the factor is 1, whatever attention_factor says",
        )
    over_all = keys.get("mscale_all_dim", 0.0)
    mscale = (wanted * yarn_magnitude(factor, over_all) - 1) / (0.1 * math.log(factor))
    return keys | {"mscale": mscale, "attention_factor": wanted}


def _deepseek_magnitude(factor: float, keys: dict[str, Any]) -> float:
    return yarn_magnitude(factor, keys.get("mscale", 1.0)) / yarn_magnitude(
        factor, keys.get("mscale_all_dim", 0.0)
    )


def _close(one: float, two: float) -> bool:
    return math.isclose(one, two, rel_tol=1e-14)
