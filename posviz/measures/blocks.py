"""Means over blocks, so that a matrix of any size becomes a picture of a few hundred cells."""

from __future__ import annotations

from collections.abc import Callable
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
    starts, sizes, block = _blocks(values.shape[axis], most)
    shape = [1] * values.ndim
    shape[axis] = len(sizes)
    sums = np.add.reduceat(values, starts, axis=axis)
    return BlockMeans(sums / sizes.reshape(shape), starts + (sizes - 1) / 2, block)


def banded_block_means(rows: Callable[[slice], np.ndarray], count: int, most: int) -> BlockMeans:
    """Means over square blocks of a matrix that is given a few rows at a time, never whole.

    NaN entries do not count; a block of nothing else is NaN. The middles serve both axes.

    Parameters
    ----------
    rows : gives the rows of a slice, (rows, count).
    count : rows, and columns, of the matrix.
    most : blocks along an axis, at most.
    """
    starts, sizes, block = _blocks(count, most)
    values = np.empty((len(starts), len(starts)))
    for place, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        found = rows(slice(start, start + size))
        counted = ~np.isnan(found)
        sums = np.add.reduceat(np.where(counted, found, 0).sum(axis=0), starts)
        values[place] = _mean(sums, np.add.reduceat(counted.sum(axis=0), starts))
    return BlockMeans(values, starts + (sizes - 1) / 2, block)


def toeplitz_block_means(by_distance: np.ndarray, most: int) -> BlockMeans:
    """Means over square blocks of the matrix f[m - n], from its 2·count - 1 numbers alone.

    A band of rows is a moving sum of f, turned round; no matrix of count × count is formed. NaN
    entries do not count; a block of nothing else is NaN. The middles serve both axes.

    Parameters
    ----------
    by_distance : (2·count - 1,) f at row - column = -(count-1) … count-1.
    most : blocks along an axis, at most.

    >>> toeplitz_block_means(np.array([9.0, 1.0, 0.0, 1.0, 2.0]), 2).values
    array([[0.5, 5. ],
           [1.5, 0. ]])
    """
    count = (len(by_distance) + 1) // 2
    starts, sizes, block = _blocks(count, most)
    counted = ~np.isnan(by_distance)
    filled = np.where(counted, by_distance, 0)
    moving = {
        size: [np.convolve(one, np.ones(size), "valid") for one in (filled, counted)]
        for size in {int(size) for size in sizes}
    }
    values = np.empty((len(starts), len(starts)))
    for place, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        sums, counts = (
            np.add.reduceat(one[start : start + count][::-1], starts) for one in moving[int(size)]
        )
        values[place] = _mean(sums, counts)
    return BlockMeans(values, starts + (sizes - 1) / 2, block)


def _blocks(count: int, most: int) -> tuple[np.ndarray, np.ndarray, int]:
    """First index and number of entries of every block, and the number of a full one."""
    block = max(1, -(-count // most))
    starts = np.arange(0, count, block)
    return starts, np.diff(np.append(starts, count)), block


def _mean(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
