"""The precision lens: rotary scores when one stage of the computation is cast to a short format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from posviz.measures.distinct_positions import (
    DistinctPositions,
    distinct_multiples,
    distinct_positions,
)
from posviz.measures.lengths import at_least
from posviz.measures.precision_verdict import Stage, Verdict, rotation_verdict
from posviz.measures.rounding import checked_dtype, rounded
from posviz.measures.sampled_distances import LargestError, sampled_distances
from posviz.measures.score_error import changes_nothing, largest_score_error
from posviz.measures.split_angle import Floats, direct_cos_mean
from posviz.parameters import ParameterError, sentence
from posviz.results import frozen

_OWNER = "precision lens"
_SAMPLED = 1024
_ROWS_AT_ONCE = 2048


@dataclass(frozen=True, kw_only=True)
class PrecisionLens:
    """Rotary scores of one query with one stage cast, beside the exact ones.

    Attributes
    ----------
    stage, dtype, length : what was cast, to what, at how many tokens.
    distances : (distances,) tokens from the query at position length-1 back to the key.
    exact_scores : (distances,) mean over pairs of cos(d·f_i); 1 at distance 0.
    scores : (distances,) the same through the cast; NaN where a number became infinite.
    score_errors : (distances,) scores - exact_scores.
    largest_score_error : the largest size of the error at all distances 0 … length-1, or at those
        counted in ``measured``; infinite where a number became infinite.
    worst_distance : the distance that has it, tokens.
    measured : how many distances it is over: all, in the stages "positions" and "inv_freq" at any
        length, in the stage "angles" up to 65,536 tokens, in the stage "tables" up to 131,072;
        beyond, 20,000 to 41,000 of them.
    pair_errors : (pairs,) largest error of cos in each pair over the sampled positions; infinite
        where a number became infinite.
    largest_cos_error : the largest of these.
    tables_error : largest error of the score when only the tables are cast to bfloat16; what the
        verdict compares with.
    tables_measured : how many distances that is over, as in the stage "tables".
    distinct : what the cast keeps apart: positions in the stage "positions", angles of the fastest
        pair in the stage "angles"; None in the others, and where no pair turns.
    verdict : "fatal", "harmful" or "benign".
    reason : one or two sentences with the numbers that led to the verdict.
    """

    stage: Stage
    dtype: str
    length: int
    distances: Floats
    exact_scores: Floats
    scores: Floats
    score_errors: Floats
    largest_score_error: float
    worst_distance: int
    measured: int
    pair_errors: Floats
    largest_cos_error: float
    tables_error: float
    tables_measured: int
    distinct: DistinctPositions | None
    verdict: Verdict
    reason: str


def precision_lens(
    inv_freq: ArrayLike,
    *,
    length: int,
    stage: Stage,
    dtype: str,
    distances: ArrayLike | None = None,
    tables: LargestError | None = None,
) -> PrecisionLens:
    """What a cast of one stage does to the score of equal q and k, and to the tables.

    The score is computed as attention does it: with c_p = cos(p·f) and s_p = sin(p·f) of the
    query's and of the key's own position, score = mean over pairs of c_q·c_k + s_q·s_k. One stage
    is cast; all before and after it is float64:

    ========= ====================================================================
    stage     angle, cos and sin; R is the rounding to the dtype
    ========= ====================================================================
    positions R(p)·f
    inv_freq  p·R(f)
    angles    R(p·f): only the product is rounded, p and f are exact
    tables    p·f, then R(cos(p·f)) and R(sin(p·f))
    ========= ====================================================================

    Code that holds positions and frequencies in the short format has several of these at once.
    With cast frequencies the score still depends on the distance only; the error is that of a model
    trained with the exact ones.

    The verdict:

    - fatal where a number becomes infinite; where neighbouring positions become equal (in the stage
      "angles": where the fastest pair gives neighbours the same angle); or where the score is off
      by more than 0.1;
    - benign where the score is off by at most twice ``tables_error``;
    - harmful between.

    The numbers are over all distances 0 … length-1, save in the stages "angles" and "tables" (and
    for ``tables_error``) at long lengths: there over the first 4,096, the last 4,096 and evenly
    spaced ones between, and the reason says over how many. See ``largest_score_error``.

    Own error, of float64: about 2^-52 · length · mean f, 1e-10 at 2^22 and base 10000.

    Parameters
    ----------
    inv_freq : (pairs,) radians per token.
    length : number of tokens; the query is the last one.
    stage : "positions", "inv_freq", "angles" or "tables".
    dtype : "bfloat16", "float16", "float32" or "float64".
    distances : whole tokens, 0 … length-1, of the curves. Left out: 0, the worst one and up to 256
        more, evenly on a log axis.

    tables : what tables in bfloat16 cost at this length, where the caller has it from
        :func:`posviz.measures.largest_score_error`.

    Returns
    -------
    PrecisionLens. Errors of cos are taken over 1024 evenly spaced positions and the last 1024.

    Raises
    ------
    ParameterError : a length below 1, an unknown stage or dtype, frequencies that are not one row
        of finite numbers, distances that are not whole numbers within the length.
    """
    at_least(_OWNER, "length", length, 1)
    if stage not in get_args(Stage):
        raise ParameterError(
            sentence(_OWNER, "stage", f"one of {', '.join(get_args(Stage))}", stage)
        )
    checked_dtype(_OWNER, dtype)
    frequencies = _frequencies(inv_freq)
    worst = largest_score_error(frequencies, length, stage, dtype)
    if (stage, dtype) == ("tables", "bfloat16"):
        tables = worst
    tables = tables or largest_score_error(frequencies, length, "tables", "bfloat16")
    at = sampled_distances(_OWNER, length, distances, worst.distance)
    exact = direct_cos_mean(at, frequencies)
    same = changes_nothing(length, stage, dtype)
    scores = exact if same else _scores(frequencies, length, at, stage, dtype)
    pair_errors = _pair_errors(frequencies, length, stage, dtype)
    distinct = _distinct(frequencies, length, stage, dtype)
    vanished = _vanished(frequencies, dtype) if stage == "inv_freq" else 0
    verdict, reason = rotation_verdict(stage, dtype, length, worst, tables, distinct, vanished)
    return PrecisionLens(
        stage=stage,
        dtype=dtype,
        length=length,
        distances=frozen(at),
        exact_scores=frozen(exact),
        scores=frozen(scores),
        score_errors=frozen(scores - exact),
        largest_score_error=worst.size,
        worst_distance=worst.distance,
        measured=worst.measured,
        pair_errors=frozen(pair_errors),
        largest_cos_error=float(pair_errors.max()),
        tables_error=tables.size,
        tables_measured=tables.measured,
        distinct=distinct,
        verdict=verdict,
        reason=reason,
    )


def _frequencies(inv_freq: ArrayLike) -> Floats:
    frequencies = np.asarray(inv_freq, dtype=np.float64)
    if frequencies.ndim != 1 or not frequencies.size or not np.isfinite(frequencies).all():
        raise ParameterError(
            f"{_OWNER}: inv_freq must be one row of at least one finite number; got an array of "
            f"the shape {frequencies.shape}."
        )
    return frequencies


def _scores(frequencies: Floats, length: int, at: Floats, stage: Stage, dtype: str) -> Floats:
    query = np.asarray([length - 1.0])
    query_cos, query_sin = _tables(frequencies, query, stage, dtype)
    scores = np.empty_like(at)
    for first in range(0, at.size, _ROWS_AT_ONCE):
        rows = slice(first, first + _ROWS_AT_ONCE)
        key_cos, key_sin = _tables(frequencies, query - at[rows], stage, dtype)
        scores[rows] = (key_cos * query_cos + key_sin * query_sin).mean(axis=1)
    return scores


def _tables(
    frequencies: Floats, positions: Floats, stage: Stage, dtype: str
) -> tuple[Floats, Floats]:
    """cos and sin, (positions, pairs) each; NaN where the angle is infinite."""
    angles = _angles(frequencies, positions, stage, dtype)
    cos, sin = np.cos(angles), np.sin(angles)
    if stage != "tables":
        return cos, sin
    return rounded(cos, dtype), rounded(sin, dtype)


def _angles(frequencies: Floats, positions: Floats, stage: Stage, dtype: str) -> Floats:
    if stage == "positions":
        positions = _not_infinite(rounded(positions, dtype))
    if stage == "inv_freq":
        frequencies = _not_infinite(rounded(frequencies, dtype))
    angles = positions[:, None] * frequencies
    return _not_infinite(rounded(angles, dtype)) if stage == "angles" else angles


def _not_infinite(numbers: Floats) -> Floats:
    """NaN for infinities: what cos makes of them, without its warning."""
    return np.where(np.isinf(numbers), np.nan, numbers)


def _pair_errors(frequencies: Floats, length: int, stage: Stage, dtype: str) -> Floats:
    evenly = np.rint(np.linspace(0, length - 1, min(_SAMPLED, length)))
    last = np.arange(max(0, length - _SAMPLED), length, dtype=np.float64)
    error = np.zeros_like(frequencies)
    for positions in (evenly, last):
        exact = np.cos(positions[:, None] * frequencies)
        if stage == "tables":
            cast = rounded(exact, dtype)
        else:
            cast = np.cos(_angles(frequencies, positions, stage, dtype))
        size = np.abs(cast - exact).max(axis=0)
        np.maximum(error, np.where(np.isnan(size), np.inf, size), out=error)
    return error


def _distinct(
    frequencies: Floats, length: int, stage: Stage, dtype: str
) -> DistinctPositions | None:
    fastest = float(np.abs(frequencies).max())
    if stage == "positions":
        return distinct_positions(length, dtype)
    if stage == "angles" and fastest:
        return distinct_multiples(fastest, length, dtype)
    return None


def _vanished(frequencies: Floats, dtype: str) -> int:
    """How many pairs that turn get the frequency 0."""
    return int(np.count_nonzero((rounded(frequencies, dtype) == 0) & (frequencies != 0)))
