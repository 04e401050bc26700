"""Whether two results are the same thing in another form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from posviz.results import (
    AttentionBias,
    AttentionMask,
    AttentionTerms,
    PositionTable,
    RelativeRotation,
    Result,
    Rotation,
    ScaledRotation,
)

Kind = Literal["equal", "shift", "permutation", "different", "not comparable"]
_CLOSE = 1e-9


@dataclass(frozen=True)
class Relation:
    """How two results are related, in one word and in a sentence."""

    kind: Kind
    sentence: str


def relation(first: Result, second: Result) -> Relation:
    """The closest of: equal, equal up to what the softmax or a permutation removes, different."""
    if isinstance(first, AttentionBias) and isinstance(second, AttentionBias):
        return _biases(first, second)
    if isinstance(first, PositionTable) and isinstance(second, PositionTable):
        return _tables(np.asarray(first.vectors), np.asarray(second.vectors))
    if isinstance(first, Rotation) and isinstance(second, Rotation):
        return _rotations(first, second)
    if isinstance(first, AttentionTerms) and isinstance(second, AttentionTerms):
        return _plain(np.asarray(first.logits), np.asarray(second.logits), "logits")
    if isinstance(first, AttentionMask) and isinstance(second, AttentionMask):
        seen = [np.isfinite(np.asarray(one.matrix)).astype(float) for one in (first, second)]
        return _plain(seen[0], seen[1], "masks")
    if isinstance(first, RelativeRotation) and isinstance(second, RelativeRotation):
        return _remapped(first, second)
    return Relation(
        "not comparable", "they give different things, so their numbers cannot be subtracted."
    )


def _sizes_differ(what: str, first: np.ndarray, second: np.ndarray) -> Relation:
    return Relation(
        "not comparable",
        f"their {what} have different sizes, {_times(first)} and {_times(second)}.",
    )


def _times(array: np.ndarray) -> str:
    return " × ".join(str(size) for size in array.shape)


def _gap(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """Largest difference, and the size that it is measured against."""
    size = max(
        1e-300, float(np.abs(first).max(initial=0.0)), float(np.abs(second).max(initial=0.0))
    )
    return float(np.abs(first - second).max(initial=0.0)), size


def _plain(first: np.ndarray, second: np.ndarray, what: str) -> Relation:
    if first.shape != second.shape:
        return _sizes_differ(what, first, second)
    gap, size = _gap(first, second)
    if gap <= _CLOSE * size:
        return Relation("equal", f"their {what} are equal.")
    return Relation("different", f"their {what} differ by up to {gap:.4g}.")


def _biases(first: AttentionBias, second: AttentionBias) -> Relation:
    a, b = np.asarray(first.matrix), np.asarray(second.matrix)
    if a.shape != b.shape:
        return _sizes_differ("biases", a, b)
    positions = np.asarray(first.positions)
    causal = first.is_causal_only or second.is_causal_only
    seen = (positions[None, :] <= positions[:, None]) if causal else np.ones(a.shape[1:], bool)
    difference = np.where(seen, a - b, np.nan)
    size = max(1e-300, float(np.abs(a[:, seen]).max()), float(np.abs(b[:, seen]).max()))
    if float(np.nanmax(np.abs(difference))) <= _CLOSE * size:
        tail = " wherever a key is seen" if causal else ""
        return Relation("equal", f"their biases are equal{tail}.")
    spread = np.nanmax(difference, axis=2) - np.nanmin(difference, axis=2)
    if float(spread.max()) <= _CLOSE * size:
        return Relation(
            "shift",
            "they differ by one number per query, which the softmax drops: the attention weights "
            "are equal.",
        )
    largest = float(np.nanmax(np.abs(difference)))
    return Relation("different", f"their biases differ by up to {largest:.4g}.")


def _tables(first: np.ndarray, second: np.ndarray) -> Relation:
    if first.shape != second.shape:
        return _sizes_differ("tables", first, second)
    gap, size = _gap(first, second)
    if gap <= _CLOSE * size:
        return Relation("equal", "their vectors are equal.")
    if _is_permutation(first, second, size):
        return Relation(
            "permutation",
            "they are equal up to one permutation of the dimensions, which the projections that "
            "follow can undo.",
        )
    return Relation("different", f"their vectors differ by up to {gap:.4g}.")


def _is_permutation(first: np.ndarray, second: np.ndarray, size: float) -> bool:
    """Whether each column of the one is a column of the other, each used once."""
    free = list(range(second.shape[1]))
    for column in first.T:
        gaps = np.abs(second[:, free] - column[:, None]).max(axis=0)
        best = int(np.argmin(gaps))
        if gaps[best] > _CLOSE * size:
            return False
        del free[best]
    return True


def _rotations(first: Rotation, second: Rotation) -> Relation:
    angles = [np.asarray(one.angles) for one in (first, second)]
    if angles[0].shape != angles[1].shape:
        return _sizes_differ("angles", angles[0], angles[1])
    gap, size = _gap(angles[0], angles[1])
    alike = gap <= _CLOSE * size and type(first) is type(second)
    alike = alike and first.attention_factor == second.attention_factor
    if alike and isinstance(first, ScaledRotation) and isinstance(second, ScaledRotation):
        alike = _gap(np.asarray(first.decay), np.asarray(second.decay))[0] <= _CLOSE
    if not alike:
        factor = first.attention_factor != second.attention_factor
        more = ", and their attention factors differ" if factor else ""
        return Relation("different", f"their angles differ by up to {gap:.4g} radians{more}.")
    if first.layout != second.layout:
        return Relation(
            "permutation",
            "they turn by the same angles and pair the dimensions differently: the logits are "
            "equal after one permutation of q and k.",
        )
    return Relation("equal", "they turn by the same angles.")


def _remapped(first: RelativeRotation, second: RelativeRotation) -> Relation:
    distances = [np.asarray(one.relative_distance) for one in (first, second)]
    if distances[0].shape != distances[1].shape:
        return _sizes_differ("distances", distances[0], distances[1])
    return _plain(np.tril(distances[0]), np.tril(distances[1]), "distances seen")
