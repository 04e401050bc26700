"""The score of equal q and k against their distance, and where it first turns negative."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from posviz.encodings.rotary import RotaryEncoding
from posviz.measures.lengths import at_least, seen_distances
from posviz.measures.logit_factors import logit_gain
from posviz.measures.split_angle import Floats, cos_mean, cos_mean_at, direct_cos_mean
from posviz.results import frozen

_FIRST_SEARCH = 1 << 14


@dataclass(frozen=True, kw_only=True)
class ScoreDecay:
    """Score of equal q and k, all dimensions alike, seen from the last position.

    Attributes
    ----------
    distances : (distances,) tokens, 0 … count-1, query minus key as the text counts them.
    scores : (distances,) gain · mean over pairs of cos(d'·f_i), where d' is the distance that the
        rotation sees; unscaled RoPE starts at exactly 1.
    gain : attention_factor² · softmax_factor · query_scale of the last position.
    first_negative : the first distance whose mean cosine is negative, or None.
    """

    distances: Floats
    scores: Floats
    gain: float
    first_negative: int | None


@dataclass(frozen=True, kw_only=True)
class ShortRangeCost:
    """What a method changes among neighbours.

    Attributes
    ----------
    distances : (distances,) tokens, 1 … max_distance, as far as the length has them.
    change : (distances,) score minus the score of the same model without any extension.
    """

    distances: Floats
    change: Floats


def score_decay(spec: RotaryEncoding, *, length: int, count: int | None = None) -> ScoreDecay:
    """Score against distance for a query at position length-1 and a key at length-1-distance.

    Parameters
    ----------
    length : number of tokens that the model runs at.
    count : how many distances, from 0 on; all ``length`` of them when left out.

    Raises
    ------
    ParameterError : a length below 1, or a count outside 1 … length.

    Examples
    --------
    >>> from posviz import parse
    >>> score_decay(parse("rope?base=10000"), length=4096).first_negative
    1707
    """
    at_least("score decay", "length", length, 1)
    count = length if count is None else at_least("score decay", "count", count, 1, length)
    distances = np.arange(count, dtype=np.float64)
    scores = _mean_cosine(spec, length, distances)
    first = _first_below_zero(scores)
    gain = logit_gain(spec, length)
    scores *= gain
    return ScoreDecay(
        distances=frozen(distances), scores=frozen(scores), gain=gain, first_negative=first
    )


def _mean_cosine(spec: RotaryEncoding, length: int, distances: Floats) -> Floats:
    frequencies = spec.frequencies(length)
    if not spec.remaps_distance:
        return cos_mean(frequencies, distances.size)
    return cos_mean_at(seen_distances(spec, length - 1.0, distances), frequencies)


def _first_below_zero(curve: Floats) -> int | None:
    negative = curve < 0
    first = int(np.argmax(negative))
    return first if negative[first] else None


def short_range_cost(
    spec: RotaryEncoding, *, length: int, max_distance: int = 64
) -> ShortRangeCost:
    """Change of the score at distances 1 … max_distance against the same model unextended.

    Unextended means the spec's own trained frequencies, distances as they are, and no factor.
    """
    at_least("short-range cost", "max_distance", max_distance, 1)
    decay = score_decay(spec, length=length, count=min(max_distance + 1, length))
    distances = decay.distances[1:]
    change = decay.scores[1:] - direct_cos_mean(distances, spec.trained_frequencies())
    return ShortRangeCost(distances=distances, change=frozen(change))


def first_negative(inv_freq: ArrayLike, *, limit: int = 1 << 24) -> int | None:
    """First whole distance below ``limit`` with Σ cos(d·f_i) < 0, or None.

    The criterion of Men et al., arXiv:2405.14591: 1707 for 64 pairs of base 10000.
    """
    at_least("first negative distance", "limit", limit, 1)
    first, many = 0, _FIRST_SEARCH
    while first < limit:
        curve = cos_mean(inv_freq, min(many, limit - first), start=float(first))
        found = _first_below_zero(curve)
        if found is not None:
            return first + found
        first, many = first + curve.size, 2 * many
    return None
