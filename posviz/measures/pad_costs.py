"""Both costs of the cost pad for many specs at once, and which of them are Pareto-optimal."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from posviz.encodings.ramps import turns
from posviz.encodings.rotary import RotaryEncoding
from posviz.measures.lengths import BEYOND
from posviz.measures.split_angle import Floats, direct_cos_mean

SHORT_RANGE = 64
"""The distances 1 … 64 that count as short range, as in short_range_cost."""
_CELLS_AT_ONCE = 32
"""Rows of the recurrence at once, so that they stay in a cache."""


def both_costs(
    specs: Sequence[RotaryEncoding],
    length: int,
    trained_length: int,
    reference: RotaryEncoding | None = None,
) -> tuple[Floats, Floats, Floats]:
    """change, unseen and beyond of every spec, as in PointCosts: (specs,) each."""
    inv_freq = np.stack([np.asarray(spec.frequencies(length)) for spec in specs])
    if reference is None:
        trained = np.stack([np.asarray(spec.trained_frequencies()) for spec in specs])
    else:
        trained = np.asarray(reference.trained_frequencies())[None, :]
    return (
        _change(inv_freq, trained, min(SHORT_RANGE, length - 1)),
        *_beyond_trained(inv_freq, trained, length, trained_length),
    )


def _change(inv_freq: Floats, trained: Floats, count: int) -> Floats:
    """Mean over distances 1 … count of |mean cosine - trained mean cosine|: (specs,).

    A factor on the scores is left out. It is the same at every distance and does not depend on the
    frequencies, while a lower curve times a factor can look like no change at all.
    """
    distances = np.arange(1.0, count + 1)
    # Most specs share one trained ladder with their neighbours.
    ladders, place = np.unique(trained, axis=0, return_inverse=True)
    unscaled = np.stack([direct_cos_mean(distances, ladder) for ladder in ladders])
    changes = np.abs(_cos_means(inv_freq, count) - unscaled[place.ravel()])
    return np.asarray(changes.mean(axis=1))


def _cos_means(inv_freq: Floats, count: int) -> Floats:
    """mean over pairs of cos(d·f) for d = 1 … count and many ladders: (ladders, count).

    By cos((d+1)f) = 2 cos f · cos(df) - cos((d-1)f); its rounding grows with d and stays below
    1e-12 for the few distances of the short range.
    """
    means = np.empty((len(inv_freq), count))
    for first in range(0, len(inv_freq), _CELLS_AT_ONCE):
        rows = slice(first, first + _CELLS_AT_ONCE)
        once = np.cos(inv_freq[rows])
        cosines = np.empty((count + 1, *once.shape))
        cosines[0], cosines[1], twice = 1.0, once, 2 * once
        for distance in range(2, count + 1):
            np.multiply(twice, cosines[distance - 1], out=cosines[distance])
            cosines[distance] -= cosines[distance - 2]
        means[rows] = cosines[1:].mean(axis=2).T
    return means


def _beyond_trained(
    inv_freq: Floats, trained: Floats, length: int, trained_length: int
) -> tuple[Floats, Floats]:
    """The mean unseen arc in turns, and how many pairs have one: (specs,) each."""
    before, reached = turns(trained, trained_length), turns(inv_freq, length)
    is_beyond = (before > 0) & (before < 1) & (reached > before * (1 + BEYOND))
    arc = np.where(is_beyond, np.minimum(reached, 1.0) - before, 0.0)
    return arc.mean(axis=1), np.count_nonzero(is_beyond, axis=1).astype(float)


def pareto_front(first: Floats, second: Floats) -> NDArray[np.bool_]:
    """True where no other cell is at most as high in both costs and lower in one; NaN never is.

    Cells with equal costs are on the front together.
    """
    costs = np.stack([first.ravel(), second.ravel()])
    kept = np.flatnonzero(np.isfinite(costs).all(axis=0))
    pairs, place = np.unique(costs[:, kept], axis=1, return_inverse=True)
    # Sorted by the first cost, then the second: a pair is beaten by any before it that is as low.
    lowest = np.minimum.accumulate(np.r_[np.inf, pairs[1]])[:-1]
    front = np.zeros(first.size, dtype=bool)
    front[kept] = (pairs[1] < lowest)[place.ravel()]
    return front.reshape(first.shape)
