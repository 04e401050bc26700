"""What positions alone say of queries and keys, and what it depends on."""

from __future__ import annotations

import math

import numpy as np

from posviz.encodings.base import Encoding
from posviz.encodings.given_content import ContentEncoding
from posviz.measures.similarity import features
from posviz.measures.weight_rows import position_logits
from posviz.results import (
    Array,
    AttentionBias,
    AttentionMask,
    AttentionTerms,
    RelativeRotation,
    Result,
)

CLOSE = 1e-9
"""Share of the largest number up to which two numbers are taken as equal."""


def position_matrix(result: Result) -> np.ndarray | None:
    """What positions alone say of queries and keys: (heads, queries, keys), nothing masked."""
    found = features(result)
    if found is not None:
        return np.asarray(found.queries @ found.keys.T)[None]
    if isinstance(result, RelativeRotation):
        return np.asarray(result.relative_distance)[None]
    if isinstance(result, AttentionBias):
        return np.asarray(result.matrix)
    if isinstance(result, AttentionTerms):
        return np.asarray(result.logits)
    if isinstance(result, AttentionMask):
        return np.asarray(result.matrix)[None]
    return None


def nearly_equal(first: np.ndarray, second: np.ndarray) -> bool:
    """Whether two arrays are equal up to rounding, measured by the largest number of the first."""
    finite = np.abs(first[np.isfinite(first)])
    size = max(1.0, float(finite.max(initial=0.0)))
    return bool(np.allclose(first, second, rtol=CLOSE, atol=CLOSE * size))


def constant_by_distance(spec: Encoding, positions: Array) -> bool:
    """Whether all pairs of positions at one distance have one number, in every head."""
    matrix = position_matrix(with_tokens_alike(spec, positions))
    assert matrix is not None
    at = np.asarray(positions, dtype=float)
    _, which = np.unique(at[:, None] - at[None, :], return_inverse=True)
    place = np.ravel(which)
    flat = np.where(np.isfinite(matrix), matrix, 0.0).reshape(len(matrix), -1)
    of_distance = np.zeros((len(matrix), int(place.max()) + 1))
    of_distance[:, place] = flat
    return nearly_equal(of_distance[:, place], flat)


def with_tokens_alike(spec: Encoding, positions: Array) -> Result:
    """The result where no token differs from another, so that only positions are left."""
    if not isinstance(spec, ContentEncoding):
        return spec.encode(positions)
    one = np.random.default_rng(0).standard_normal((2, spec.heads, 1, spec.head_dim))
    queries, keys = np.repeat(one, len(positions), axis=2)
    return spec.encode(positions, queries=queries, keys=keys)


def change_when_moved(spec: Encoding, positions: Array, shift: int) -> float:
    """Largest change of what positions say, as a share of its largest number."""
    matrices = [position_matrix(spec.encode(one)) for one in (positions, positions + shift)]
    here, moved = (one for one in matrices if one is not None)
    if here.shape != moved.shape or not np.array_equal(np.isfinite(here), np.isfinite(moved)):
        return math.inf
    seen = np.isfinite(here)
    size = max(1.0, float(np.abs(here[seen]).max(initial=0.0)))
    return float(np.abs(here[seen] - moved[seen]).max(initial=0.0)) / size


def last_rows(result: Result) -> np.ndarray | None:
    """The last query against all keys, in every head: (heads, keys)."""
    found = features(result)
    last = int(result.positions.shape[0]) - 1
    if found is not None:
        return np.asarray(found.queries[last:] @ found.keys.T)
    if isinstance(result, AttentionBias):
        rows = [
            position_logits(result, head, slice(last, last + 1)) for head in range(result.heads)
        ]
        return np.concatenate([row for row in rows if row is not None])
    return None
