"""From which distance on the scores of two rotary encodings differ."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from posviz.encodings.rotary import RotaryEncoding
from posviz.measures.lengths import at_least, seen_distances
from posviz.measures.logit_factors import logit_gain
from posviz.measures.split_angle import Floats, cos_mean, cos_mean_at, direct_cos_mean
from posviz.parameters import ParameterError, sentence

_FIRST_BLOCK = 1 << 12
_LARGEST_BLOCK = 1 << 18
_MOST_TABLE_BYTES = 1 << 24
"""Of the two small tables behind a block, 64 bytes per pair and row."""
_DIRECT_AT_ONCE = 1 << 12


def first_difference(
    spec_a: RotaryEncoding,
    spec_b: RotaryEncoding,
    *,
    length: int,
    share: float = 0.01,
    with_gain: bool = True,
) -> int | None:
    """The first distance at which the scores of equal q and k differ by a share of A's at 0.

    The smallest whole δ in 0 … length-1 with \\|s_B(δ) - s_A(δ)\\| ≥ share · \\|s_A(0)\\|, where
    s(δ) = gain · mean over the pairs of cos(δ'·f_i), as in :func:`score_decay`: the query stands
    at position length-1, δ' is the distance that its rotation sees, and the gain is
    attention_factor² · softmax_factor · query_scale. The reference is A's score at distance 0,
    which is A's gain, and not its score at δ: that one goes through 0, where any change would be
    infinitely large. Each mean is over the encoding's own rotating dimensions, so the two may have
    different numbers of pairs.

    Curves are worked out in blocks by the split angle, within some 20 MB at any length, and
    every distance too close to the limit for that is summed directly: the distance is the one that
    two direct float64 sums give.

    Parameters
    ----------
    length : number of tokens that both run at.
    share : of A's score at distance 0; above 0.
    with_gain : False leaves all factors on the logits out and compares the mean cosines alone.

    Returns
    -------
    The distance in tokens, or None where there is none below ``length``.

    Raises
    ------
    ParameterError : a length below 1, or a share that is not a finite number above 0.

    Examples
    --------
    >>> from posviz import parse
    >>> first_difference(parse("rope?base=1000000"), parse("rope?base=10000"), length=16384)
    2
    """
    at_least("first difference", "length", length, 1)
    if not (math.isfinite(share) and share > 0):
        raise ParameterError(
            sentence("first difference", "share", "a finite number above 0", share)
        )
    curves = tuple(_Curve.of(spec, length, with_gain) for spec in (spec_a, spec_b))
    if curves[0].equals(curves[1]):
        return None
    limit = share * abs(curves[0].gain)
    largest = min(curve.largest_block for curve in curves)
    first, many = 0, min(_FIRST_BLOCK, largest)
    while first < length:
        distances = np.arange(first, min(first + many, length), dtype=np.float64)
        found = _first_in_block(curves[0], curves[1], distances, limit)
        if found is not None:
            return found
        first, many = first + distances.size, min(2 * many, largest)
    return None


@dataclass(frozen=True)
class _Curve:
    """Scores of one encoding at one length."""

    spec: RotaryEncoding
    length: int
    frequencies: Floats
    gain: float

    @classmethod
    def of(cls, spec: RotaryEncoding, length: int, with_gain: bool) -> _Curve:
        gain = logit_gain(spec, length) if with_gain else 1.0
        return cls(spec, length, np.asarray(spec.frequencies(length)), gain)

    def equals(self, other: _Curve) -> bool:
        """Whether both are one curve, which spares the search through millions of distances."""
        if self.spec.remaps_distance or other.spec.remaps_distance:
            return self.spec == other.spec
        same_turns = np.array_equal(self.frequencies, other.frequencies)
        return same_turns and self.gain == other.gain

    @property
    def largest_block(self) -> int:
        """Distances at once so that neither their scores nor the tables behind them grow large."""
        rows = _MOST_TABLE_BYTES // (64 * self.frequencies.size)
        return max(_FIRST_BLOCK, min(rows * rows, _LARGEST_BLOCK))

    def seen(self, distances: Floats) -> Floats:
        if not self.spec.remaps_distance:
            return distances
        return seen_distances(self.spec, self.length - 1.0, distances)

    def scores(self, distances: Floats) -> Floats:
        """At consecutive distances."""
        if self.spec.remaps_distance:
            return self.gain * cos_mean_at(self.seen(distances), self.frequencies)
        start = float(distances[0])
        return self.gain * cos_mean(self.frequencies, distances.size, start=start)

    def exact_scores(self, distances: Floats) -> Floats:
        return self.gain * direct_cos_mean(self.seen(distances), self.frequencies)

    def error(self, farthest: float) -> float:
        """Twice what :func:`cos_mean` promises: its own error, and that of the direct sum."""
        turned = farthest * float(np.mean(self.frequencies)) + self.frequencies.size + 10
        return abs(self.gain) * 2.0**-50 * turned


def _first_in_block(a: _Curve, b: _Curve, distances: Floats, limit: float) -> int | None:
    away = np.abs(b.scores(distances) - a.scores(distances))
    farthest = float(distances[-1])
    doubt = a.error(farthest) + b.error(farthest)
    possible: NDArray[np.intp] = np.flatnonzero(away >= limit - doubt)
    for first in range(0, possible.size, _DIRECT_AT_ONCE):
        near = distances[possible[first : first + _DIRECT_AT_ONCE]]
        differs = np.abs(b.exact_scores(near) - a.exact_scores(near)) >= limit
        if differs.any():
            return int(near[np.argmax(differs)])
    return None
