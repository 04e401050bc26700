"""How the score falls with distance: three questions with three answers, which are often mixed up.

(a) What if query and key are equal? A sum of cosines, which falls and wobbles.
(b) What if they are independent? Its mean is 0 at every distance; only the spread can be drawn.
(c) What of this query and this key? A sum of waves with their own sizes and phases.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from array_api_compat import array_namespace, device
from numpy.typing import ArrayLike

from posviz.encodings.base import Encoding
from posviz.encodings.given_content import ContentEncoding
from posviz.measures.content import content_factor, spread_at
from posviz.measures.lengths import at_least
from posviz.measures.rows import alike, head_bias, head_in, like_of, logit_row
from posviz.measures.running import BLOCK
from posviz.measures.sampled_distances import sampled_distances
from posviz.measures.split_angle import Floats
from posviz.measures.wave_sum import wave_sum, waves_at
from posviz.parameters import ParameterError, is_finite_number, sentence
from posviz.results import Array, LogitRow, frozen, split_pairs

MOST_DRAWS = 100_000
HEAD_DIM = 128
"""Size of a head where the encoding has none of its own."""


@dataclass(frozen=True, kw_only=True)
class IndependentScores:
    """Scores q·k/√D of independent normal q and k, at some distances.

    Attributes
    ----------
    distances : (distances,) tokens.
    mean : (distances,) 0, and the bias where there is one; NaN, as all else, beyond the window.
    spread : (distances,) standard deviation by formula.
    sampled_mean, sampled_spread : (distances,) over the draws.
    examples : (curves, distances) of the first draws, one line each.
    draws : how many q and k were drawn.
    """

    distances: Floats
    mean: Floats
    spread: Floats
    sampled_mean: Floats
    sampled_spread: Floats
    examples: Floats
    draws: int


def equal_scores(
    spec: Encoding, *, length: int, match: float = 1.0, head: int = 0, row: LogitRow | None = None
) -> Array:
    """(a) The logit of keys that equal the query, all dimensions alike: (length,).

    match · gain · (share · rotary_gain · c(δ) + 1 - share) + bias(δ), with c the mean over pairs of
    e^(λ_i·δ)·cos(δ·f_i): Sun et al., arXiv:2212.10554, section 3, for xPos; without λ the sum of
    RoFormer, arXiv:2104.09864, section 3.4.3. Minus infinity beyond the window.

    Parameters
    ----------
    match : the logit of a key that equals the query at distance 0, before any factor.
    row : the spec's row at this length, where the caller has it.
    """
    if not is_finite_number(match):
        raise ParameterError(sentence("equal scores", "match", "a finite number", match))
    row = row or logit_row(spec, length)
    score = content_factor(row, alike(row, 0, length), match)
    return _with_bias(row, score, length, head)


def given_scores(
    spec: Encoding, query: ArrayLike, key: ArrayLike, *, length: int, head: int = 0
) -> Array:
    """(c) q·k/√D of one query and one key against their distance: (length,).

    Σ_i Re(q_i·k̄_i·e^((λ_i + i·f_i)·δ))/√D for the pairs as complex numbers, plus the dimensions
    that are not rotated, times the factors of the method, plus the bias.

    Parameters
    ----------
    query, key : (head_dim,) numbers, before the rotation.

    Raises
    ------
    ParameterError : q and k of another size than the head; an encoding whose q and k already hold
        the positions, or whose logits are terms of queries and keys of its own.
    """
    row = logit_row(spec, length)
    q, k = np.asarray(query, dtype=np.float64), np.asarray(key, dtype=np.float64)
    _check_pair(spec, row, q, k)
    if row.inv_freq is None:
        divisor = math.sqrt(q.size) if row.divides_logits else 1.0
        return _with_bias(row, row.gain * float(q @ k) / divisor, length, head)
    amplitude, still = pair_products(row, q, k)
    frequencies = row.inv_freq
    if row.seen is None:
        waves = wave_sum(frequencies, length, log_kept=row.log_kept, amplitude=amplitude)
    else:
        waves = waves_at_many(row.seen(np.arange(float(length))), frequencies, amplitude)
    return _with_bias(row, row.gain * (row.rotary_gain * waves + float(still)), length, head)


def independent_scores(
    spec: Encoding,
    distances: ArrayLike,
    *,
    length: int,
    sigma: float = 1.0,
    draws: int = 256,
    examples: int = 3,
    seed: int = 0,
    head: int = 0,
) -> IndependentScores:
    """(b) Mean and spread of the score of independent q and k, by formula and by drawing.

    Every component of q and k is normal with variance σ: q·k/√D then has mean 0 and standard
    deviation σ at distance 0, and a rotation, which keeps lengths, changes neither at any distance.

    Parameters
    ----------
    distances : (distances,) whole tokens below ``length``; a few hundred are meant.
    draws : how many pairs of q and k, at least 2.
    examples : how many of them are kept as lines.

    Raises
    ------
    ParameterError : distances that are no whole numbers within the length, a spread below 0, or
        numbers of draws and examples that do not fit each other.
    """
    owner = "independent scores"
    at_least(owner, "draws", draws, 2, MOST_DRAWS)
    at_least(owner, "examples", examples, 0, draws)
    at_least(owner, "seed", seed, 0)
    if not (is_finite_number(sigma) and sigma >= 0):
        raise ParameterError(sentence(owner, "sigma", "a number of at least 0", sigma))
    row = logit_row(spec, length)
    at = sampled_distances(owner, length, distances)
    size = row.head_dim or HEAD_DIM
    rng = np.random.default_rng(seed)
    q, k = math.sqrt(sigma) * rng.standard_normal((2, draws, size))
    bias = 0.0 if row.bias is None else np.asarray(row.bias_of(at, head_in(row, head)))
    # Beyond the window there is no key whose score could be drawn.
    seen = np.where(at <= row.window, 0.0, np.nan)
    scores = _sampled(row, at, q, k) + bias + seen
    spread = sigma * np.asarray(spread_at(row, at))
    return IndependentScores(
        distances=frozen(at.copy()),
        mean=frozen(seen + bias),
        spread=frozen(seen + spread),
        sampled_mean=frozen(scores.mean(axis=0)),
        sampled_spread=frozen(scores.std(axis=0)),
        examples=frozen(scores[:examples]),
        draws=draws,
    )


def correlated_pair(
    head_dim: int, correlation: float, seed: int, *, query: ArrayLike | None = None
) -> tuple[Floats, Floats]:
    """A query q and a key k = ρ·q + √(1-ρ²)·r·noise: (head_dim,) each.

    Without a given ``query`` its components are normal with variance 1; r is its root mean square,
    so that key and query have the same length on average.
    """
    if not -1 <= correlation <= 1:
        allowed = "a number of at least -1 and at most 1"
        raise ParameterError(sentence("correlated pair", "correlation", allowed, correlation))
    at_least("correlated pair", "head_dim", head_dim, 1)
    at_least("correlated pair", "seed", seed, 0)
    drawn, noise = np.random.default_rng(seed).standard_normal((2, head_dim))
    q = drawn if query is None else np.asarray(query, dtype=np.float64)
    if q.shape != (head_dim,):
        raise ParameterError(
            f"correlated pair: query must be {head_dim} numbers, one for each dimension of the "
            f"head; got the shape {q.shape}."
        )
    size = 1.0 if query is None else float(np.sqrt(np.mean(q * q)))
    return q, correlation * q + math.sqrt(1 - correlation**2) * size * noise


def pair_products(row: LogitRow, q: Floats, k: Floats) -> tuple[tuple[Array, Array], Floats]:
    """Real and imaginary part of q_i·k̄_i/√D for every pair, (..., pairs) each, and q·k/√D of what
    is not rotated, (...,), for q and k of (..., head_dim)."""
    assert row.inv_freq is not None
    xp, root = array_namespace(row.inv_freq), math.sqrt(row.head_dim)
    rotary_dim = 2 * int(row.inv_freq.shape[0])
    (a, b), (c, d) = (split_pairs(one, rotary_dim, row.layout) for one in (q, k))
    parts = ((a * c + b * d) / root, (b * c - a * d) / root)
    real, imaginary = (
        xp.asarray(one, dtype=row.inv_freq.dtype, device=device(row.inv_freq)) for one in parts
    )
    still = np.einsum("...d,...d->...", q[..., rotary_dim:], k[..., rotary_dim:]) / root
    return (real, imaginary), still


def waves_at_many(seen: Floats, inv_freq: Floats, amplitude: tuple[Array, Array]) -> Floats:
    """The sum of waves at distances with repetitions, each different one worked out once."""
    values, place = np.unique(seen, return_inverse=True)
    parts = [
        waves_at(values[first : first + 4096], inv_freq, None, amplitude)
        for first in range(0, len(values), 4096)
    ]
    return np.asarray(np.concatenate(parts)[place])


def _sampled(row: LogitRow, at: Floats, q: Floats, k: Floats) -> Floats:
    """Scores of drawn q and k: (draws, distances)."""
    if row.inv_freq is None or not row.head_dim:
        divisor = math.sqrt(q.shape[1]) if row.divides_logits else 1.0
        products = np.einsum("nd,nd->n", q, k) / divisor
        return row.gain * np.repeat(products[:, None], len(at), axis=1)
    (real, imaginary), still = pair_products(row, q, k)
    seen = at if row.seen is None else np.asarray(row.seen(at))
    angles = seen[:, None] * np.asarray(row.inv_freq)
    kept = 1.0 if row.log_kept is None else np.exp(at[:, None] * np.asarray(row.log_kept))
    waves = real @ (kept * np.cos(angles)).T - imaginary @ (kept * np.sin(angles)).T
    return np.asarray(row.gain * (row.rotary_gain * waves + still[:, None]))


def _with_bias(row: LogitRow, score: Array | float, length: int, head: int) -> Array:
    """Scores with what the encoding adds to them, minus infinity beyond its window: (length,)."""
    like = like_of(row)
    xp = array_namespace(like)
    if isinstance(score, float | int):
        score = xp.full(length, float(score), dtype=like.dtype, device=device(like))
    if row.bias is None and math.isinf(row.window):
        return score
    if row.bias is not None:
        # Block by block: a bias may hold many numbers for each distance on the way.
        score = xp.concat(
            [
                score[first : first + BLOCK]
                + head_bias(row, head, first, min(first + BLOCK, length))
                for first in range(0, length, BLOCK)
            ]
        )
    if math.isinf(row.window):
        return score
    distances = xp.arange(length, dtype=like.dtype, device=device(like))
    return xp.where(distances <= row.window, score, xp.full_like(score, -math.inf))


def _check_pair(spec: Encoding, row: LogitRow, q: Floats, k: Floats) -> None:
    if isinstance(spec, ContentEncoding):
        raise ParameterError(
            f"{spec.title}: its logits are terms of the queries and keys of its own tokens, so "
            "that a given pair has no place in them."
        )
    if row.alike is not None or (row.inv_freq is not None and not row.head_dim):
        raise ParameterError(
            f"{spec.title}: a given query and key already hold the positions, which are added "
            "before the projections."
        )
    size = row.head_dim or max(1, q.size)
    for name, vector in (("query", q), ("key", k)):
        if vector.shape != (size,):
            raise ParameterError(
                f"{spec.title}: {name} must be {size} numbers, one per dimension of the head; got "
                f"the shape {vector.shape}."
            )
