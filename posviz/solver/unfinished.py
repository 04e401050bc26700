"""Pairs that make less than one turn within a length, and the bases that have a given number."""

from __future__ import annotations

import math

import numpy as np

from posviz.encodings.ramps import turns
from posviz.encodings.sinusoids import wave_frequencies
from posviz.parameters import ParameterError, is_finite_number, sentence
from posviz.solver.given import checked_base, checked_length, checked_rotary_dim, plain_number

_OWNER = "unfinished pairs"


def unfinished_pairs(length: int, base: float, rotary_dim: int) -> int:
    """How many pairs have L·b^(-2i/d)/2π < 1; 18 of 64 for Llama 2.

    Raises
    ------
    ParameterError : a number that cannot be used.

    Examples
    --------
    >>> unfinished_pairs(4096, 10000, 128)
    18
    """
    size = checked_length(_OWNER, "length", length)
    b, d = checked_base(_OWNER, "base", base), checked_rotary_dim(_OWNER, rotary_dim)
    return int(np.count_nonzero(turns(wave_frequencies(d, b), size) < 1))


def bases_with_unfinished(count: int, length: int, rotary_dim: int) -> tuple[float, float]:
    """The bases (above the first, up to the second) that leave ``count`` pairs unfinished.

    Pair p = d/2 - count is the first unfinished one: L·b^(-2p/d) < 2π ≤ L·b^(-2(p-1)/d). The length
    must be above 2π, and count below d/2: the fastest pair does not depend on the base. A count of
    0 has no lower bound but 1, and d/2 - 1 no upper one.

    Raises
    ------
    ParameterError : a number that cannot be used, or for which there are no such bases.
    """
    d, size = checked_rotary_dim(_OWNER, rotary_dim), checked_length(_OWNER, "length", length)
    if size <= 2 * math.pi:
        allowed = "at least 7, since the fastest pair turns once in 2π tokens"
        raise ParameterError(sentence(_OWNER, "length", allowed, length))
    first = d // 2 - _checked_count(count, d)
    arc = size / (2 * math.pi)
    above = 1.0 if first == d // 2 else power_of(arc, d / (2 * first))
    return above, math.inf if first == 1 else power_of(arc, d / (2 * (first - 1)))


def _checked_count(count: int, rotary_dim: int) -> int:
    """A number of pairs that does not hold the fastest."""
    number, most = plain_number(count), rotary_dim // 2 - 1
    if not is_finite_number(number) or number != int(number) or not 0 <= number <= most:
        raise ParameterError(sentence(_OWNER, "count", f"a whole number from 0 to {most}", count))
    return int(number)


def power_of(number: float, exponent: float) -> float:
    """number^exponent, infinite where a float cannot hold it."""
    try:
        return float(number**exponent)
    except OverflowError:
        return math.inf
