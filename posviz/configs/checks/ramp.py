"""YaRN's ramp: where it runs, who rounds its bounds, and bounds that make no ramp."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.checks.ramp_by_runtime import (
    ALWAYS_ROUND,
    lost_truncate,
    pairs_between,
    rounding,
    with_mrope,
)
from posviz.configs.checks.subject import Rotating, Subject
from posviz.configs.checks.wording import keeps_few, keys_given, of_runtime, pairs
from posviz.encodings.ramps import pair_at_turns

CODES: Mapping[str, str] = {
    "PV221": "beta_fast equals beta_slow: there is no blend.",
    "PV222": "The ramp lies outside the ladder: every pair is kept, or all but one are divided.",
    "PV223": "The bounds of the ramp are not rounded; some runtimes round them all the same.",
    "PV224": "Where the ramp runs, and how many pairs lie before, in and behind it.",
    "PV225": "YaRN with M-RoPE: vLLM computes the ramp with four times the trained window.",
    "PV226": "The bounds of the ramp cross: runtimes differ in what they make of it.",
    "PV227": "The class is trained with bounds that are not rounded, and the dict lost truncate.",
}


def find(subject: Subject) -> Iterator[Diagnosis]:
    """Every layer type with YaRN. Betas the wrong way round are refused by the reader."""
    for each in subject.rotating:
        if each.spec.id == "yarn" and each.spec.scaling_factor > 1:
            yield from _of_ramp(each, subject)


def _of_ramp(each: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    low, high = each.spec.bounds
    kept = each.spec.kept()
    if high < low:
        yield _crossed(each, subject, low, high)
    elif kept.min() == 1 or _bands(kept)["pairs_divided"] > max(1, len(kept) - 2):
        yield _outside(each, kept)
    elif each.spec.beta_fast == each.spec.beta_slow:
        yield _equal(each)
    else:
        yield _where(each, kept)
    yield from lost_truncate(each, subject)
    if not each.spec.truncate and subject.concerns(*ALWAYS_ROUND):
        yield from rounding(each, subject)
    if each.given("mrope_section") is not None and subject.concerns("vllm"):
        yield from with_mrope(each, subject)


def _where(each: Rotating, kept: Any) -> Diagnosis:
    low, high = each.spec.bounds
    counts = _bands(kept)
    few = keeps_few(counts["pairs_unchanged"], len(kept))
    return Diagnosis(
        code="PV224",
        severity="info" if few else "ok",
        message=(
            f"The ramp runs over pairs {low:.5g} to {high:.5g}: {pairs(counts['pairs_unchanged'])} "
            f"kept, {counts['pairs_blended']} blended and {counts['pairs_divided']} divided by "
            f"{each.spec.scaling_factor:g}."
            + (
                f" So few are kept that neighbours change as well; check beta_fast "
                f"{each.spec.beta_fast:g} and the original window "
                f"{each.spec.original_max_position_embeddings}."
                if few
                else ""
            )
        ),
        fields=keys_given(each, "beta_fast", "beta_slow"),
        values={"ramp_low": low, "ramp_high": high, **counts},
        layer_type=each.name,
        panel="divisors",
        pairs=pairs_between(each, low, high),
    )


def _bands(kept: Any) -> dict[str, int]:
    unchanged, divided = int((kept == 1).sum()), int((kept == 0).sum())
    return {
        "pairs_unchanged": unchanged,
        "pairs_blended": len(kept) - unchanged - divided,
        "pairs_divided": divided,
    }


def _outside(each: Rotating, kept: Any) -> Diagnosis:
    spec = each.spec
    window, factor = spec.original_max_position_embeddings, f"{spec.scaling_factor:g}"
    if kept.min() == 1:
        turns = window * float(spec.trained_frequencies()[-1]) / math.tau
        told = (
            f"every pair is kept, the slowest too, which turns {turns:.3g} times in {window} "
            f"tokens: YaRN with factor {factor} changes no frequency, only the scores"
        )
    else:
        turns = window / math.tau
        told = (
            f"all pairs but the fastest, which turns {turns:.3g} times in {window} tokens, are "
            f"divided by {factor}: that is plain interpolation"
        )
    return Diagnosis(
        code="PV222",
        severity="warn",
        message=(
            f"The ramp lies outside the ladder, so {told}. Check beta_fast "
            f"{spec.beta_fast:g}, beta_slow {spec.beta_slow:g} and the original window."
        ),
        fields=keys_given(each, "beta_fast", "beta_slow", "original_max_position_embeddings"),
        values={"ramp_low": spec.bounds[0], "ramp_high": spec.bounds[1], **_bands(kept)},
        layer_type=each.name,
        panel="divisors",
        pairs=(0, spec.pairs - 1),
    )


def _crossed(each: Rotating, subject: Subject, low: float, high: float) -> Diagnosis:
    return Diagnosis(
        code="PV226",
        severity="warn",
        message=(
            f"The bounds of the ramp cross: it would start at pair {low:.5g} and end at "
            f"{high:.5g}, after clamping to the ladder. The original window "
            f"{each.spec.original_max_position_embeddings} does not suit beta_fast "
            f"{each.spec.beta_fast:g} and beta_slow {each.spec.beta_slow:g}."
        ),
        fields=keys_given(each, "beta_fast", "beta_slow", "original_max_position_embeddings"),
        values={"ramp_low": low, "ramp_high": high},
        runtimes=of_runtime(
            subject,
            {
                "transformers": "runs the ramp backwards.",
                "vllm": "runs the ramp backwards.",
                "mlx": "runs the ramp backwards.",
                "llama_cpp": "makes a step at the first bound.",
            },
        ),
        layer_type=each.name,
        panel="profiles",
    )


def _equal(each: Rotating) -> Diagnosis:
    spec = each.spec
    at = pair_at_turns(
        spec.beta_fast, spec.rotary_dim, spec.base, spec.original_max_position_embeddings
    )
    return Diagnosis(
        code="PV221",
        severity="info",
        message=(
            f"beta_fast and beta_slow are both {spec.beta_fast:g}, so there is no blend but a step "
            f"near pair {at:.4g}: faster pairs are kept, slower ones divided by "
            f"{spec.scaling_factor:g}."
        ),
        fields=keys_given(each, "beta_fast", "beta_slow"),
        values={"step_at_pair": at},
        layer_type=each.name,
        panel="divisors",
    )
