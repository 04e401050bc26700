"""Why positions between the trained ones are safe and those beyond are not: the bounds of PI.

Notation of Chen et al., arXiv:2306.15595: the score of one query and key at distance s is
a(s) = Re Σ_j h_j · e^(i·s·f_j), where h_j is the complex product of their j-th pairs and f_j the
frequency. D is the number of rotated dimensions, D/2 the number of pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from array_api_compat import device as device_of

from posviz.measures.granularity import frequency_row
from posviz.measures.lengths import at_least
from posviz.parameters import ParameterError, sentence
from posviz.results import Array, frozen

_ANGLES_AT_ONCE = 1 << 18
"""Angles in memory at once: 2 MB, whatever the number of distances."""


def interpolation_bound(
    inv_freq: Any, *, largest_h: float = 1.0, between: float = 0.5, grid: float = 1.0
) -> float:
    """max|h| · Σ_j f_j² · t(1-t)·g²/2 ≥ |a(s) - a_lin(s)|, for any h and any s = s₁ + t·g.

    a_lin is the straight line between the scores at two trained positions s₁ and s₁ + g. It follows
    from |a''| ≤ Σ_j |h_j|·f_j², inequality 12 in appendix A of Chen et al., arXiv:2306.15595.

    Their theorem 2.1 goes on to bound Σ f_j² = (1 - b⁻²)/(1 - b^(-4/D)) by D/(4 ln b), from
    c^x ≤ 1 + x·ln c for x < 0 (their inequality 14). c^x is convex, so that the opposite holds:
    the sum is larger, by about 1/2 for every base in use. For D = 128 and b = 10000 it is 3.9983
    against their 3.4744. The printed bound, :func:`printed_interpolation_bound`, is therefore no
    bound: :func:`largest_interpolation_error` is above it for heads of up to 1024 dimensions.

    Parameters
    ----------
    inv_freq : (pairs,) radians per token; NumPy, torch or plain numbers.
    largest_h : max_j |h_j|.
    between : t, where s lies between the two: 0 … 1. The bound is largest in the middle.
    grid : g, tokens between two trained positions.

    Returns
    -------
    In the unit of the score; 0 at both ends.

    Raises
    ------
    ParameterError : between outside 0 … 1, a grid or a largest_h that is below 0 or not finite,
        inv_freq that is not one row with at least one frequency.
    """
    spread = _spread("interpolation bound", largest_h, between, grid)
    frequencies = frequency_row("interpolation bound", inv_freq)
    xp = array_namespace(frequencies)
    return float(xp.sum(frequencies**2)) * spread


def printed_interpolation_bound(
    head_dim: int,
    base: float,
    *,
    largest_h: float = 1.0,
    between: float = 0.5,
    grid: float = 1.0,
) -> float:
    """D · max|h| · (s - s₁)(s₂ - s) / (8 ln b): theorem 2.1 of Chen et al. as it is printed.

    In the middle of a unit interval D·max|h| / (32 ln b), hence the D·max|h| / 294.73 of
    arXiv:2306.15595 for b = 10000, and the "about 600 times" = 2·294.73 = 589.46 by which it is
    below 2·D·max|h|, their bound outside. It is too small by the factor
    Σ f_j² · 4 ln b / D (1.151 for D = 128, b = 10000; 512 times instead of 589), and scores exceed
    it; :func:`interpolation_bound` has the reason and the bound that holds.

    Parameters
    ----------
    head_dim : D; even.
    base : b; above 1.
    largest_h, between, grid : as in :func:`interpolation_bound`.

    Raises
    ------
    ParameterError : an odd head_dim, a base not above 1, or as :func:`interpolation_bound`.
    """
    owner = "printed interpolation bound"
    if at_least(owner, "head_dim", head_dim, 2) % 2:
        raise ParameterError(sentence(owner, "head_dim", "an even whole number", head_dim))
    if not (math.isfinite(base) and base > 1):
        raise ParameterError(sentence(owner, "base", "a finite number above 1", base))
    return head_dim / (4 * math.log(base)) * _spread(owner, largest_h, between, grid)


def largest_interpolation_error(
    inv_freq: Any, *, largest_h: float = 1.0, between: float = 0.5, grid: float = 1.0
) -> float:
    """max|h| · Σ_j |e^(i·t·g·f_j) - (1-t) - t·e^(i·g·f_j)|: what |a(s) - a_lin(s)| can reach.

    The pairs add up where every h_j has the phase that turns its term to the real axis, so this is
    the smallest bound there is for a given max|h|; in the middle, max|h| · Σ_j (1 - cos(g·f_j/2)).
    For D = 128 and b = 10000 it is 0.4939 on a grid of one token: below the 0.4998 of
    :func:`interpolation_bound`, above the 128/294.73 = 0.4343 that Chen et al. print.

    Parameters, returned value and errors are those of :func:`interpolation_bound`.
    """
    owner = "interpolation error"
    _spread(owner, largest_h, between, grid)
    frequencies = frequency_row(owner, inv_freq)
    xp = array_namespace(frequencies)
    ahead, behind = (1 - between) * grid * frequencies, between * grid * frequencies
    # Seen from s itself, so that no 1 cancels: (1-t)(1 - e^(-i·behind)) + t(1 - e^(i·ahead)).
    real = (1 - between) * xp.sin(behind / 2) ** 2 + between * xp.sin(ahead / 2) ** 2
    imaginary = (1 - between) * xp.sin(behind) - between * xp.sin(ahead)
    return largest_h * float(xp.sum(xp.sqrt(4 * real**2 + imaginary**2)))


def extrapolation_bound(distances: Any, inv_freq: Any, *, largest_h: float = 1.0) -> Array:
    """2 · max|h| · B(s) ≥ |a(s)|, where B(s) = Σ_k |A_k(s)| and A_k is the sum of k terms.

    A_k(s) = Σ_(j<k) e^(i·s·f_j), k = 1 … D/2. Section 2.3 and appendix B of Chen et al.,
    arXiv:2306.15595, from summation by parts; B(0)/D = 16.25 for D = 128. The same B is behind the
    relative bound of RoFormer: :func:`~posviz.measures.bounds.decay_bound` is B(s)/(D/2).

    It bounds less than |a(s)| ≤ max|h|·D/2, which needs no B at all, at every distance: from
    |A_k| + |A_(k-1)| ≥ |A_k - A_(k-1)| = 1 follows B(s) ≥ D/4.

    Parameters
    ----------
    distances : (distances,) tokens, of any sign, whole or not.
    inv_freq : (pairs,) radians per token; NumPy, torch or plain numbers.
    largest_h : max_j |h_j|.

    Returns
    -------
    (distances,) in the unit of the score, of the kind of inv_freq. Memory beyond it is bounded:
    distances are worked through in blocks.

    Raises
    ------
    ParameterError : a largest_h that is below 0 or not finite, distances or inv_freq that are not
        one row.
    """
    owner = "extrapolation bound"
    _not_negative(owner, "largest_h", largest_h)

    def partial_sums(angles: Array) -> Array:
        xp = array_namespace(angles)
        real, imaginary = (
            xp.cumulative_sum(part, axis=1) for part in (xp.cos(angles), xp.sin(angles))
        )
        return 2 * largest_h * xp.sum(xp.sqrt(real**2 + imaginary**2), axis=1)

    return _by_angles(owner, distances, frequency_row(owner, inv_freq), partial_sums)


@dataclass(frozen=True, kw_only=True)
class FittedScores:
    """A score function fitted to one value at each trained distance, and what it gives elsewhere.

    Attributes
    ----------
    inside : (values,) the fit at the distances 0 … values-1.
    scores : (distances,) the fit at the distances that were asked for.
    directions : how many directions of the 2·pairs coefficients the values determine.
    """

    inside: Array
    scores: Array
    directions: int


def fitted_scores(
    inv_freq: Any, values: Any, distances: Any, *, cutoff: float = 1e-8
) -> FittedScores:
    """The a(s) nearest to given values at s = 0, 1, …, seen at other distances.

    Least squares over the real and imaginary parts of h, the one of least norm. With 64 pairs of
    base 10000 and 2048 random values the fit stays within about ±1 there, and between 2048 and 4095
    it is more than a thousand times larger: figure 2 of Chen et al., arXiv:2306.15595, whose curve
    passes 8000. The slow pairs barely turn within the values, so that huge coefficients cancel
    each other there and nowhere else.

    Parameters
    ----------
    inv_freq : (pairs,) radians per token; NumPy, torch or plain numbers.
    values : (values,) what to fit at distance 0, 1, …; in the unit of the score.
    distances : (distances,) tokens, of any sign, whole or not.
    cutoff : singular values of the features below this share of the largest count as 0. The size
        outside depends on it: with 64 pairs and 2048 values about 1e5 at 1e-8, 1e3 at 1e-6 and a
        few units at 1e-3. √ε ≈ 1e-8 is as far as the normal equations see, which the code of the
        paper solves; the smaller the cutoff, the more of the outside is rounding noise.

    Raises
    ------
    ParameterError : a cutoff outside 0 … 1, no value at all, or values, distances or inv_freq that
        are not one row.
    """
    owner = "fitted scores"
    if not 0 <= cutoff <= 1:
        raise ParameterError(
            sentence(owner, "cutoff", "a number of at least 0 and at most 1", cutoff)
        )
    frequencies = frequency_row(owner, inv_freq)
    xp = array_namespace(frequencies)
    target = _row(owner, "values", values, frequencies)
    at_least(owner, "number of values", target.shape[0], 1)
    trained = xp.arange(target.shape[0], dtype=xp.float64, device=device_of(frequencies))
    features = _features(trained[:, None] * frequencies)
    left, sizes, right = xp.linalg.svd(features, full_matrices=False)
    kept = int(xp.sum(xp.astype(sizes > cutoff * sizes[0], xp.int64)))
    coefficients = (xp.matmul(target, left[:, :kept]) / sizes[:kept]) @ right[:kept, :]
    scores = _by_angles(
        owner, distances, frequencies, lambda angles: xp.matmul(_features(angles), coefficients)
    )
    inside = frozen(xp.matmul(features, coefficients))
    return FittedScores(inside=inside, scores=scores, directions=kept)


def _features(angles: Array) -> Array:
    xp = array_namespace(angles)
    return xp.concat((xp.sin(angles), xp.cos(angles)), axis=1)


def _by_angles(
    owner: str, distances: Any, frequencies: Array, value: Callable[[Array], Array]
) -> Array:
    """(distances,) of what ``value`` makes of the angles (distances, pairs), block by block."""
    xp = array_namespace(frequencies)
    at = _row(owner, "distances", distances, frequencies)
    rows = max(1, _ANGLES_AT_ONCE // frequencies.shape[0])
    parts = [
        value(at[first : first + rows, None] * frequencies) for first in range(0, at.shape[0], rows)
    ]
    return frozen(xp.concat(parts) if parts else at)


def _row(owner: str, name: str, values: Any, like: Array) -> Array:
    xp = array_namespace(like)
    if not hasattr(values, "dtype"):
        values = np.asarray(values, dtype=np.float64)
    row = xp.asarray(values, dtype=xp.float64, device=device_of(like), copy=True)
    if row.ndim != 1:
        raise ParameterError(f"{owner}: {name} must be one row; got the shape {tuple(row.shape)}.")
    return row


def _spread(owner: str, largest_h: float, between: float, grid: float) -> float:
    """max|h| · t(1-t) · g² / 2, of the largest |a''| for max|h| = 1."""
    _not_negative(owner, "largest_h", largest_h)
    _not_negative(owner, "grid", grid)
    if not 0 <= between <= 1:
        allowed = "a number of at least 0 and at most 1"
        raise ParameterError(sentence(owner, "between", allowed, between))
    return largest_h * between * (1 - between) * grid**2 / 2


def _not_negative(owner: str, name: str, value: float) -> None:
    if not (math.isfinite(value) and value >= 0):
        raise ParameterError(sentence(owner, name, "a finite number of at least 0", value))
