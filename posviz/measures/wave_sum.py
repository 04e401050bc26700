"""Sums of waves at many evenly spaced distances, each wave with a size, a phase and a decay.

The general form of :mod:`posviz.measures.split_angle`, on any array namespace: with a distance
written as block + offset, e^((λ + i·f)·(block + offset)) is a product of two small tables.
"""

from __future__ import annotations

import math
from typing import Any

from array_api_compat import array_namespace

from posviz.measures.lengths import at_least
from posviz.parameters import ParameterError
from posviz.results import Array, device_of

_PRODUCT_AT_ONCE = 1 << 18
"""Multiplications in one matrix product: above this, OpenBLAS starts threads, which wait for each
other longer than the product takes."""
_LARGEST_BLOCK = 512
"""Offsets in a table: beyond it, a product of that size would have too few rows to be quick."""


def wave_sum(
    inv_freq: Array,
    count: int,
    *,
    start: float = 0.0,
    log_kept: Array | None = None,
    amplitude: tuple[Array, Array] | None = None,
) -> Array:
    """Σ_i Re(a_i · e^((λ_i + i·f_i)·δ)) for δ = start, start + 1, … : (count,).

    Accuracy: with D the largest |δ|, A the sum of |a_i| and u half the spacing of the dtype at 1,
    each value is within 4·u·A·(D·(f̄ + |λ|̄) + pairs + 10) of the exact one, f̄ and |λ|̄ being means
    weighted with |a_i|: the rounding of the angle, of the exponent, then of the sum. At negative δ,
    where a decaying wave grows, times the largest e^(λ_i·δ). A wave that keeps less than 1e10 times
    the smallest normal number of the dtype counts as 0. Memory beyond the result: some
    48 · pairs · (512 + count / 512) bytes in float64.

    Parameters
    ----------
    inv_freq : (pairs,) f, radians per token.
    count : number of distances, at least 0.
    log_kept : (pairs,) λ, at most 0; left out for 0.
    amplitude : real and imaginary part of a, (pairs,) each; left out for 1.

    Raises
    ------
    ParameterError : a count below 0, or no row of frequencies.
    """
    at_least("wave sum", "count", count, 0)
    if inv_freq.ndim != 1 or not inv_freq.shape[0]:
        raise ParameterError(
            "wave sum: inv_freq must be one row with at least one frequency; got the shape "
            f"{tuple(inv_freq.shape)}."
        )
    xp, device = array_namespace(inv_freq), device_of(inv_freq)
    if count == 0:
        return xp.zeros(0, dtype=inv_freq.dtype, device=device)
    block = min(_LARGEST_BLOCK, 1 << math.ceil(math.log2(max(2, count)) / 2))
    blocks = -(-count // block)

    def places(number: int, step: float, first: float) -> Array:
        counted = xp.arange(number, dtype=inv_freq.dtype, device=device)
        return (first + step * counted)[:, None]

    offset = _turned(places(block, 1.0, 0.0), inv_freq, log_kept, xp)
    centre = _turned(places(blocks, float(block), start), inv_freq, log_kept, xp)
    real, imaginary = centre if amplitude is None else _product(centre, amplitude)
    left = xp.concat((real, -imaginary), axis=1)
    right = xp.matrix_transpose(xp.concat(offset, axis=1))
    rows = max(1, _PRODUCT_AT_ONCE // (right.shape[0] * right.shape[1]))
    parts = [
        xp.reshape(xp.matmul(left[first : first + rows], right), (-1,))
        for first in range(0, blocks, rows)
    ]
    return (parts[0] if len(parts) == 1 else xp.concat(parts))[:count]


def waves_at(
    distances: Array,
    inv_freq: Array,
    log_kept: Array | None = None,
    amplitude: tuple[Array, Array] | None = None,
) -> Array:
    """The same sum at any distances, wave by wave: (distances,). For a few thousand of them."""
    xp = array_namespace(inv_freq)
    real, imaginary = _turned(distances[:, None], inv_freq, log_kept, xp)
    if amplitude is not None:
        real, _ = _product((real, imaginary), amplitude)
    return xp.sum(real, axis=1)


def _turned(places: Array, inv_freq: Array, log_kept: Array | None, xp: Any) -> tuple[Array, Array]:
    """Real and imaginary part of e^((λ + i·f)·δ): (places, pairs) each."""
    angles = places * inv_freq
    real, imaginary = xp.cos(angles), xp.sin(angles)
    if log_kept is None:
        return real, imaginary
    kept = xp.exp(places * log_kept)
    # Numbers at the end of the range take a processor many times as long as 0 does.
    least = xp.finfo(kept.dtype).smallest_normal * 1e10
    kept = xp.where(kept > least, kept, xp.zeros_like(kept))
    return real * kept, imaginary * kept


def _product(first: tuple[Array, Array], second: tuple[Array, Array]) -> tuple[Array, Array]:
    """Product of two complex numbers given as parts."""
    (a, b), (c, d) = first, second
    return a * c - b * d, a * d + b * c
