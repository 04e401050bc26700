"""LongRoPE: the two lists, which of them applies, and the factor on cos and sin."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.checks.longrope_lists import list_faults
from posviz.configs.checks.longrope_switch import which_list
from posviz.configs.checks.subject import Rotating, Subject
from posviz.configs.checks.wording import keys_given, limits, of_runtime, window_key
from posviz.parameters import is_finite_number

CODES: Mapping[str, str] = {
    "PV290": "LongRoPE: what the two lists divide by, and the factor on cos and sin.",
    "PV291": "Entries below 1: the list may hold multipliers in place of divisors.",
    "PV292": "A list that falls from the fast pairs to the slow ones: it may be reversed.",
    "PV293": "The long list is all ones: nothing is extended.",
    "PV294": "The short list divides by more than the long one: they may be exchanged.",
    "PV295": "Which list applies, by runtime and length.",
    "PV296": "The wanted length lies beyond the window of a longrope model.",
    "PV297": "factor differs from max_position_embeddings / original: two magnitudes.",
    "PV298": "short_mscale and long_mscale are read by vLLM, not by this class in transformers.",
}
_LISTS = ("short_factor", "long_factor")


def find(subject: Subject) -> Iterator[Diagnosis]:
    """Every layer type with rope type longrope."""
    for each in subject.rotating:
        if each.spec.id == "longrope":
            faults = list(list_faults(each, subject))
            yield from faults
            if not faults:
                yield _lists(each)
            yield from _two_factors(each, subject)
            yield from _unread_mscale(each, subject)
            if each.spec.short_factor != each.spec.long_factor:
                yield which_list(each, subject)
            yield from _beyond(each, subject)


def _lists(each: Rotating) -> Diagnosis:
    spec = each.spec
    own = (spec.attention_factor, spec.short_mscale, spec.long_mscale)
    short, long = (
        float(spec.magnitude(length))
        for length in (spec.original_max_position_embeddings, _beyond_original(spec))
    )
    factor = spec.factor_at(1)
    rule = ""
    if short != 1 and all(value is None for value in own):
        rule = f" = √(1 + ln {factor:g} / ln {spec.original_max_position_embeddings})"
    scaled = f"{short:.7g}{rule}, at every length, so logits change by {short**2:.6g}"
    if short != long:
        scaled = f"{short:.7g} with the short list and {long:.7g} with the long one"
    return Diagnosis(
        code="PV290",
        severity="ok",
        message=f"{_told(spec)}. cos and sin are multiplied by {scaled}.",
        fields=keys_given(each, *_LISTS),
        values={
            "short_range": [min(spec.short_factor), max(spec.short_factor)],
            "long_range": [min(spec.long_factor), max(spec.long_factor)],
            "factor": factor,
            "attention_factor": long,
            "logit_gain": long**2,
        },
        layer_type=each.name,
        panel="divisors",
    )


def _beyond_original(spec: Any) -> int:
    return int(spec.original_max_position_embeddings) + 1


def _told(spec: Any) -> str:
    short, long = (
        f"{min(factors):.4g} to {max(factors):.4g}"
        for factors in (spec.short_factor, spec.long_factor)
    )
    if set(spec.short_factor) == set(spec.long_factor) == {1.0}:
        return "All entries of both lists are 1, so no pair is slowed at any length"
    if spec.short_factor == spec.long_factor:
        return f"Both lists are the same and divide by {long}: the switch changes nothing"
    return f"short_factor divides by {short}, long_factor by {long}"


def _beyond(each: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    target, window = subject.target_length, subject.model.window
    if target is None or window is None or target <= window:
        return
    yield Diagnosis(
        code="PV296",
        severity="warn",
        message=(
            f"{target} tokens are wanted, but the lists were searched for "
            f"max_position_embeddings = {window}; no key stretches them further. Stay within, or "
            "search and fine-tune again."
        ),
        fields=(window_key(subject),),
        values={"target_length": target, "max_position_embeddings": window},
        runtimes=limits(subject, target),
        layer_type=each.name,
        panel="turns",
    )


def _two_factors(each: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    spec, window = each.spec, subject.model.window
    given = spec.scaling_factor
    own = (spec.attention_factor, spec.short_mscale, spec.long_mscale)
    unclear = window is None or spec.original_max_position_embeddings < 2  # ln L divides
    if given is None or unclear or any(value is not None for value in own):
        return
    ratio = window / spec.original_max_position_embeddings
    other = spec.model_copy(update={"scaling_factor": None})
    magnitude, from_windows = float(spec.magnitude(window)), float(other.magnitude(window))
    if math.isclose(magnitude, from_windows, rel_tol=1e-6):
        return
    yield Diagnosis(
        code="PV297",
        severity="warn",
        message=(
            f"factor is {given:g}, but max_position_embeddings / original = {window} / "
            f"{spec.original_max_position_embeddings} = {ratio:g}. transformers takes the factor "
            f"and multiplies cos and sin by {magnitude:.7g}; those that do not read it take the "
            f"windows and {from_windows:.7g}."
        ),
        fields=(*keys_given(each, "factor", "original_max_position_embeddings"),),
        values={
            "factor": given,
            "implicit_factor": ratio,
            "attention_factor": magnitude,
            "attention_factor_from_windows": from_windows,
        },
        runtimes=of_runtime(
            subject,
            {
                "transformers": f"cos and sin × {magnitude:.7g}.",
                "vllm": f"does not read factor for longrope: cos and sin × {from_windows:.7g}.",
                "mlx": f"does not read factor for longrope: cos and sin × {from_windows:.7g}.",
            },
        ),
        layer_type=each.name,
        panel="score_decay",
    )


def _unread_mscale(each: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    keys = [key for key in ("short_mscale", "long_mscale") if is_finite_number(each.given(key))]
    reads = not subject.facts.known or subject.facts.name == "phimoe"
    if reads or not keys:
        return
    own = float(each.spec.magnitude(each.spec.original_max_position_embeddings))
    given = ", ".join(f"{key} {each.given(key):g}" for key in keys)
    yield Diagnosis(
        code="PV298",
        severity="warn" if subject.runtime == "vllm" else "info",
        message=(
            f"{given}: vLLM multiplies cos and sin by it for every longrope model, transformers "
            f"for phimoe only. {subject.facts.name} gets {own:.7g} in transformers."
        ),
        fields=keys_given(each, *keys),
        values={"attention_factor": own, **{key: each.given(key) for key in keys}},
        runtimes=of_runtime(
            subject,
            {"transformers": f"cos and sin × {own:.7g}.", "vllm": f"cos and sin by {given}."},
        ),
        layer_type=each.name,
        panel="score_decay",
    )
