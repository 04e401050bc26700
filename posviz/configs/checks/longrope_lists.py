"""Lists of divisors that look like something else than divisors from fast to slow pairs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from posviz.configs.checks.diagnosis import Diagnosis, Operation
from posviz.configs.checks.rope_patches import tried
from posviz.configs.checks.subject import Rotating, Subject
from posviz.configs.checks.wording import keys_given

_ROUNDING = 0.99
"""Searched lists of released models start a little below 1 (MiniCPM4: 0.9978)."""
_MULTIPLIER = 0.9
_LISTS = ("short_factor", "long_factor")


def list_faults(each: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    """What is odd about the lists, the most telling first."""
    if _exchanged(each):
        yield _of_exchanged(each, subject)
        return
    for key in _LISTS:
        factors = getattr(each.spec, key)
        if min(factors) < _ROUNDING:
            yield _below_one(each, subject, key, factors)
        elif _falls(factors):
            yield _falling(each, subject, key, factors)
    target = subject.target_length
    beyond = target is not None and target > each.spec.original_max_position_embeddings
    if beyond and set(each.spec.long_factor) == {1.0}:
        yield _all_ones(each)


def _exchanged(each: Rotating) -> bool:
    short, long = each.spec.short_factor, each.spec.long_factor
    if short == long or min(long) < _ROUNDING:
        return False
    return all(one >= other for one, other in zip(short, long, strict=True))


def _of_exchanged(each: Rotating, subject: Subject) -> Diagnosis:
    short, long = each.spec.short_factor, each.spec.long_factor
    return Diagnosis(
        code="PV294",
        severity="warn",
        message=(
            f"short_factor divides every pair by at least as much as long_factor (up to "
            f"{max(short):.4g} against {max(long):.4g}): short inputs would be slowed and long "
            "ones not. The two lists look exchanged."
        ),
        fields=keys_given(each, *_LISTS),
        values={"largest_short": max(short), "largest_long": max(long)},
        layer_type=each.name,
        panel="divisors",
        pairs=(0, each.spec.pairs - 1),
        patch=_put(each, subject, short_factor=long, long_factor=short),
    )


def _below_one(each: Rotating, subject: Subject, key: str, factors: Sequence[float]) -> Diagnosis:
    below = [index for index, factor in enumerate(factors) if factor < _ROUNDING]
    multipliers = max(factors) <= 1 and min(factors) < _MULTIPLIER
    told = f"{key} has {len(below)} entries below 1, down to {min(factors):.4g}"
    if multipliers:
        told += (
            " and none above it. Entries are divisors of the frequencies; these look like "
            "multipliers, their reciprocals, and would speed the pairs up."
        )
    else:
        told += (
            ": entries are divisors of the frequencies, so these pairs turn faster than trained."
        )
    patch = _put(each, subject, **{key: [1 / factor for factor in factors]}) if multipliers else ()
    return Diagnosis(
        code="PV291",
        severity="warn" if multipliers else "info",
        message=told,
        fields=keys_given(each, key),
        values={"smallest": min(factors), "entries_below_one": len(below)},
        layer_type=each.name,
        panel="divisors",
        pairs=(below[0], below[-1]),
        patch=patch,
    )


def _falls(factors: Sequence[float]) -> bool:
    steps = list(itertools.pairwise(factors))
    return all(after <= before for before, after in steps) and factors[-1] < factors[0]


def _falling(each: Rotating, subject: Subject, key: str, factors: Sequence[float]) -> Diagnosis:
    return Diagnosis(
        code="PV292",
        severity="warn",
        message=(
            f"{key} falls from {factors[0]:.4g} at the fastest pair to {factors[-1]:.4g} at the "
            "slowest. Pair 0 is the fastest, and slow pairs need the larger divisors: the list "
            "looks reversed."
        ),
        fields=keys_given(each, key),
        values={"first": factors[0], "last": factors[-1]},
        layer_type=each.name,
        panel="divisors",
        pairs=(0, each.spec.pairs - 1),
        patch=_put(each, subject, **{key: factors[::-1]}),
    )


def _all_ones(each: Rotating) -> Diagnosis:
    return Diagnosis(
        code="PV293",
        severity="warn",
        message=(
            "Every entry of long_factor is 1, so no pair is slowed at any length: the window of "
            f"{each.spec.original_max_position_embeddings} tokens is not extended, only cos and "
            "sin are scaled. The list looks like a placeholder."
        ),
        fields=keys_given(each, "long_factor"),
        values={"largest_long": 1.0},
        layer_type=each.name,
        panel="divisors",
        pairs=(0, each.spec.pairs - 1),
    )


def _put(each: Rotating, subject: Subject, **lists: Sequence[float]) -> tuple[Operation, ...]:
    patch = tuple(subject.put(each.key(key), list(factors)) for key, factors in lists.items())
    return tried(subject, patch)
