"""Receptive field of stacked layers: how far back the output of layer 1, 2, … looks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import fft

from posviz.encodings.base import Encoding
from posviz.measures.content import Content
from posviz.measures.contexts import MOST, weight_profile
from posviz.measures.lengths import at_least
from posviz.measures.split_angle import Floats
from posviz.parameters import ParameterError, sentence
from posviz.results import frozen

LONGEST_SUPPORT = 1 << 22
"""Distances that stacked layers may span here, after :data:`LEFT_OUT` is cut off: 32 layers over
131,072 tokens. The transforms then need some 200 MB."""
LEFT_OUT = 1e-12
"""Share of one layer's weight that is cut off at its far end."""
_OWNER = "receptive field"
_TIE = 1e-12


@dataclass(frozen=True, kw_only=True)
class ReceptiveField:
    """How far stacked layers look; every array is (counts,), one number per number of layers.

    Attributes
    ----------
    layers : how many layers are stacked.
    reach : how many of the nearest keys hold 99 % of the weight, tokens.
    half_reach : how many of the nearest keys hold half of it, tokens.
    mean_distance : Σ δ·w(δ), tokens.
    farthest : tokens that have any weight, the query's own included: as
        :attr:`posviz.results.AttentionMask.reach`, but never beyond the profile of one layer.
    """

    layers: Floats
    reach: Floats
    half_reach: Floats
    mean_distance: Floats
    farthest: Floats


def stacked_weights(weights: ArrayLike, layers: int) -> Floats:
    """w * w * … * w, ``layers`` times: how the weight of that many equal layers lies by distance.

    Each layer mixes what the layer below has mixed; without anything between them, and far from the
    start of the context, the shares of distances convolve (Chi et al. 2022, arXiv:2212.10356,
    receptive field). By one Fourier transform: ŵ to the power of the number of layers.

    Accuracy: with N the number of distances that come out and u = 2^-53, no value is farther than
    8·(layers + 1)·log2(2N)·u·√(Σw²) from the exact one. What is smaller than that is nothing but
    rounding and is given as 0, so no weight is negative. Memory: some 48 bytes per distance.

    Parameters
    ----------
    weights : (distances,) shares of one layer, none negative, at distance 0, 1, …; they sum to 1.
    layers : at least 1.

    Returns
    -------
    (layers · (distances - 1) + 1,) shares, nearest key first.

    Raises
    ------
    ParameterError : weights that are no such row; more than :data:`LONGEST_SUPPORT` distances.

    Examples
    --------
    >>> stacked_weights([0.5, 0.5], 2)
    array([0.25, 0.5 , 0.25])
    """
    at_least(_OWNER, "layers", layers, 1)
    one = _shares(weights)
    count = layers * (one.size - 1) + 1
    if count > LONGEST_SUPPORT:
        raise ParameterError(
            f"{_OWNER}: layers and distances must span at most {LONGEST_SUPPORT} distances; got "
            f"layers {layers} over {one.size} distances."
        )
    if layers == 1:
        only: Floats = frozen(one.copy())
        return only
    size = fft.next_fast_len(count, real=True)
    stacked: Floats = fft.irfft(fft.rfft(one, size) ** layers, size)[:count]
    noise = stacking_noise(one, layers)
    kept: Floats = frozen(np.where(stacked > noise, stacked, 0.0))
    return kept


def stacking_noise(weights: Floats, layers: int) -> float:
    """The bound on the rounding of :func:`stacked_weights`, as it is written there.

    A transform of N numbers is off by at most some 7·log2(N)·u in the Euclidean norm (Higham,
    Accuracy and Stability of Numerical Algorithms, theorem 24.2); no |ŵ| is above 1, so the power
    makes ``layers`` times that of it, and the way back adds as much as the way there.
    """
    count = layers * (weights.size - 1) + 1
    norm = float(np.linalg.norm(weights))
    return 8 * (layers + 1) * math.log2(2 * count) * 2.0**-53 * norm


def receptive_field(
    spec: Encoding,
    length: int,
    *,
    layers: Sequence[int],
    content: Content | None = None,
    head: int = 0,
) -> ReceptiveField:
    """Reach, mean distance and farthest key of stacked layers that all mix with the same weights.

    The weights are those of the last query of one context of ``length`` tokens
    (:func:`posviz.measures.weight_profile`); every other query is taken to have the same, which
    holds far from the start of the context. Less than 1e-12 of them is cut off at the far end, for
    the sums but neither for the mean nor for the farthest key.

    Parameters
    ----------
    layers : numbers of layers, each at least 1.
    content, head : as in :func:`posviz.measures.context_curves`.

    Raises
    ------
    ParameterError : a number of layers below 1, or one that spans more than
        :data:`LONGEST_SUPPORT` distances; an encoding without a row.
    """
    counts = [at_least(_OWNER, "layers", one, 1) for one in layers]
    profile = weight_profile(spec, length, content=content, head=head)
    seen = int(np.isfinite(profile.logits).sum())
    mean = float(profile.weights @ np.arange(float(length)))
    one = _cut(profile.weights[:seen])
    reached = [_reached(stacked_weights(one, count)) for count in counts]
    table = np.asarray(reached, dtype=np.float64).reshape(len(counts), 2)
    stacked = np.asarray(counts, dtype=np.float64)
    return ReceptiveField(
        layers=frozen(stacked),
        reach=frozen(table[:, 0].copy()),
        half_reach=frozen(table[:, 1].copy()),
        mean_distance=frozen(mean * stacked),
        farthest=frozen((seen - 1) * stacked + 1),
    )


def _shares(weights: ArrayLike) -> Floats:
    one = np.asarray(weights, dtype=np.float64)
    if one.ndim != 1 or not one.size or not bool((one >= 0).all()):
        raise ParameterError(f"{_OWNER}: weights must be one row of numbers of at least 0.")
    total = float(one.sum())
    if not abs(total - 1) <= 1e-9:
        raise ParameterError(sentence(_OWNER, "weights", "shares that sum to 1", total))
    return one


def _cut(weights: Floats) -> Floats:
    """Without the far keys that hold less than :data:`LEFT_OUT` of the weight together."""
    left = np.cumsum(weights[::-1])[::-1]
    return weights[: max(1, int((left >= LEFT_OUT).sum()))]


def _reached(stacked: Floats) -> tuple[int, int]:
    """How many of the nearest keys hold 99 % and half of the weight."""
    held = np.cumsum(stacked)
    held /= held[-1]
    most, half = np.searchsorted(held, [MOST - _TIE, 0.5 - _TIE])
    return int(most) + 1, int(half) + 1
