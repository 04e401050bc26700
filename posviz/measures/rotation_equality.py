"""Whether two rotations are the same thing in another form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from posviz.measures.likeness import CLOSE, Relation, largest_gap, not_comparable, refused
from posviz.results import RelativeRotation, RotaryResult, Rotation, ValueRotation, split_pairs

Close = Callable[[np.ndarray, np.ndarray], bool]


@dataclass(frozen=True)
class Turns:
    """What a rotation multiplies each pair with, as complex numbers: (positions, pairs).

    Dimensions that do not rotate are pairs with the factor 1.
    """

    queries: np.ndarray
    keys: np.ndarray
    values: np.ndarray

    @property
    def effect(self) -> np.ndarray:
        """What q·k and the output see of the factors: (3 · positions, pairs).

        A logit takes queries[m] times conj(keys[n]), so a factor on all queries and its inverse on
        all keys cancel; here they are divided out, by the first key.
        """
        first = self.keys[:1]
        return np.concatenate((self.queries * first.conj(), self.keys / first, self.values))


def turns(rotation: Rotation) -> Turns:
    """The factors of a rotation, found by rotating the first dimension of every pair."""
    size = rotation.rotary_dim
    ones = np.zeros((rotation.positions.shape[0], rotation.head_dim))
    split_pairs(ones, size, rotation.layout)[0][...] = 1
    still = np.ones((ones.shape[0], (rotation.head_dim - size) // 2), dtype=complex)

    def factors(vectors: np.ndarray) -> np.ndarray:
        first, second = split_pairs(vectors, size, rotation.layout)
        return np.concatenate((first + 1j * second, still), axis=1)

    turned = rotation.rotate(ones) if isinstance(rotation, ValueRotation) else ones
    return Turns(
        factors(rotation.rotate_queries(ones)),
        factors(rotation.rotate_keys(ones)),
        factors(turned),
    )


def same_columns(first: np.ndarray, second: np.ndarray, close: Close) -> bool:
    """Whether the columns of the one are those of the other in any order.

    Both are put in the order of one random mixture of their rows: equal columns have equal
    mixtures, and whether the columns agree is looked up afterwards, in full.
    """
    weights = np.random.default_rng(0).standard_normal(first.shape[0])
    known = [np.nan_to_num(np.asarray(one)) for one in (first, second)]
    orders = [np.argsort((weights @ one).real, kind="stable") for one in known]
    return close(
        *(np.asarray(one)[:, order] for one, order in zip((first, second), orders, strict=True))
    )


def rotary_relation(first: RotaryResult, second: RotaryResult) -> Relation:
    """The closest relation of two rotations, by what they do to logits and values."""
    counts = [(one.positions.shape[0], one.head_dim) for one in (first, second)]
    if counts[0] != counts[1]:
        words = " and ".join(f"{count} positions of {size} dimensions" for count, size in counts)
        return not_comparable(f"they have different sizes, {words}")
    if isinstance(first, Rotation) and isinstance(second, Rotation):
        found = _rotations(first, second)
    elif type(first) in _BY_DISTANCE and type(second) in _BY_DISTANCE:
        found = _remapped(first, second)
    else:
        return not_comparable("only one of them rotates queries and keys one by one")
    largest, close = largest_gap(_logit_factor(first), _logit_factor(second))
    if found.kind != "different" and not close:
        words = f"their factors on the logits differ by up to {largest:.4g}"
        return Relation("different", f"they turn alike, but {words}.")
    return found


_BY_DISTANCE = (Rotation, RelativeRotation)
"""Results whose logits depend on a distance at plain frequencies, and on nothing else."""


def _rotations(first: Rotation, second: Rotation) -> Relation:
    a, b = turns(first), turns(second)
    if _same_places(first, second) and _near(a.effect, b.effect):
        if _near(a.queries, b.queries) and _near(a.keys, b.keys):
            return Relation("equal", "they turn every pair alike at these positions.")
        return Relation("same logits", "they change q and k differently, and every q·k alike.")
    if same_columns(a.effect, b.effect, _near):
        return _permuted("they turn by the same angles at other dimensions")
    if not _near(a.values, b.values):
        return Relation("different", "they turn the values differently.")
    if first.angles.shape != second.angles.shape:
        return Relation("different", "they turn different numbers of pairs.")
    largest, close = largest_gap(first.angles, second.angles)
    if close:
        return Relation("different", "they turn by the same angles and scale pairs differently.")
    return Relation("different", f"their angles differ by up to {largest:.4g} radians.")


def _near(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether complex factors agree, each measured against its own size."""
    return bool((np.abs(a - b) <= CLOSE * np.maximum(np.abs(a), np.abs(b))).all())


def _same_places(first: RotaryResult, second: RotaryResult) -> bool:
    places = [(one.layout, one.rotary_dim) for one in (first, second)]
    return places[0] == places[1]


def _permuted(reason: str) -> Relation:
    tail = "their logits are equal after one permutation of q and k"
    return Relation("permutation", f"{reason}: {tail}.")


def _logit_factor(result: RotaryResult) -> np.ndarray:
    """(positions,) what the logits of a query are multiplied with."""
    scale = np.ones(result.positions.shape[0]) if result.query_scale is None else result.query_scale
    return np.asarray(scale) * result.softmax_factor


def _remapped(first: RotaryResult, second: RotaryResult) -> Relation:
    """Rotations by distance, looked at where all of them are defined: at and before the query."""
    if refusal := refused(first, second, "positions", (first.positions.shape,) * 2):
        return refusal
    if first.inv_freq.shape != second.inv_freq.shape:
        return Relation("different", "they turn different numbers of pairs.")
    largest, close = _distance_gap(first, second)
    if not close:
        words = f"the distances that they turn by differ by up to {largest:.6g} tokens"
        return Relation("different", f"{words}, for keys up to the query.")
    if not largest_gap(first.inv_freq, second.inv_freq)[1]:
        return Relation("different", "they turn by the same distances at other frequencies.")
    if not largest_gap(first.attention_factor, second.attention_factor)[1]:
        return Relation("different", "they turn alike, but their attention factors differ.")
    if not _same_places(first, second):
        return _permuted("they turn by the same distances at other dimensions")
    return Relation("equal", "they turn by the same distances, for keys up to the query.")


_ROWS = 256
"""Queries whose distances are compared at once: all of a long context would not fit in memory."""


def _distance_gap(first: RotaryResult, second: RotaryResult) -> tuple[float, bool]:
    """Largest difference in tokens of what queries see, and whether rounding explains it."""
    positions = np.asarray(first.positions)
    largest = size = 0.0
    for start in range(0, len(positions), _ROWS):
        rows = slice(start, start + _ROWS)
        plain = positions[rows, None] - positions[None, :]
        seen = plain >= 0
        a, b = (
            np.asarray(one.relative_distance[rows]) if isinstance(one, RelativeRotation) else plain
            for one in (first, second)
        )
        largest = max(largest, float(np.abs(a - b).max(where=seen, initial=0.0)))
        size = max(size, float(plain.max(initial=0.0)))
    return largest, largest <= CLOSE * size
