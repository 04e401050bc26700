"""The largest error of a rotary score over the distances, with one stage of it cast."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from typing import TypeAlias

import numpy as np

from posviz.measures.precision_verdict import Stage
from posviz.measures.rounding import FORMATS, rounded, rounded_off_ties
from posviz.measures.sampled_distances import LargestError, largest_size
from posviz.measures.split_angle import Floats, cos_mean, cos_mean_at, turned

_ErrorsOf: TypeAlias = Callable[[Floats, int, range, str], Floats]

COMPLETE = {"angles": 1 << 16, "tables": 1 << 17}
"""Up to these lengths the error is taken at all distances; the other stages always take all."""
_AT_EACH_END = 1 << 12
_BETWEEN = 1 << 15
_AT_ONCE = 1 << 16
# Parts of a table that stay in a cache.
_ROWS_AT_ONCE = 512
_RUN = 128


def largest_score_error(frequencies: Floats, length: int, stage: Stage, dtype: str) -> LargestError:
    """The largest error of the score of ``precision_lens`` between the last query and any key.

    With query and key at q and q-δ and R the rounding, the error at distance δ is the mean over
    pairs of:

    ========= ==================================================== ======================
    stage     error                                                complete
    ========= ==================================================== ======================
    positions cos((R(q) - R(q-δ))·f) - cos(δ·f)                    at any length
    inv_freq  cos(δ·R(f)) - cos(δ·f)                               at any length
    angles    cos(R(q·f) - R((q-δ)·f)) - cos(δ·f)                  up to 65,536 tokens
    tables    R(c)·R(c') + R(s)·R(s') - c·c' - s·s', where c, s    up to 131,072 tokens
              belong to the query and c', s' to the key
    ========= ==================================================== ======================

    Complete: taken at all distances 0 … length-1. Beyond, it is taken at the first 4,096 distances,
    at the last 4,096 and at up to 32,768 between, a prime number of tokens apart; the number given
    is then a lower bound of the largest.

    Own error: that of ``cos_mean``. In the stage "tables" c' + i·s' is a product of three numbers
    of size 1, off by some 2^-50 + 2^-52·q·f before it is cast: where that much decides between two
    neighbours of the format, either may be taken; both are equally far from the number cast.
    """
    if changes_nothing(length, stage, dtype):
        return LargestError(size=0.0, distance=0, measured=length)
    query = length - 1
    if overflows(frequencies, query, stage, dtype):
        return LargestError(size=math.inf, distance=0, measured=length)
    size, distance, measured = 0.0, 0, 0
    for block in _blocks(length, COMPLETE.get(stage, length)):
        at, largest = largest_size(_ERRORS[stage](frequencies, query, block, dtype))
        measured += len(block)
        if largest > size:
            size, distance = largest, block[at]
    return LargestError(size=size, distance=distance, measured=measured)


def changes_nothing(length: int, stage: Stage, dtype: str) -> bool:
    """Whether all numbers that are cast are numbers of the dtype, whatever the frequencies."""
    kept = FORMATS[dtype]
    whole = stage == "positions" and length - 1 <= min(2.0**kept.bits, kept.largest)
    return not kept.dropped_bits or whole


def overflows(frequencies: Floats, query: int, stage: Stage, dtype: str) -> bool:
    """Whether a number of the query becomes infinite: its score with any key is no number then.

    No number of a key is larger than the query's, so that otherwise all scores are numbers.
    """
    cast = {"positions": np.asarray(query), "inv_freq": frequencies, "angles": query * frequencies}
    return stage in cast and not np.isfinite(rounded(cast[stage], dtype)).all()


def _blocks(length: int, complete: int) -> Iterator[range]:
    """Distances: all, or the first, some of those between, and the last."""
    spans = [range(length)]
    if length > max(complete, 2 * _AT_EACH_END):
        between = range(_AT_EACH_END, length - _AT_EACH_END)
        stride = _prime(max(3, math.ceil(len(between) / _BETWEEN)))
        spans = [range(_AT_EACH_END), between[::stride], range(between.stop, length)]
    for span in spans:
        yield from (span[first : first + _AT_ONCE] for first in range(0, len(span), _AT_ONCE))


def _prime(least: int) -> int:
    return next(
        number
        for number in itertools.count(least)
        if all(number % factor for factor in range(2, math.isqrt(number) + 1))
    )


def _exact(frequencies: Floats, block: range) -> Floats:
    return cos_mean(frequencies, len(block), start=block.start, step=block.step)


def _of_positions(frequencies: Floats, query: int, block: range, dtype: str) -> Floats:
    """Keys that are cast to the same number share one score."""
    keys = query - np.asarray(block, dtype=np.float64)
    seen = rounded(float(query), dtype) - rounded(keys, dtype)
    first = np.flatnonzero(np.diff(seen, prepend=math.nan))
    scores = cos_mean_at(seen[first], frequencies)
    return np.repeat(scores, np.diff(first, append=seen.size)) - _exact(frequencies, block)


def _of_inv_freq(frequencies: Floats, _: int, block: range, dtype: str) -> Floats:
    return _exact(rounded(frequencies, dtype), block) - _exact(frequencies, block)


def _of_angles(frequencies: Floats, query: int, block: range, dtype: str) -> Floats:
    keys = query - np.asarray(block, dtype=np.float64)
    of_query = rounded(query * frequencies, dtype)
    scores = np.empty_like(keys)
    for first in range(0, keys.size, _ROWS_AT_ONCE):
        rows = slice(first, first + _ROWS_AT_ONCE)
        angles = rounded(keys[rows, None] * frequencies, dtype)
        np.subtract(of_query, angles, out=angles)
        np.mean(np.cos(angles, out=angles), axis=1, out=scores[rows])
    return scores - _exact(frequencies, block)


def _of_tables(frequencies: Floats, query: int, block: range, dtype: str) -> Floats:
    """cos and sin stand side by side in rows of 2·pairs numbers."""
    of_query = turned(frequencies, query, 0.0, 1).view(np.float64)[0]
    cast_query = rounded(of_query, dtype)
    runs = -(-len(block) // _RUN)
    coarse = turned(frequencies, query - block.start, -block.step * _RUN, runs)
    fine = turned(frequencies, 0.0, -block.step, _RUN)
    turned_keys = np.empty_like(fine)
    keys = turned_keys.view(np.float64)
    cast = np.empty((2, *keys.shape))
    errors = np.empty((runs, _RUN))
    for run in range(runs):
        np.multiply(coarse[run], fine, out=turned_keys)
        scores = _rows_times(rounded_off_ties(keys, dtype, out=cast), cast_query)
        np.subtract(scores, _rows_times(keys, of_query), out=errors[run])
    return errors.reshape(-1)[: len(block)] / frequencies.size


def _rows_times(table: Floats, row: Floats) -> Floats:
    # Not matmul: on a busy server BLAS's threads wait for each other longer than this takes.
    return np.asarray(np.einsum("ij,j->i", table, row))


_ERRORS: dict[Stage, _ErrorsOf] = {
    "positions": _of_positions,
    "inv_freq": _of_inv_freq,
    "angles": _of_angles,
    "tables": _of_tables,
}
