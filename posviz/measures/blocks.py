"""Means over blocks, so that a matrix of any size becomes a picture of a few hundred cells."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class BlockMeans:
    """Means over blocks of neighbouring entries along one axis.

    Attributes
    ----------
    values : the array with that axis shortened to the number of blocks.
    middles : (blocks,) middle of each block, in indices of the axis.
    block : entries per block; the last one may have fewer.
    """

    values: np.ndarray
    middles: np.ndarray
    block: int


def block_means(values: np.ndarray, most: int, *, axis: int) -> BlockMeans:
    """Means over the smallest equal blocks that leave at most ``most`` of them.

    >>> block_means(np.arange(6.0), 3, axis=0).values
    array([0.5, 2.5, 4.5])
    """
    count = values.shape[axis]
    block = max(1, -(-count // most))
    starts = np.arange(0, count, block)
    sizes = np.diff(np.append(starts, count))
    shape = [1] * values.ndim
    shape[axis] = len(sizes)
    sums = np.add.reduceat(values, starts, axis=axis)
    return BlockMeans(sums / sizes.reshape(shape), starts + (sizes - 1) / 2, block)
