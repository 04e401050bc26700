"""The verdict on a cast of one stage of a rotation, and the sentence with its numbers."""

from __future__ import annotations

import math
from typing import Literal, TypeAlias

from posviz.measures.distinct_positions import DistinctPositions
from posviz.measures.rounding import FORMATS
from posviz.measures.sampled_distances import LargestError

Stage: TypeAlias = Literal["positions", "inv_freq", "angles", "tables"]
Verdict: TypeAlias = Literal["fatal", "harmful", "benign"]

FATAL_SCORE_ERROR = 0.1
"""Of a score that is 1 at distance 0."""
BENIGN_TABLES = 2.0
"""Times what tables in bfloat16 cost, as where a model computes them in its own dtype."""


def rotation_verdict(
    stage: Stage,
    dtype: str,
    length: int,
    worst: LargestError,
    tables: LargestError,
    distinct: DistinctPositions | None,
    vanished: int,
) -> tuple[Verdict, str]:
    """The verdict by the rule of ``precision_lens``, and its reason.

    Parameters
    ----------
    worst : largest error of the score, infinite where it is no number.
    tables : the same with tables in bfloat16.
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
    if merged or worst.size > FATAL_SCORE_ERROR:
        verdict = "fatal"
    elif worst.size <= BENIGN_TABLES * tables.size:
        verdict = "benign"
    pairs = "1 pair gets" if vanished == 1 else f"{vanished} pairs get"
    told = (
        _distinct_told(stage, distinct) if distinct else "",
        f"{pairs} the frequency 0 in {dtype}." if vanished else "",
        _error_told(verdict, length, worst, tables),
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


def _error_told(verdict: Verdict, length: int, worst: LargestError, tables: LargestError) -> str:
    if math.isinf(worst.size):
        return f"The score is no number, first at distance {worst.distance:,}."
    off = f"The score is off by up to {worst.size:.2g}"
    if worst.measured < length:
        off = f"{off} over {_of_all(worst, length)}"
    off = f"{off}, at distance {worst.distance:,}"
    if worst.size > FATAL_SCORE_ERROR:
        return f"{off}, more than {FATAL_SCORE_ERROR:g} of the 1 at distance 0."
    over = f", over {_of_all(tables, length)}" if tables.measured < length else ""
    cost = f"what tables in bfloat16 cost ({tables.size:.2g}{over})"
    if verdict == "benign":
        return f"{off}, at most {BENIGN_TABLES:g} times {cost}."
    times = worst.size / tables.size if tables.size else math.inf
    return f"{off}: {times:,.3g} times {cost}."


def _of_all(found: LargestError, length: int) -> str:
    return f"{found.measured:,} of {length:,} distances"
