"""What it means that two arrays are equal, and the words for how two results are related."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from posviz.results import Array, Result

Kind = Literal["equal", "shift", "permutation", "same logits", "different", "not comparable"]
CLOSE = 1e-9
"""Numbers that differ by less than this share of their size count as equal."""


@dataclass(frozen=True)
class Relation:
    """How two results are related, in one word and in a sentence about "they".

    ``shift`` : the softmax drops what differs. ``permutation`` : of the dimensions of a table, or
    of q and k. ``same logits`` : q and k differ, every q·k is the same.
    """

    kind: Kind
    sentence: str


def not_comparable(reason: str) -> Relation:
    return Relation("not comparable", f"{reason}, so their numbers cannot be compared.")


def refused(
    first: Result, second: Result, what: str, sizes: tuple[tuple[int, ...], tuple[int, ...]]
) -> Relation | None:
    """Why two arrays of these sizes cannot be subtracted; None where they can."""
    if sizes[0] != sizes[1]:
        words = " and ".join(" × ".join(str(length) for length in size) for size in sizes)
        return not_comparable(f"their {what} have different sizes, {words}")
    if not np.array_equal(first.positions, second.positions):
        return not_comparable("they stand at different positions")
    return None


def largest_gap(a: Array, b: Array) -> tuple[float, bool]:
    """Largest difference of two arrays, and whether rounding explains it.

    Numbers that are missing (NaN), or infinite with the same sign, in both are no difference.
    """
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    alike = (a == b) | (np.isnan(a) & np.isnan(b))
    gap = np.abs(np.where(alike, 0.0, a) - np.where(alike, 0.0, b))
    largest = float(np.nan_to_num(gap, nan=np.inf).max(initial=0.0))
    finite = [np.abs(one[np.isfinite(one)]).max(initial=0.0) for one in (a, b)]
    return largest, largest <= CLOSE * float(max(finite))


def measured(what: str, gap: tuple[float, bool], unit: str = "") -> Relation:
    if gap[1]:
        return Relation("equal", f"their {what} are equal at these positions.")
    return Relation("different", f"their {what} differ by up to {gap[0]:.4g}{unit}.")


def after_query(result: Result) -> np.ndarray:
    """(queries, keys) True where a key stands after its query."""
    positions = np.asarray(result.positions)
    return positions[None, :] > positions[:, None]
