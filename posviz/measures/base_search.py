"""Which bases of RoPE keep the score of equal q and k from turning negative within a length."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posviz.encodings.sinusoids import wave_frequencies
from posviz.measures.decay import first_negative
from posviz.measures.lengths import at_least
from posviz.measures.split_angle import Floats, cos_mean, direct_cos_mean
from posviz.parameters import ParameterError, sentence
from posviz.results import frozen

_REMEMBERED = 64
"""Distances at which earlier bases failed; a direct sum over these costs less than any curve."""


@dataclass(frozen=True, kw_only=True)
class BaseSearch:
    """Which bases of a scan pass the criterion of Men et al. within a length.

    Passing is not monotone: a larger base can fail again, so the bases that pass form islands.

    Attributes
    ----------
    length : tokens.
    bases : (bases,) evenly spaced in their logarithm, without unit.
    first_negative : (bases,) tokens; the first distance with a negative mean cosine, NaN where
        there is none below ``length``.
    valid : (bases,) whether there is none.
    islands : first and last base of each run of valid bases. Both are bases of the scan: the true
        edges lie up to one step outside, and a gap or an island between two bases is not seen.
    """

    length: int
    bases: Floats
    first_negative: Floats
    valid: NDArray[np.bool_]
    islands: tuple[tuple[float, float], ...]

    @property
    def step(self) -> float:
        """Ratio of two neighbouring bases, the resolution of the scan; 1 for a single base."""
        return float(self.bases[1] / self.bases[0]) if self.bases.size > 1 else 1.0


def valid_bases(
    length: int, *, head_dim: int, low: float, high: float, count: int = 400
) -> BaseSearch:
    """For each base b: is Σ_i cos(d·b^(-2i/D)) ≥ 0 at every whole distance d < length.

    D is ``head_dim`` and i = 0 … D/2-1. The criterion of Men et al., arXiv:2405.14591: at no
    distance may a key like the query get less attention, on average, than an unrelated one. For
    D = 128, base 10000 first fails at distance 1707, and base 12000 already at 1554.

    Parameters
    ----------
    length : tokens.
    head_dim : rotated dimensions; even.
    low, high : smallest and largest base; above 1.
    count : number of bases, both ends included.

    Returns
    -------
    BaseSearch, all arrays (bases,).

    Raises
    ------
    ParameterError : a length below 1, an odd head_dim, a base not above 1, or high below low.

    Examples
    --------
    >>> search = valid_bases(1024, head_dim=128, low=4000, high=7000, count=200)
    >>> [(round(first), round(last)) for first, last in search.islands]
    [(4303, 4328), (5606, 5637), (6031, 7000)]
    """
    bases = _scanned("valid bases", length, head_dim, low, high, count)
    found = [first_negative(wave_frequencies(head_dim, base), limit=length) for base in bases]
    first = np.asarray([math.nan if at is None else at for at in found], dtype=np.float64)
    valid = np.isnan(first)
    return BaseSearch(
        length=length,
        bases=frozen(bases),
        first_negative=frozen(first),
        valid=frozen(valid),
        islands=_islands(bases, valid),
    )


def smallest_valid_base(
    length: int,
    *,
    head_dim: int,
    low: float | None = None,
    high: float | None = None,
    count: int = 4096,
    precision: float = 1e-6,
) -> float | None:
    """Lower edge of the first island of valid bases that a scan from ``low`` upwards meets.

    It answers only "from which base on can the criterion hold", since larger bases can fail again:
    :func:`valid_bases` lists the islands. An island narrower than the step of the scan, a ratio of
    (high/low)^(1/(count-1)), can be passed over, so that the result is an upper bound of the true
    infimum. The edge of the island that was met is found by bisection.

    Su, kexue.fm 10122, prints 4.3e3, 1.2e4, 2.7e4, 8.4e4, 2.3e5, 6.3e5, 2.1e6, 4.9e6 for D = 128
    and 1k, 2k, … 128k, where k is 1024: at length 1000 the edge is 4.2e3, at 1024 it is 4.3e3. The
    default scan finds these; the 2.4e7 that he prints for 256k is an island so narrow that it
    takes a step below 1.0001.

    Parameters
    ----------
    length : tokens.
    head_dim : rotated dimensions; even.
    low, high : bases between which to look; ``length`` and 1000·``length`` when left out. Su looks
        up to there too: with D = 128 that base passes for every length of his up to a million.
    count : number of bases in the scan.
    precision : relative width to which the edge is narrowed.

    Returns
    -------
    The smallest base found to pass, ``low`` itself where that one passes, None where none does.

    Raises
    ------
    ParameterError : as :func:`valid_bases`, or a precision outside 1e-12 … 1.
    """
    at_least("smallest valid base", "length", length, 1)
    if not 1e-12 <= precision <= 1:
        allowed = "a number of at least 1e-12 and at most 1"
        raise ParameterError(sentence("smallest valid base", "precision", allowed, precision))
    low = max(float(length), 2.0) if low is None else low
    high = max(1000.0 * length, low) if high is None else high
    bases = _scanned("smallest valid base", length, head_dim, low, high, count)
    index = _first_that_passes(bases, length, head_dim)
    if index is None or index == 0:
        return None if index is None else float(bases[0])
    fails, passes = float(bases[index - 1]), float(bases[index])
    while passes > fails * (1 + precision):
        middle = math.sqrt(fails * passes)
        if first_negative(wave_frequencies(head_dim, middle), limit=length) is None:
            passes = middle
        else:
            fails = middle
    return passes


def fitted_lower_bound(length: float) -> float:
    """0.0424 · length^1.628: the line through the lower bounds that Men et al. found.

    arXiv:2405.14591, figure of base against context length, D = 128; length in tokens. Their eleven
    bounds, for 1024 to 1024·1024 tokens, lie between 0.67 and 1.9 times this line.

    Raises
    ------
    ParameterError : a length that is not above 0.
    """
    if not (math.isfinite(length) and length > 0):
        allowed = "a finite number above 0"
        raise ParameterError(sentence("fitted lower bound", "length", allowed, length))
    return float(0.0424 * length**1.628)


def _first_that_passes(bases: Iterable[float], length: int, head_dim: int) -> int | None:
    """A base is first tried where others failed worst: neighbours fail at the same distances."""
    failed: list[int] = []
    for index, base in enumerate(bases):
        inv_freq = wave_frequencies(head_dim, base)
        if failed and direct_cos_mean(failed[-_REMEMBERED:], inv_freq).min() < 0:
            continue
        curve = cos_mean(inv_freq, length)
        worst = int(np.argmin(curve))
        if not curve[worst] < 0:
            return index
        failed.append(worst)
    return None


def _scanned(owner: str, length: int, head_dim: int, low: float, high: float, count: int) -> Floats:
    at_least(owner, "length", length, 1)
    at_least(owner, "count", count, 1)
    if at_least(owner, "head_dim", head_dim, 2) % 2:
        raise ParameterError(sentence(owner, "head_dim", "an even whole number", head_dim))
    if not (math.isfinite(low) and low > 1):
        raise ParameterError(sentence(owner, "low", "a finite number above 1", low))
    if not (math.isfinite(high) and high >= low):
        raise ParameterError(sentence(owner, "high", f"a finite number of at least {low}", high))
    return np.geomspace(low, high, count)


def _islands(bases: Floats, valid: NDArray[np.bool_]) -> tuple[tuple[float, float], ...]:
    """First and last base of every run of valid ones."""
    edges = np.diff(np.concatenate(([False], valid, [False])).astype(np.int8))
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1
    return tuple(
        (float(bases[first]), float(bases[last])) for first, last in zip(starts, ends, strict=True)
    )
