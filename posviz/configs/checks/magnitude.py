"""The factor on cos and sin: what it is, what it is taken for, and who reads it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.checks.mscale_rules import mscale_numbers
from posviz.configs.checks.rope_patches import tried
from posviz.configs.checks.subject import Rotating, Subject
from posviz.configs.checks.wording import keys_given, of_runtime
from posviz.parameters import is_finite_number, number_text

CODES: Mapping[str, str] = {
    "PV230": "attention_factor is given: it, the default, and both squared on the logits.",
    "PV231": "attention_factor looks like another number: the logit gain, a temperature, a root.",
    "PV232": "The runtime that was asked about does not take attention_factor from the file.",
    "PV233": "mscale and mscale_all_dim: what each runtime makes of them.",
    "PV234": "The factor on cos and sin reaches the rotated dimensions only.",
}
_TOLERANCE = 2e-3
"""Relative; people write such numbers with three or four digits."""
_LARGEST_RATIO = 2.0
"""Of two factors on the logits, the given one and the default."""
_SMALLEST_STEP = 0.02
"""Below this distance in the logarithm the default and its square cannot be told apart."""
_GGUF = (
    "takes (1 + 0.1·ln s) × the GGUF file's rope.scaling.attn_factor; --yarn-attn-factor has no "
    "effect while the ramp is on"
)
_MULTIPLIES = "reads attn_factor, which multiplies 0.1·ln s + 1, and not attention_factor"
_MULTIPLIES_EITHER = (
    "reads attn_factor, which multiplies 0.1·ln s + 1 or the ratio that mscale and mscale_all_dim "
    "give, and not attention_factor"
)
_MSCALES = "reads short_mscale and long_mscale for longrope, not attention_factor"
_IGNORES: Mapping[str, Mapping[str, str]] = {
    "yarn": {
        "llama_cpp": _GGUF,
        "ollama": _GGUF,
        "mlx": "does not read attention_factor; it works out 0.1·ln s + 1 from mscale",
        "sglang": _MULTIPLIES_EITHER,
        "vllm_old": _MULTIPLIES,
    },
    "longrope": {
        **dict.fromkeys(("vllm", "vllm_old", "sglang"), _MSCALES),
        "mlx": "does not read attention_factor; it works out √(1 + ln s / ln L)",
    },
}
_DEEPSEEK_VLLM = "does not read attention_factor in its DeepSeek classes (deepseek_yarn)"


def find(subject: Subject) -> Iterator[Diagnosis]:
    """Every layer type whose method multiplies cos and sin."""
    for each in subject.rotating:
        if each.spec.id not in _IGNORES or getattr(each.spec, "scaling_factor", 1) == 1:
            continue
        if _is_given(each):
            yield from _given(each, subject)
        elif each.spec.id == "yarn":
            yield from mscale_numbers(each, subject)
        if each.spec.id == "yarn":
            yield from _unscaled(each, subject)


def _is_given(each: Rotating) -> bool:
    if each.spec.attention_factor is None or each.given("attention_factor") is None:
        return False
    # With L = 1 longrope has no default to compare with: it divides by ln L.
    return bool(each.spec.id != "longrope" or each.spec.original_max_position_embeddings > 1)


def _default(each: Rotating) -> tuple[float, str]:
    """The factor that would hold without attention_factor, and its rule."""
    spec = each.spec
    without = spec.model_copy(update={"attention_factor": None})
    if spec.id == "yarn":
        rule = f"0.1·ln {spec.scaling_factor:g} + 1"
        if spec.mscale and spec.mscale_all_dim:
            rule = f"m(mscale {spec.mscale:g}) / m(mscale_all_dim {spec.mscale_all_dim:g})"
        return float(without.magnitude(1)), rule
    window = spec.original_max_position_embeddings
    return float(without.magnitude(window)), f"√(1 + ln {spec.factor_at(window):g} / ln {window})"


def _ignored_by(each: Rotating, subject: Subject) -> dict[str, str]:
    own = {"vllm": _DEEPSEEK_VLLM} if subject.facts.softmax_correction else {}
    return {**_IGNORES[each.spec.id], **own}


def _given(each: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    given, (default, _) = each.spec.attention_factor, _default(each)
    mistake = _taken_for(given, default, each)
    if mistake is None:
        yield _stated(each, subject, given, default)
    else:
        yield _mistaken(each, subject, given, default, mistake)
    why = _ignored_by(each, subject).get(subject.runtime or "")
    default = _taken_instead(each, subject, default)
    if why is not None and not math.isclose(given, default, rel_tol=1e-6):
        yield _not_taken(each, why, given, default)


def _taken_instead(each: Rotating, subject: Subject, default: float) -> float:
    """What the runtime multiplies cos and sin by in place of attention_factor."""
    if each.spec.id != "yarn" or subject.runtime not in ("sglang", "vllm_old"):
        return default
    unread = {"attention_factor": None}
    if subject.runtime == "vllm_old" and not subject.facts.softmax_correction:
        unread |= {"mscale": None, "mscale_all_dim": None}
    derived = float(each.spec.model_copy(update=unread).magnitude(1))
    attn = each.given("attn_factor")
    return derived * attn if is_finite_number(attn) else derived


def _stated(each: Rotating, subject: Subject, given: float, default: float) -> Diagnosis:
    same = math.isclose(given, default, rel_tol=1e-6)
    rule = _default(each)[1]
    if same:
        told = f"is the default, {rule} = {default:.7g}"
    else:
        told = f"counts in place of the default, {rule} = {default:.7g}"
    ratio = given**2 / default**2
    # Released models switch the temperature off with 1, whatever their factor is.
    unusual = given != 1 and not 1 / _LARGEST_RATIO <= ratio <= _LARGEST_RATIO
    rare = ""
    if given == 1 and not same:
        rare = " With 1 the temperature is off."
    elif unusual:
        rare = f" That is {ratio:.3g} times the default, which no published recipe is known to be."
    return Diagnosis(
        code="PV230",
        severity="warn" if unusual else "ok",
        message=(
            f"attention_factor {number_text(given)} {told}. It multiplies cos and sin, so both "
            f"query and key: logits change by its square, {given**2:.6g} (default "
            f"{default**2:.6g}).{rare}"
        ),
        fields=keys_given(each, "attention_factor", "factor"),
        values=_values(given, default),
        runtimes={} if same else of_runtime(subject, _who_reads(each, subject)),
        layer_type=each.name,
        panel="score_decay",
    )


def _values(given: float, default: float) -> dict[str, Any]:
    return {
        "attention_factor": given,
        "logit_gain": given**2,
        "default_attention_factor_would_be": default,
        "default_logit_gain": default**2,
    }


def _who_reads(each: Rotating, subject: Subject) -> dict[str, str]:
    read = dict.fromkeys(("transformers", "vllm"), "reads attention_factor.")
    return read | {name: f"{text}." for name, text in _ignored_by(each, subject).items()}


def _taken_for(given: float, default: float, each: Rotating) -> str | None:
    """The number that attention_factor probably is, in words; None where it is what it says."""
    if math.log(default) < _SMALLEST_STEP or math.isclose(given, 1.0, rel_tol=_TOLERANCE):
        return None
    square, factor = default**2, each.spec.factor_at(1)
    candidates = (
        (square, f"the logit gain {square:.6g}, the square of the factor on cos and sin"),
        (1 / default, f"the reciprocal {1 / default:.6g}"),
        (1 / square, f"the temperature t = {1 / square:.6g}, of which it is the root of 1/t"),
        (math.sqrt(default), f"the square root {math.sqrt(default):.6g}"),
        (factor, f"the scaling factor {factor:g} itself"),
    )
    return next(
        (text for number, text in candidates if math.isclose(given, number, rel_tol=_TOLERANCE)),
        None,
    )


def _mistaken(
    each: Rotating, subject: Subject, given: float, default: float, mistake: str
) -> Diagnosis:
    return Diagnosis(
        code="PV231",
        severity="warn",
        message=(
            f"attention_factor {number_text(given)} looks like {mistake}. The key holds the factor "
            f"on cos and sin, {_default(each)[1]} = {default:.7g}; as it stands, logits change by "
            f"{given**2:.6g} in place of {default**2:.6g}."
        ),
        fields=keys_given(each, "attention_factor", "factor"),
        values=_values(given, default),
        layer_type=each.name,
        panel="score_decay",
        patch=tried(subject, (subject.put(each.key("attention_factor"), default),)),
    )


def _not_taken(each: Rotating, why: str, given: float, default: float) -> Diagnosis:
    return Diagnosis(
        code="PV232",
        severity="warn",
        message=(
            f"attention_factor {number_text(given)} does not reach this runtime: it "
            f"{why}. It multiplies cos and sin by {default:.7g}, so logits change by "
            f"{default**2:.6g} in place of {given**2:.6g}."
        ),
        fields=keys_given(each, "attention_factor"),
        values=_values(given, default),
        layer_type=each.name,
    )


def _unscaled(each: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    spec = each.spec
    magnitude = float(spec.magnitude(1))
    latent = subject.section.given("qk_nope_head_dim") is not None
    whole_head = spec.rotary_dim == spec.head_dim and not latent
    if magnitude == 1 or whole_head or spec.softmax_magnitude(1) != 1:
        return
    yield Diagnosis(
        code="PV234",
        severity="info" if latent else "ok",
        message=(
            f"The factor {magnitude:.7g} on cos and sin reaches the {spec.rotary_dim} rotated "
            f"dimensions only: their part of a logit changes by {magnitude**2:.6g}, that of the "
            "other dimensions not at all. The paper's temperature is for whole logits; the "
            "runtimes do it this way for yarn."
        ),
        fields=keys_given(each, "attention_factor", "partial_rotary_factor"),
        values={"rotary_dim": spec.rotary_dim, "rotated_gain": magnitude**2, "unrotated_gain": 1.0},
        layer_type=each.name,
        panel="score_decay",
    )
