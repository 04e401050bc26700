"""Curves over all distances of a context, as many points as a screen can show."""

from __future__ import annotations

import numpy as np

from posviz.measures import thin
from posviz.measures.split_angle import Floats

BUCKETS = 320
"""At most two points per bucket: as many as a panel has pixels."""


def thinned(
    values: Floats, *, within: tuple[float, float] | None = None, keep: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Distances and values of a curve that starts at distance 0, for a log axis from 1 on.

    Parameters
    ----------
    values : (distances,) one per token of distance.
    within : the range of distances that the reader looks at; finer points come in it, and the
        coarse ones stay around it.
    keep : a distance whose point stays, so that what is read there is its own value.
    """
    distances = np.arange(1, len(values), dtype=np.float64)
    x, y = thin(distances, values[1:], BUCKETS, log=True)
    if within is not None:
        first = max(1, min(len(values) - 1, int(np.floor(within[0])) - 1))
        end = min(len(values), int(np.ceil(within[1])) + 2)
        if end > first:
            part = np.arange(first, end, dtype=np.float64)
            fine_x, fine_y = thin(part, values[first:end], BUCKETS, log=True)
            outside = (x < first) | (x >= end)
            x, y = _joined(x[outside], y[outside], fine_x, fine_y)
    if keep is not None and 1 <= keep < len(values):
        x, y = _joined(x, y, np.array([float(keep)]), values[keep : keep + 1])
    return x.astype(np.int32), y


def _joined(
    x: np.ndarray, y: np.ndarray, more_x: np.ndarray, more_y: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Two sets of points as one, in order, each x once."""
    every, place = np.unique(np.concatenate((x, more_x)), return_index=True)
    return every, np.concatenate((y, more_y))[place]
