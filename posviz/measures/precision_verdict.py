"""The verdict on a cast of one stage of a rotation, and the sentence with its numbers."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from posviz.measures.distinct_positions import DistinctPositions
from posviz.measures.rounding import FORMATS

Stage: TypeAlias = Literal["positions", "inv_freq", "angles", "tables"]
Verdict: TypeAlias = Literal["fatal", "harmful", "benign"]

FATAL_SCORE_ERROR = 0.1
"""Of a score that is 1 at distance 0."""
BENIGN_TABLES = 2.0
"""Times what tables in bfloat16 cost, which nearly every model pays."""


def rotation_verdict(
    stage: Stage,
    dtype: str,
    worst: tuple[float, int],
    tables_error: float,
    distinct: DistinctPositions | None,
    vanished: int,
) -> tuple[Verdict, str]:
    """The verdict by the rule of ``precision_lens``, and its reason.

    Parameters
    ----------
    worst : largest error of the score, infinite where it is no number, and its distance.
    tables_error : largest error of the score with tables in bfloat16.
    distinct : positions, or angles of the fastest pair, that stay different.
    vanished : how many frequencies become 0.
    """
    merged = distinct is not None and distinct.first_merged is not None
    if dtype == "float64":
        return "benign", "All is computed in float64: the cast changes nothing."
    if stage == "positions" and distinct is not None and not merged and not distinct.overflowed:
        numbers = f"All {distinct.length:,} positions are numbers of {dtype}"
        return "benign", f"{numbers}: the cast changes nothing."
    verdict: Verdict = "harmful"
    if merged or worst[0] > FATAL_SCORE_ERROR:
        verdict = "fatal"
    elif worst[0] <= BENIGN_TABLES * tables_error:
        verdict = "benign"
    pairs = "1 pair gets" if vanished == 1 else f"{vanished} pairs get"
    told = (
        _distinct_told(stage, distinct) if distinct else "",
        f"{pairs} the frequency 0 in {dtype}." if vanished else "",
        _error_told(verdict, *worst, tables_error),
    )
    return verdict, " ".join(filter(None, told))


def _distinct_told(stage: Stage, distinct: DistinctPositions) -> str:
    dtype, length = distinct.dtype, f"{distinct.length:,}"
    what = "positions" if stage == "positions" else "angles of the fastest pair"
    if distinct.overflowed:
        first = distinct.length - distinct.overflowed
        return (
            f"{dtype} ends at {FORMATS[dtype].largest:g}: {what} become infinite from position "
            f"{first:,} on ({distinct.overflowed:,} of {length}), and their cos is no number."
        )
    if distinct.first_merged is None:
        return f"All {length} {what} stay different in {dtype}."
    first = distinct.first_merged
    gap = f"{distinct.gap:,.0f}" if distinct.gap >= 10 else f"{distinct.gap:.3g}"
    return (
        f"Of {length} {what} {distinct.kept:,} stay different in {dtype}: position {first:,} gets "
        f"the number of {first - 1:,}, and at the end different numbers lie {gap} tokens apart."
    )


def _error_told(verdict: Verdict, largest: float, distance: int, tables_error: float) -> str:
    if math.isinf(largest):
        return f"The score is no number, first at distance {distance:,}."
    off = f"The score is off by up to {largest:.2g}, at distance {distance:,}"
    if largest > FATAL_SCORE_ERROR:
        return f"{off}, more than {FATAL_SCORE_ERROR:g} of the 1 at distance 0."
    cost = f"what tables in bfloat16 cost ({tables_error:.2g})"
    if verdict == "benign":
        return f"{off}, at most {BENIGN_TABLES:g} times {cost}."
    times = largest / tables_error if tables_error else math.inf
    return f"{off}: {times:,.3g} times {cost}."
