"""How many positions, or angles of a pair, a cast keeps apart."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from posviz.measures.lengths import at_least
from posviz.measures.rounding import FORMATS, checked_dtype, rounded, spacing
from posviz.parameters import ParameterError, sentence

_AT_ONCE = 1 << 16


@dataclass(frozen=True, kw_only=True)
class DistinctPositions:
    """How many of the positions 0 … length-1 a cast keeps apart.

    Attributes
    ----------
    length : number of positions.
    dtype : what they were cast to.
    kept : how many different numbers are left, an infinity among them.
    first_merged : the first position that gets the number of the position before it, or None.
    gap : tokens between neighbouring different numbers at the last position, at least 1; infinite
        where that position overflows.
    overflowed : how many positions become infinite.
    """

    length: int
    dtype: str
    kept: int
    first_merged: int | None
    gap: float
    overflowed: int


def distinct_positions(length: int, dtype: str) -> DistinctPositions:
    """How many of 0 … length-1 stay different after a cast; closed form.

    With p bits of significand (8, 11, 24, 53) all whole numbers up to 2^p stay, and every
    2^(e-p+1)-th between 2^e and 2^(e+1): those that are numbers of the dtype. One more is left
    where the last position rounds up to a number that is no position, or to infinity.

    Raises
    ------
    ParameterError : a length below 1, or another dtype.

    Examples
    --------
    >>> distinct_positions(4096, "bfloat16").kept
    769
    """
    at_least("distinct positions", "length", length, 1)
    bits = FORMATS[checked_dtype("distinct positions", dtype)].bits
    last = length - 1
    at_end = float(rounded(float(last), dtype))
    overflowed = length - int(FORMATS[dtype].overflow) if math.isinf(at_end) else 0
    finite = min(last, int(FORMATS[dtype].largest))
    kept = _representable(finite, bits) + (at_end > last)
    return DistinctPositions(
        length=length,
        dtype=dtype,
        kept=kept,
        first_merged=(1 << bits) + 1 if last > 1 << bits else None,
        gap=math.inf if math.isinf(at_end) else max(1.0, spacing(float(finite), dtype)),
        overflowed=overflowed,
    )


def _representable(last: int, bits: int) -> int:
    """How many whole numbers 0 … last have at most so many bits of significand."""
    if last < 1 << bits:
        return last + 1
    doublings = last.bit_length() - 1 - bits
    below = (1 << bits) + (doublings << (bits - 1))
    return below + (last - (1 << bits + doublings) >> doublings + 1) + 1


def distinct_multiples(step: float, length: int, dtype: str) -> DistinctPositions:
    """The same for the multiples 0, step, 2·step, … after a cast of the product, by counting.

    With step = an inverse frequency these are the angles of one pair: where neighbours merge, the
    pair no longer tells the two positions apart. ``gap`` is still in tokens.

    Raises
    ------
    ParameterError : a length below 1, another dtype, or a step that is not finite and positive.
    """
    at_least("distinct multiples", "length", length, 1)
    checked_dtype("distinct multiples", dtype)
    if not 0 < step < math.inf:
        raise ParameterError(
            sentence("distinct multiples", "step", "a finite number above 0", step)
        )
    last = min((length - 1) * step, FORMATS[dtype].largest)
    # From the first infinity on, all are infinite.
    finite = math.ceil(min(float(length), FORMATS[dtype].overflow / step))
    merged = max(0, length - finite - 1)
    first_merged = finite + 1 if merged else None
    earlier, found = _merged(step, finite, dtype)
    return DistinctPositions(
        length=length,
        dtype=dtype,
        kept=length - merged - earlier,
        first_merged=first_merged if found is None else found,
        gap=math.inf if finite < length else max(1.0, spacing(last, dtype) / step),
        overflowed=length - finite,
    )


def _merged(step: float, length: int, dtype: str) -> tuple[int, int | None]:
    """How many multiples are cast to the number of the one before, and the first that is."""
    merged, found = 0, None
    for first in range(0, length - 1, _AT_ONCE):
        until = min(first + _AT_ONCE, length - 1)
        cast = rounded(step * np.arange(first, until + 1, dtype=np.float64), dtype)
        same = np.flatnonzero(cast[1:] == cast[:-1])
        merged += same.size
        if found is None and same.size:
            found = first + int(same[0]) + 1
    return merged, found
