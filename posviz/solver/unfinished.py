"""Pairs that make less than one turn within a length, and the bases that have a given number."""

from __future__ import annotations

import math

import numpy as np

from posviz.encodings.ramps import turns
from posviz.encodings.sinusoids import wave_frequencies


def unfinished_pairs(length: int, base: float, rotary_dim: int) -> int:
    """How many pairs have L·b^(-2i/d)/2π < 1; 18 of 64 for Llama 2.

    Examples
    --------
    >>> unfinished_pairs(4096, 10000, 128)
    18
    """
    return int(np.count_nonzero(turns(wave_frequencies(rotary_dim, base), length) < 1))


def bases_with_unfinished(count: int, length: int, rotary_dim: int) -> tuple[float, float]:
    """The bases (above the first, up to the second) that leave ``count`` pairs unfinished.

    Pair p = d/2 - count is the first unfinished one: L·b^(-2p/d) < 2π ≤ L·b^(-2(p-1)/d). The length
    must be above 2π, and count below d/2: the fastest pair does not depend on the base. A count of
    0 has no lower bound but 1, and d/2 - 1 no upper one.
    """
    first = rotary_dim // 2 - count
    arc = length / (2 * math.pi)
    above = 1.0 if count == 0 else power_of(arc, rotary_dim / (2 * first))
    return above, math.inf if first == 1 else power_of(arc, rotary_dim / (2 * (first - 1)))


def power_of(number: float, exponent: float) -> float:
    """number^exponent, infinite where a float cannot hold it."""
    try:
        return float(number**exponent)
    except OverflowError:
        return math.inf
