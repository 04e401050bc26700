"""Statistics of attention weights that were measured: (..., queries, keys), as a model gave them.

One code for NumPy and torch, but for what is said to be NumPy. Queries and keys are the same
tokens; query m sees the keys 0 … m, or all keys where a function says so. Every row sums to 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import ArrayLike

from posviz.measures.blocks import block_means
from posviz.parameters import ParameterError
from posviz.results import Array


def mean_by_distance(values: Array, distances: Sequence[int] | None = None) -> Array:
    """Mean of each diagonal, over the queries that have a key at that distance: (..., distances).

    ā(δ) = Σ_{m≥δ} a[m, m-δ] / (n - δ); of weights or of logits, as far as they are finite there.

    Parameters
    ----------
    values : (..., n, n).
    distances : query minus key; 0 … n-1 when left out, negative ones lie after the query.

    >>> mean_by_distance(np.asarray([[1.0, 0.0], [0.25, 0.75]]))
    array([0.875, 0.25 ])
    """
    xp, count = array_namespace(values), _side(values)
    wanted = range(count) if distances is None else distances
    if any(abs(one) >= count for one in wanted):
        raise ParameterError(f"observed attention: distances must lie within ±{count - 1} tokens.")
    return xp.stack([xp.mean(_diagonal(values, one), axis=-1) for one in wanted], axis=-1)


def entropy(weights: Array) -> Array:
    """-Σ_n a_mn ln a_mn, nats, with 0 ln 0 = 0: (..., queries)."""
    xp = array_namespace(weights)
    positive = weights > 0
    logarithm = xp.log(xp.where(positive, weights, xp.ones_like(weights)))
    return -xp.sum(weights * logarithm, axis=-1)


def received(weights: Array, *, is_causal: bool = True) -> Array:
    """Mean attention that a key gets, over the queries that see it: (..., keys)."""
    xp, count = array_namespace(weights), _side(weights)
    total = xp.sum(weights, axis=-2)
    if not is_causal:
        return total / count
    return total / xp.arange(count, 0, -1, dtype=weights.dtype, device=device(weights))


def first_share(weights: Array) -> Array:
    """Mean weight on the first token, over the queries after it: (...,).

    The first query is left out, which sees nothing else. Large: the head rests on the token as on a
    sink (Xiao et al., arXiv:2309.17453).
    """
    xp = array_namespace(weights)
    _at_least_two(weights)
    return xp.mean(weights[..., 1:, 0], axis=-1)


def without_first(weights: Array) -> Array:
    """Weights among the tokens after the first, each row summing to 1 again: (..., n-1, n-1).

    What a sink on the first token leaves, and what it would else blur at all distances. A row that
    gave the first token everything stays 0.
    """
    xp = array_namespace(weights)
    _at_least_two(weights)
    rest = weights[..., 1:, 1:]
    total = xp.sum(rest, axis=-1, keepdims=True)
    return rest / xp.where(total > 0, total, xp.ones_like(total))


def diagonal_share(weights: Array) -> Array:
    """Mean weight of a token on itself, over all queries but the first: (...,)."""
    xp = array_namespace(weights)
    _at_least_two(weights)
    return xp.mean(_diagonal(weights, 0)[..., 1:], axis=-1)


def neighbour_share(weights: Array, *, within: int = 1, is_causal: bool = False) -> Array:
    """Weight on keys at most ``within`` away, itself left out, meaned over the queries: (...,)."""
    xp, count = array_namespace(weights), _side(weights)
    _at_least_two(weights)
    total: Array = 0.0
    for distance in range(1, min(within, count - 1) + 1):
        total = total + xp.sum(_diagonal(weights, distance), axis=-1)
        if not is_causal:
            total = total + xp.sum(_diagonal(weights, -distance), axis=-1)
    return total / count


def mean_distance(weights: Array) -> Array:
    """Σ_n a_mn |m - n|, meaned over the queries: (...,), tokens."""
    xp, count = array_namespace(weights), _side(weights)
    places = xp.arange(count, dtype=weights.dtype, device=device(weights))
    gaps = xp.abs(places[:, None] - places[None, :])
    return xp.mean(xp.sum(weights * gaps, axis=-1), axis=-1)


def filled_entropy(weights: Array) -> Array:
    """Entropy over ln of the number of keys, meaned over all queries but the first: (...,).

    1 where every query spreads its attention evenly over all the keys up to its own.
    """
    xp, count = array_namespace(weights), _side(weights)
    _at_least_two(weights)
    keys = xp.arange(2, count + 1, dtype=weights.dtype, device=device(weights))
    return xp.mean(entropy(weights)[..., 1:] / xp.log(keys), axis=-1)


def row_change(weights: Array, others: Array) -> Array:
    """Σ_n |a'_mn - a_mn| / 2, meaned over the queries: (...,), from 0 (the same) to 1."""
    xp = array_namespace(weights, others)
    return xp.mean(xp.sum(xp.abs(others - weights), axis=-1), axis=-1) / 2


def expected_by_distance(logits: ArrayLike) -> np.ndarray:
    """Mean attention at each distance that logits z(δ) alone would make: (..., n), NumPy.

    Query m gives the key at distance δ the weight e^z(δ) / Σ_{δ'≤m} e^z(δ'); meaned over the
    queries m ≥ δ, as :func:`mean_by_distance` does for measured weights.

    Parameters
    ----------
    logits : (..., n) finite, at distances 0 … n-1, the same for every query.

    >>> expected_by_distance(np.zeros(2))
    array([0.75, 0.5 ])
    """
    z = np.asarray(logits, dtype=np.float64)
    log_sums = np.logaddexp.accumulate(z, axis=-1)
    later = np.flip(np.logaddexp.accumulate(np.flip(-log_sums, axis=-1), axis=-1), axis=-1)
    return np.asarray(np.exp(z + later) / np.arange(z.shape[-1], 0, -1))


def block_map(weights: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Means over square blocks of queries × keys, NumPy: (..., cells, cells); middles, (cells,)."""
    rows = block_means(weights, most, axis=-2)
    cells = block_means(rows.values, most, axis=-1)
    return cells.values, cells.middles


def _diagonal(values: Array, distance: int) -> Array:
    """a[m, m-δ] for every m that has one: (..., n - |δ|)."""
    return array_namespace(values).linalg.diagonal(values, offset=-distance)


def _side(values: Array) -> int:
    shape = tuple(values.shape)
    if len(shape) < 2 or shape[-1] != shape[-2] or not shape[-1]:
        raise ParameterError(
            "observed attention: weights must have the axes (…, queries, keys), as many keys as "
            f"queries; got {shape}."
        )
    return int(shape[-1])


def _at_least_two(values: Array) -> None:
    if _side(values) < 2:
        raise ParameterError("observed attention: there must be at least 2 tokens; got 1.")
