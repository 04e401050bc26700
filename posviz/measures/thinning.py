"""Fewer points for drawing, without losing a peak: the lowest and the highest of every bucket."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posviz.measures.split_angle import Floats
from posviz.parameters import ParameterError, sentence
from posviz.results import frozen

Indices: TypeAlias = NDArray[np.intp]


def thin(x: ArrayLike, y: ArrayLike, buckets: int, log: bool) -> tuple[Floats, Floats]:
    """The points of a curve that a drawing of ``buckets`` columns can show.

    The range of x is cut into buckets of equal width, on a log axis of equal ratio (points with
    x ≤ 0, which have no place there, share one bucket more). Of each bucket the lowest and the
    highest point stay, at their true x and in their order; a bucket of one or two points stays
    whole; so do the first and the last point of all.

    Where y is NaN or infinite a drawing has a gap. Such points count neither as lowest nor as
    highest; the first of each bucket stays, so that the gap stays.

    Parameters
    ----------
    x : (points,) finite, never decreasing.
    y : (points,) values.

    Returns
    -------
    x, y : (kept,) each.

    Raises
    ------
    ParameterError : rows of different length, x out of order or not finite, no bucket.
    """
    across, up = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    _check(across, up, buckets)
    if across.size <= 2:
        return frozen(across.copy()), frozen(up.copy())
    starts = _starts(across, buckets, log)
    ends = np.append(starts[1:], across.size)
    keep = np.zeros(across.size, dtype=bool)
    keep[[0, -1]] = True
    keep[starts[ends - starts <= 2]] = True
    keep[ends[ends - starts <= 2] - 1] = True
    _mark_extremes(up, starts, ends, keep)
    kept = keep.nonzero()[0]
    return frozen(across[kept]), frozen(up[kept])


def _check(x: Floats, y: Floats, buckets: int) -> None:
    if buckets < 1:
        raise ParameterError(
            sentence("thinning", "buckets", "a whole number of at least 1", buckets)
        )
    if x.ndim != 1 or x.shape != y.shape:
        raise ParameterError(
            f"thinning: x and y must be two rows of equal length; got {x.shape} and {y.shape}."
        )
    if x.size and not (np.isfinite(x[[0, -1]]).all() and (x[1:] >= x[:-1]).all()):
        raise ParameterError("thinning: x must be finite and never decrease.")


def _starts(x: Floats, buckets: int, log: bool) -> Indices:
    """Index of the first point of every bucket that has one."""
    first = int(np.searchsorted(x, 0.0, side="right")) if log else 0
    starts = np.zeros(1, dtype=np.intp)
    if first < x.size:
        space = np.geomspace if log else np.linspace
        edges = space(x[first], x[-1], buckets + 1)[1:-1]
        inner = np.searchsorted(x, edges, side="left")
        starts = np.concatenate((starts, [first], inner))
    starts = starts[starts < x.size]
    return _distinct(starts)


def _distinct(ordered: Indices) -> Indices:
    """Each value once; np.unique, which cannot know of the order, takes ten times as long."""
    once: Indices = ordered[np.append(True, ordered[1:] != ordered[:-1])]
    return once


def _mark_extremes(y: Floats, starts: Indices, ends: Indices, keep: NDArray[np.bool_]) -> None:
    low = high = y
    lowest, highest = np.minimum.reduceat(y, starts), np.maximum.reduceat(y, starts)
    # A bucket with a NaN or an infinity has one for its lowest or its highest.
    if not (np.isfinite(lowest).all() and np.isfinite(highest).all()):
        finite = np.isfinite(y)
        low, high = np.where(finite, y, np.inf), np.where(finite, y, -np.inf)
        lowest, highest = np.minimum.reduceat(low, starts), np.maximum.reduceat(high, starts)
        gaps = np.flatnonzero(~finite)
        first = np.append(gaps, y.size)[np.searchsorted(gaps, starts)]
        keep[first[first < ends]] = True
    sizes = ends - starts
    for values, extremes in ((low, lowest), (high, highest)):
        hits = (values == np.repeat(extremes, sizes)).nonzero()[0]
        keep[hits[np.searchsorted(hits, starts)]] = True
