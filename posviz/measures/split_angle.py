"""The mean cosine over all pairs at many distances, as a matrix product of two small tables.

The direct sum costs one cosine per distance and pair. Here a distance is written as
``block·B + offset``, and cos(a + b) = cos a · cos b - sin a · sin b turns the whole curve into
``[cos a, -sin a] @ [cos b; sin b]``, with about √count rows in each table. Offsets are counted from
the middle of a block, where the two halves of the product serve both sides.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from posviz.parameters import ParameterError

Floats: TypeAlias = NDArray[np.float64]
Turned: TypeAlias = NDArray[np.complex128]

_FEW_COSINES = 1 << 13
"""Up to here the direct sum is as fast as two tables and a product."""
_MOST_RUNS = 64
_MOST_TABLES = 3
_PRODUCT_AT_ONCE = 1 << 18
"""Multiplications in one matrix product. Up to this size OpenBLAS stays on one thread; on a busy
server its threads wait for each other many times longer than the product takes. The two halves of
the product also stay in a cache until they are joined."""
_ROWS_AT_ONCE = 4096
"""Rows of the direct sum at once: 2 MB for 64 pairs, so that it stays in a cache."""


def cos_mean(inv_freq: ArrayLike, count: int, *, start: float = 0.0, step: float = 1.0) -> Floats:
    """mean over i of cos((start + step·n)·f_i) for n = 0 … count-1, by the split angle.

    Accuracy: with D = the largest |start + step·n| and P pairs, each value is within
    2^-51 · (D · mean f + P + 10) of the exact one (the angle's rounding, then the sum's); the
    direct float64 sum has the same first term. For 64 pairs of base 10000 that is below 1.1e-10 at
    2^20 and 4.2e-10 at 2^22. Memory beyond the result: about 64 · P · √count bytes.

    Parameters
    ----------
    inv_freq : (pairs,) radians per token; 0 counts as cos 0 = 1.
    count : number of distances, at least 0.
    start, step : the distances are start, start + step, …; tokens, of any sign, whole or not.

    Returns
    -------
    (count,) mean cosine, without unit.
    """
    frequencies = _frequencies(inv_freq)
    if count * frequencies.size <= _FEW_COSINES:
        return direct_cos_mean(start + step * np.arange(count), frequencies)
    half = 1 << (max(math.ceil(math.log2(count)), 1) - 1) // 2
    blocks = -(-count // (2 * half))
    centre = turned(frequencies, start + step * (half - 0.5), 2 * half * step, blocks)
    offset = turned(frequencies, step / 2, step, half)
    curve = _product(centre / frequencies.size, offset).reshape(-1)[:count]
    # Summed directly, so that a curve from distance 0 starts at exactly 1.
    curve[0] = direct_cos_mean([start], frequencies)[0]
    return curve


def _product(centre: Turned, offset: Turned) -> Floats:
    """Real part of centre · offset before and after each block's centre: (blocks, 2·half).

    Offsets are half-integers, ±½, ±1½, …: cos a · cos b serves both signs, and sin a · sin b both
    with opposite sign, which halves the product.
    """
    centre_cos, centre_sin = centre.real.copy(), centre.imag.copy()
    offset_cos, offset_sin = offset.real.copy().T, offset.imag.copy().T
    blocks, half = centre.shape[0], offset.shape[0]
    at_once = min(blocks, max(1, _PRODUCT_AT_ONCE // offset.size))
    curve = np.empty((blocks, 2 * half))
    even, odd = np.empty((2, at_once, half))
    for first in range(0, blocks, at_once):
        rows = slice(first, first + at_once)
        part = curve[rows]
        cos_cos = np.matmul(centre_cos[rows], offset_cos, out=even[: len(part)])
        sin_sin = np.matmul(centre_sin[rows], offset_sin, out=odd[: len(part)])
        np.add(cos_cos, sin_sin, out=part[:, half - 1 :: -1])
        np.subtract(cos_cos, sin_sin, out=part[:, half:])
    return curve


def turned(frequencies: Floats, start: float, step: float, count: int) -> Turned:
    """e^(i·(start + step·n)·f): (count, pairs); the same split once more, by complex products."""
    inner = math.isqrt(count)
    outer = -(-count // inner)
    coarse = _unit((start + step * inner * np.arange(outer))[:, None] * frequencies)
    fine = _unit((step * np.arange(inner))[:, None] * frequencies)
    return (coarse[:, None, :] * fine).reshape(-1, frequencies.size)[:count]


def _unit(angles: Floats) -> Turned:
    unit = np.empty(angles.shape, dtype=np.complex128)
    np.cos(angles, out=unit.real)
    np.sin(angles, out=unit.imag)
    return unit


def cos_mean_at(distances: ArrayLike, inv_freq: ArrayLike) -> Floats:
    """mean over i of cos(d·f_i) for any distances d, as fast as their pattern allows.

    Distances that are whole steps of one token from the lowest one, over a span not much wider than
    their number (clamps, staircases, chunks), are looked up in one :func:`cos_mean`, and so are
    those with one or two other fractions; distances made of few evenly spaced runs are one
    :func:`cos_mean` per run; all others are summed directly.

    Parameters
    ----------
    distances : (count,) tokens, in any order, of any sign.
    inv_freq : (pairs,) radians per token.

    Returns
    -------
    (count,) mean cosine, without unit.
    """
    at = np.asarray(distances, dtype=np.float64)
    frequencies = _frequencies(inv_freq)
    if at.size * frequencies.size <= _FEW_COSINES:
        return direct_cos_mean(at, frequencies)
    rounding = 4 * np.finfo(np.float64).eps * _largest(at)
    looked_up = _from_tables(at, frequencies, rounding)
    if looked_up is not None:
        return looked_up
    starts = _run_starts(at, rounding)
    if starts is None:
        return direct_cos_mean(at, frequencies)
    return np.concatenate(
        [
            cos_mean(frequencies, run.size, start=float(run[0]), step=_step(run))
            for run in np.split(at, starts[1:])
        ]
    )


def _from_tables(at: Floats, frequencies: Floats, rounding: float) -> Floats | None:
    """One table for the distances that are whole steps from the lowest, one more for those left."""
    # A look at a few distances spares the work where it is bound to fail.
    sample = at[:: 1 + at.size // 64] % 1.0
    if np.unique(np.round(sample, 6)).size > 1 + _MOST_TABLES:
        return None
    mean = np.empty_like(at)
    left: slice | NDArray[np.intp] = slice(None)
    for _ in range(_MOST_TABLES):
        values = at[left]
        lowest = float(values.min())
        above = values - lowest
        index = np.rint(above)
        span = float(index.max())
        if span > 2 * at.size:
            return None
        fits = np.abs(np.subtract(above, index, out=above), out=above) <= rounding
        table = cos_mean(frequencies, int(span) + 1, start=lowest)
        # Distances that do not fit get a value too, and a better one from their own table.
        mean[left] = table[index.astype(np.intp)]
        if fits.all():
            return mean
        left = np.arange(at.size)[left][~fits]
    return None


def _largest(values: Floats) -> float:
    """Largest size, without one more temporary."""
    return max(float(values.max()), -float(values.min()))


def _run_starts(at: Floats, rounding: float) -> NDArray[np.intp] | None:
    """First index of every evenly spaced run, or None where the runs are too many or bend."""
    steps = at[1:] - at[:-1]
    bends = np.flatnonzero(np.abs(steps[1:] - steps[:-1]) > rounding)
    if bends.size >= _MOST_RUNS:
        return None
    starts = np.concatenate((np.zeros(1, dtype=np.intp), bends + 2))
    for run in np.split(at, starts[1:]):
        away = np.arange(run.size, dtype=np.float64)
        away *= _step(run)
        away -= run
        away += run[0]
        if _largest(away) > 4 * rounding:
            return None
    return starts


def _step(run: Floats) -> float:
    return float(run[-1] - run[0]) / (run.size - 1) if run.size > 1 else 0.0


def direct_cos_mean(distances: ArrayLike, inv_freq: ArrayLike) -> Floats:
    """mean over i of cos(d·f_i), term by term: what the fast forms above are checked against."""
    at = np.asarray(distances, dtype=np.float64)
    frequencies = _frequencies(inv_freq)
    mean = np.empty(at.shape)
    for first in range(0, at.size, _ROWS_AT_ONCE):
        rows = slice(first, first + _ROWS_AT_ONCE)
        np.mean(np.cos(at[rows, None] * frequencies), axis=1, out=mean[rows])
    return mean


def _frequencies(inv_freq: ArrayLike) -> Floats:
    frequencies = np.asarray(inv_freq, dtype=np.float64)
    if frequencies.ndim != 1 or not frequencies.size:
        raise ParameterError(
            "mean cosine: inv_freq must be one row with at least one frequency; "
            f"got the shape {frequencies.shape}."
        )
    return frequencies
