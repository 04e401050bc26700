"""Attention resolution: how sharply the weights of the last query tell neighbours apart."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from array_api_compat import array_namespace
from numpy.typing import ArrayLike

from posviz.encodings.base import Encoding
from posviz.measures.content import Content
from posviz.measures.contexts import content_logits, whole_lengths
from posviz.measures.rows import longest_row, rows_by_kind
from posviz.measures.running import check_row, running_blocks
from posviz.measures.split_angle import Floats
from posviz.results import Array, frozen


@dataclass(frozen=True, kw_only=True)
class ResolutionCurve:
    """Attention resolution against context length; every array is (lengths,).

    Attributes
    ----------
    lengths : tokens; those beyond what the encoding can give are left out.
    resolution : Σ w_i (w_i - w_{i+1}), between 0 and 1, without unit.
    """

    lengths: Floats
    resolution: Floats


def attention_resolution(logits: Array) -> Array:
    """R = Σ_i e^(s_i)·(e^(s_i) - e^(s_(i+1))) / (Σ_i e^(s_i))², for every beginning of a row.

    The last key of a context has its farther neighbour outside of it, which is not seen: its weight
    counts as 0. So t equal keys have 1/t², one key has 1, and no row has less than 0:
    R = (w_first² + w_last² + Σ (w_i - w_(i+1))²)/2, which is how it is worked out, since that is a
    sum of positive numbers and loses no digits where neighbours are nearly alike.

    Time and memory are linear in the number of keys. Accuracy is that of
    :func:`posviz.measures.running_softmax`, relative to R, and four roundings of the logits and of
    ln Σe^s.

    Parameters
    ----------
    logits : (keys,) finite, the key nearest to the query first.

    Returns
    -------
    (keys,) resolution of the first 1, 2, … keys.

    Raises
    ------
    ParameterError : a row that is empty or has a logit that is not finite.

    Source: Sun et al. (2022), arXiv:2212.10554, section 3 (attention resolution).

    Examples
    --------
    >>> import numpy as np
    >>> attention_resolution(np.zeros(4)).round(4)
    array([1.    , 0.25  , 0.1111, 0.0625])
    """
    check_row("attention resolution", logits)
    return array_namespace(logits).concat([part for _, part in _blocks(logits)])


def _blocks(logits: Array) -> Iterator[tuple[int, Array]]:
    """The resolution block by block: first key, and its values."""
    xp = array_namespace(logits)
    steps, top = 0.0, -math.inf
    for block in running_blocks(lambda first, end: logits[first:end], logits.shape[0]):
        steps *= math.exp(2 * (top - block.top)) if steps else 0.0
        top = block.top
        before = max(0, block.first - 1)
        u = logits[before : block.first + block.above.shape[0]] - top
        squares = _squared_steps(u, xp)
        if block.first == 0:
            squares = xp.concat((xp.zeros_like(block.above[:1]), squares))
        running = xp.cumulative_sum(squares) + steps
        first = math.exp(float(logits[0]) - top)
        total = block.total * block.total
        yield block.first, (first * first + block.raised * block.raised + running) / (2 * total)
        steps = float(running[-1])


def _squared_steps(u: Array, xp: Any) -> Array:
    """(e^u_i - e^u_(i-1))² without the digits that a difference of neighbours would lose."""
    larger = xp.where(u[1:] > u[:-1], u[1:], u[:-1])
    step = xp.exp(larger) * xp.expm1(-xp.abs(u[1:] - u[:-1]))
    return step * step


def resolution_curve(
    spec: Encoding, lengths: ArrayLike, *, content: Content | None = None, head: int = 0
) -> ResolutionCurve:
    """Attention resolution of the last query, at each of some lengths.

    One pass over the distances serves all lengths whose rows begin alike; a needle lies elsewhere
    in every context, so that each length then needs its own. Keys beyond a window do not count.

    Parameters
    ----------
    lengths : (lengths,) whole numbers of tokens, at least 1.
    content : the model of the content; all keys alike by default.
    head : which head of a bias, from 0; the last one where it has fewer.

    Raises
    ------
    ParameterError : a length that is no whole number of at least 1; an encoding without a row.
    """
    content = content or Content()
    wanted = whole_lengths("attention resolution", lengths)
    longest_allowed = longest_row(spec)
    allowed = [length for length in wanted if length <= longest_allowed]
    found: dict[int, float] = {}
    for row, members in rows_by_kind(spec, sorted(set(allowed))):
        # A needle lies elsewhere in every context, so that each has logits of its own.
        apart = content.content == "needle"
        for group in [[one] for one in members] if apart else [members]:
            longest = replace(row, length=group[-1])
            logits = content_logits(spec, group[-1], content=content, head=head, row=longest)
            seen = int(np.isfinite(logits).sum())
            found |= _at(logits[:seen], group)
    return ResolutionCurve(
        lengths=frozen(np.asarray(allowed, dtype=np.float64)),
        resolution=frozen(np.asarray([found[length] for length in allowed], dtype=np.float64)),
    )


def _at(logits: Floats, lengths: list[int]) -> dict[int, float]:
    """Resolution of some beginnings of a row; beyond its end that of the whole."""
    found: dict[int, float] = {}
    left = list(lengths)
    for first, part in _blocks(logits):
        end = first + len(part)
        while left and (left[0] <= end or end == len(logits)):
            length = left.pop(0)
            found[length] = float(part[min(length, end) - 1 - first])
    return found
