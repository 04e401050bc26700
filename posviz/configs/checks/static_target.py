"""A static factor against the length that is wanted."""

from __future__ import annotations

from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.checks.linear_target import linear_between, linear_within, may_be_extended
from posviz.configs.checks.rope_patches import with_factor, without_extension
from posviz.configs.checks.static_factor import covered, fields_of, gain, product, values_of
from posviz.configs.checks.subject import Rotating, Subject
from posviz.configs.checks.trained import reason
from posviz.configs.checks.wording import limits
from posviz.configs.numbers import whole
from posviz.parameters import number_text

_STATIC_SAYS = "the static factor applies to short inputs too"


def not_needed(each: Rotating, subject: Subject, target: int, trained: bool | None) -> Diagnosis:
    """PV201: the wanted length lies within the trained window."""
    if may_be_extended(each, trained):
        return linear_within(each, subject, target)
    values = values_of(each, subject)
    original = values["original_max_position_embeddings"]
    return Diagnosis(
        code="PV201",
        severity="warn",
        message=(
            f"{target} tokens lie within the trained window {original}, so the extension is not "
            f"needed; {_STATIC_SAYS}: {_cost(each, values['score_gain'])}. "
            f"{reason(subject, trained)}"
        ),
        fields=fields_of(each, subject),
        values={**values, "recommended_factor": 1.0, "recommended_score_gain": 1.0},
        layer_type=each.name,
        panel="short_range_cost",
        patch=without_extension(subject, each),
    )


def smaller(each: Rotating, subject: Subject, target: int, trained: bool | None) -> Diagnosis:
    """PV202: a smaller factor is enough."""
    if may_be_extended(each, trained):
        return linear_between(each, subject, target)
    values = values_of(each, subject)
    needed = target / values["original_max_position_embeddings"]
    after = gain(each.spec, needed)
    scores = (
        f" Scores are then multiplied by {after:.4g} in place of {values['score_gain']:.4g}."
        if after != values["score_gain"]
        else ""
    )
    return Diagnosis(
        code="PV202",
        severity="warn",
        message=(
            f"factor × original = {product(each)}, but {target} tokens are wanted, for which a "
            f"factor of {needed:.6g} is enough: {_STATIC_SAYS}; use the smallest factor "
            f"that covers the need.{scores} {reason(subject, trained)}"
        ),
        fields=fields_of(each, subject),
        values={**values, "recommended_factor": needed, "recommended_score_gain": after},
        layer_type=each.name,
        panel="short_range_cost",
        patch=with_factor(subject, each, needed, target),
    )


def beyond(each: Rotating, subject: Subject, target: int, trained: bool | None) -> Diagnosis:
    """PV203: the factor is too small."""
    values = values_of(each, subject)
    held = subject.facts.window_is_extended and each.spec.id == "linear"
    original = covered(each, subject) / values["factor"]
    needed = target / original
    if trained:
        told = (
            f"{reason(subject, trained)} A factor of {needed:.6g} would reach {target}, but the "
            "weights know this one only: expect to fine-tune, or stay within."
        )
    else:
        told = f"A factor of {needed:.6g} would cover it; {_STATIC_SAYS}."
    patch = with_factor(subject, each, needed, target)
    return Diagnosis(
        code="PV203",
        severity="warn",
        message=(
            f"{target} tokens lie beyond what {each.spec.title} covers here, "
            + (
                f"{whole(covered(each, subject))}"
                if held
                else f"factor × original = {product(each)}"
            )
            + f". {told}"
        ),
        fields=fields_of(each, subject),
        values={
            **values,
            "recommended_factor": needed,
            "recommended_score_gain": gain(each.spec, needed),
        },
        runtimes=limits(subject, target, _vllm_limit(each, subject)),
        layer_type=each.name,
        panel="turns",
        patch=() if trained or may_be_extended(each, trained) else patch,
    )


def _vllm_limit(each: Rotating, subject: Subject) -> int | None:
    """vLLM multiplies the window for linear and ntk, and for no model whose window is extended."""
    if each.spec.id == "yarn" or subject.facts.window_is_extended or subject.model.window is None:
        return None
    return int(subject.model.window * each.spec.scaling_factor)


def _cost(each: Rotating, score_gain: float) -> str:
    factor = number_text(each.spec.scaling_factor)
    if each.spec.id == "linear":
        return f"neighbours come {factor} times closer in every pair"
    if each.spec.id == "ntk_aware":
        return f"pairs turn up to {factor} times more slowly"
    scores = f" and scores are multiplied by {score_gain:.4g}" if score_gain != 1 else ""
    return f"slow pairs turn {factor} times more slowly{scores}"
