"""The precision lens for biases: what a cast does to the number added to a logit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from posviz.measures.lengths import at_least
from posviz.measures.precision_verdict import Verdict
from posviz.measures.rounding import checked_dtype, rounded
from posviz.measures.sampled_distances import largest_size, sampled_distances
from posviz.measures.split_angle import Floats
from posviz.parameters import ParameterError, sentence
from posviz.results import frozen

BiasStage: TypeAlias = Literal["positions", "bias", "logits"]
BiasOfDistance: TypeAlias = Callable[[Floats], Floats]

FATAL_MOVED_WEIGHT = 0.1
BENIGN_MOVED_WEIGHT = 0.01
_OWNER = "bias precision"
_AT_ONCE = 1 << 16
_NO_WEIGHT = 45.0
"""e^-45 of the largest weight: 2^22 such keys hold 1e-13 of it."""


@dataclass(frozen=True, kw_only=True)
class BiasPrecision:
    """A head's bias from one query with one stage cast, beside the exact one.

    Attributes
    ----------
    stage, dtype, length : what was cast, to what, at how many tokens.
    distances : (distances,) tokens from the query at position length-1 back to the key.
    exact_logits : (distances,) bias, plus the content in the stage "logits".
    logits : (distances,) the same through the cast; infinite or NaN where it overflows.
    logit_errors : (distances,) logits - exact_logits.
    largest_error : the largest size of these at all distances 0 … length-1; infinite where a logit
        is no finite number.
    worst_distance : the distance that has it, tokens.
    merged : how many distances 1 … length-1 get the same number as the distance before, where the
        exact numbers differ.
    overflowed : how many distances get an infinite number or none.
    moved_weight : half of Σ |w' - w| over all keys, where w and w' are the softmax of the exact and
        of the cast logits: the share of the weight that goes to other keys at equal content.
        NaN where a cast logit is +∞ or no number.
    verdict : "fatal", "harmful" or "benign".
    reason : the numbers that led to the verdict, in words.
    """

    stage: BiasStage
    dtype: str
    length: int
    distances: Floats
    exact_logits: Floats
    logits: Floats
    logit_errors: Floats
    largest_error: float
    worst_distance: int
    merged: int
    overflowed: int
    moved_weight: float
    verdict: Verdict
    reason: str


def bias_precision(
    bias: BiasOfDistance,
    *,
    length: int,
    stage: BiasStage,
    dtype: str,
    content: float = 1.0,
    distances: ArrayLike | None = None,
) -> BiasPrecision:
    """What a cast of one stage does to the logits of a query at position length-1.

    With R the rounding to the dtype, q = length-1 and d the distance of the key:

    ========= ====================================================================
    stage     logit
    ========= ====================================================================
    positions bias(R(q) - R(q-d)); a bias of the key's position alone, as in Bloom,
              differs from it by a constant per query, which the softmax drops
    bias      R(bias(d))
    logits    R(content + bias(d)), with the content 1 unless another is given: a
              larger content leaves fewer digits to the bias
    ========= ====================================================================

    The verdict goes by the weight, not by the logit, as an error of 4 at a logit of -2000 moves
    nothing: fatal where more than 10 % of the weight at equal content goes to other keys, or a
    logit becomes +∞ or no number; benign up to 1 %; harmful between. A logit that becomes -∞ masks
    its key, and counts by the weight that it had.

    Parameters
    ----------
    bias : the bias of a head at distances (count,) in tokens, 0 … length-1 and, in the stage
        "positions", up to one spacing of the dtype more: (count,) float64.
    length : number of tokens; the query is the last one and sees all of them.
    stage : "positions", "bias" or "logits".
    dtype : "bfloat16", "float16", "float32" or "float64".
    content : q·k/√head_dim, the same for all keys, 1 if left out; used in the stage "logits" only.
    distances : whole tokens, 0 … length-1, of the curves. Left out: 0, the worst one and up to 256
        more, evenly on a log axis. The numbers are over all distances.

    Raises
    ------
    ParameterError : a length below 1, an unknown stage or dtype, content that is not finite,
        distances that are not whole numbers within the length.
    """
    at_least(_OWNER, "length", length, 1)
    if stage not in get_args(BiasStage):
        raise ParameterError(
            sentence(_OWNER, "stage", f"one of {', '.join(get_args(BiasStage))}", stage)
        )
    checked_dtype(_OWNER, dtype)
    if not math.isfinite(content):
        raise ParameterError(sentence(_OWNER, "content", "a finite number", content))
    cast = _Cast(bias, length, stage, dtype, content)
    totals = _totals(cast)
    at = sampled_distances(_OWNER, length, distances, totals.worst)
    exact_logits, logits = cast.logits(at)
    moved = _moved_weight(cast, totals)
    verdict = _verdict(moved)
    return BiasPrecision(
        stage=stage,
        dtype=dtype,
        length=length,
        distances=frozen(at),
        exact_logits=frozen(exact_logits),
        logits=frozen(logits),
        logit_errors=frozen(_difference(exact_logits, logits)),
        largest_error=totals.largest,
        worst_distance=totals.worst,
        merged=totals.merged,
        overflowed=totals.overflowed,
        moved_weight=moved,
        verdict=verdict,
        reason=_reason(cast, totals, moved),
    )


@dataclass(frozen=True)
class _Cast:
    bias: BiasOfDistance
    length: int
    stage: BiasStage
    dtype: str
    content: float

    def logits(self, distances: Floats) -> tuple[Floats, Floats]:
        """Exact and cast, (distances,) each."""
        exact = np.array(self.bias(distances), dtype=np.float64)
        if self.stage == "positions":
            query = self.length - 1.0
            kept = rounded(query, self.dtype), rounded(query - distances, self.dtype)
            finite = np.isfinite(kept[0]) & np.isfinite(kept[1])
            seen = np.where(finite, kept[0], 0.0) - np.where(finite, kept[1], 0.0)
            return exact, np.where(finite, self.bias(seen), np.nan)
        if self.stage == "logits":
            exact += self.content
        return exact, rounded(exact, self.dtype)

    def blocks(self) -> Iterator[tuple[int, Floats, Floats]]:
        for first in range(0, self.length, _AT_ONCE):
            until = min(first + _AT_ONCE, self.length)
            yield first, *self.logits(np.arange(first, until, dtype=np.float64))


class _LogSum:
    """Running log of a sum of exponentials."""

    def __init__(self) -> None:
        self.top, self.scaled = -math.inf, 0.0

    def add(self, logits: Floats, top: float) -> None:
        if top <= self.top - _NO_WEIGHT or top == -math.inf:
            return
        if top > self.top:
            self.scaled *= math.exp(self.top - top)
            self.top = top
        self.scaled += float(np.exp(logits - self.top).sum())

    @property
    def value(self) -> float:
        return self.top + math.log(self.scaled) if self.scaled else -math.inf


class _Totals:
    def __init__(self) -> None:
        self.largest, self.worst = 0.0, 0
        self.merged = self.overflowed = 0
        self.exact_sum, self.cast_sum = _LogSum(), _LogSum()
        self.tops: list[float] = []
        """Per block, the higher one of both tops."""
        self.is_number = True


def _totals(cast: _Cast) -> _Totals:
    totals = _Totals()
    before = np.asarray([math.nan]), np.asarray([math.nan])
    for first, exact, logits in cast.blocks():
        worst, size = largest_size(_difference(exact, logits))
        if size > totals.largest:
            totals.largest, totals.worst = size, first + worst
        same = np.append(before[1], logits[:-1]) == logits
        totals.merged += int(np.count_nonzero(same & (np.append(before[0], exact[:-1]) != exact)))
        totals.overflowed += int(np.count_nonzero(~np.isfinite(logits) & np.isfinite(exact)))
        before = exact[-1:], logits[-1:]
        tops = float(exact.max()), float(logits.max())
        totals.is_number &= math.isfinite(tops[1]) or tops[1] == -math.inf
        if totals.is_number:
            totals.exact_sum.add(exact, tops[0])
            totals.cast_sum.add(logits, tops[1])
        totals.tops.append(max(tops))
    return totals


def _difference(exact: Floats, logits: Floats) -> Floats:
    """logits - exact; 0 where both are the same infinity."""
    with np.errstate(invalid="ignore"):
        return np.where(exact == logits, 0.0, logits - exact)


def _moved_weight(cast: _Cast, totals: _Totals) -> float:
    exact_sum, cast_sum = totals.exact_sum.value, totals.cast_sum.value
    if not totals.is_number or not math.isfinite(exact_sum + cast_sum):
        return math.nan
    moved, counted = 0.0, max(exact_sum, cast_sum) - _NO_WEIGHT
    for (_, exact, logits), top in zip(cast.blocks(), totals.tops, strict=True):
        if top > counted:
            moved += float(np.abs(np.exp(logits - cast_sum) - np.exp(exact - exact_sum)).sum())
    return moved / 2


def _verdict(moved: float) -> Verdict:
    if math.isnan(moved) or moved > FATAL_MOVED_WEIGHT:
        return "fatal"
    return "benign" if moved <= BENIGN_MOVED_WEIGHT else "harmful"


def _reason(cast: _Cast, totals: _Totals, moved: float) -> str:
    told = []
    if cast.stage == "logits":
        told.append(f"A logit is here a content of {cast.content:g} plus the bias.")
    if not totals.largest:
        return " ".join([*told, f"The cast to {cast.dtype} changes no logit."])
    if totals.overflowed:
        told.append(f"{totals.overflowed:,} of {cast.length:,} logits overflow {cast.dtype}.")
    if math.isfinite(totals.largest):
        told.append(f"Logits are off by up to {totals.largest:.2g}, at distance {totals.worst:,}.")
    if totals.merged:
        told.append(
            f"{totals.merged:,} of {cast.length - 1:,} distances get the number of the one before."
        )
    if math.isnan(moved):
        told.append("No softmax can be taken of them.")
    else:
        share = f"{100 * moved:.3g} %" if moved >= 1e-4 else "less than 0.01 %"
        told.append(f"At equal content {share} of the weight goes to other keys.")
    return " ".join(told)
