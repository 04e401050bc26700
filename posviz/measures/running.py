"""Softmax over a row for every length of it at once: a running log-sum-exp, linear in the length.

Counted from the query backwards, a longer context only adds keys at the end of the row. So one pass
gives the normaliser, the entropy and the concentration of every shorter context.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from array_api_compat import array_namespace

from posviz.parameters import ParameterError
from posviz.results import Array

BLOCK = 1 << 14
"""Keys at a time: the pass stays in a cache, and no rounding error adds up over more of them."""
_FAR = 32.0
"""A block whose logits rise by more than this is split. Sums are counted relative to the block's
largest logit: beginnings that end far below it lose digits of their entropy, and at e^-43 the
square of a float32 is gone."""

_FEW = 4
"""Up to so many places of a block, their own sums cost less than running ones over the block."""


@dataclass(frozen=True, kw_only=True)
class RunningSoftmax:
    """What the softmax over the first 1, 2, … keys amounts to; every array is (keys,).

    Attributes
    ----------
    log_total : ln Σ e^z, nats.
    entropy : -Σ w ln w, nats.
    concentration : Σ w², the share of the variance that is left when independent values are
        averaged with these weights; 1/t for t equal weights.
    """

    log_total: Array
    entropy: Array
    concentration: Array


@dataclass
class _State:
    """Sums over the keys so far, relative to e^top."""

    top: float = -math.inf
    total: float = 0.0
    moment: float = 0.0
    """Σ e^u·u with u = z - top, at most 0."""
    square: float = 0.0

    def raised_to(self, top: float) -> None:
        """Count relative to a larger top from now on."""
        if top <= self.top:
            return
        if self.total > 0:
            down = self.top - top
            factor = math.exp(down)
            self.moment = factor * (self.moment + down * self.total)
            self.total *= factor
            self.square *= factor * factor
        self.top = top


def running_softmax(logits: Array) -> RunningSoftmax:
    """Normaliser, entropy and concentration of every beginning of a row, in one pass.

    Accuracy in float64: about n/2^14 + 2^14 roundings of positive sums, so a relative 2^-53 times
    that for each sum. ``entropy`` is ln Σe^u - Σe^u·u/Σe^u with u = z - top; where the largest
    logit came first, both parts have one sign and nothing cancels. Where logits rise within a
    block, u is counted from a later top, at most 32 above, and the error is up to 64 times as
    large. Time and memory are linear in the number of keys.

    Parameters
    ----------
    logits : (keys,) finite, the key nearest to the query first.

    Raises
    ------
    ParameterError : a row that is empty or has a logit that is not finite.

    Examples
    --------
    >>> import numpy as np
    >>> running_softmax(np.zeros(4)).entropy.round(4)
    array([0.    , 0.6931, 1.0986, 1.3863])
    """
    check_row("running softmax", logits)
    xp = array_namespace(logits)
    columns: tuple[list[Array], ...] = ([], [], [])
    for block in running_blocks(lambda first, end: logits[first:end], logits.shape[0]):
        part = block.softmax()
        for column, values in zip(
            columns, (part.log_total, part.entropy, part.concentration), strict=True
        ):
            column.append(values)
    joined = []
    for column in columns:
        joined.append(xp.concat(column))
        column.clear()  # one column at a time stands twice in memory
    return RunningSoftmax(log_total=joined[0], entropy=joined[1], concentration=joined[2])


def check_row(owner: str, logits: Array) -> None:
    """ParameterError for logits that are no row of finite numbers with at least one key."""
    if logits.ndim != 1 or not logits.shape[0]:
        raise ParameterError(f"{owner}: logits must be one row with at least one key.")
    if not bool(array_namespace(logits).all(array_namespace(logits).isfinite(logits))):
        raise ParameterError(f"{owner}: logits must be finite numbers.")


@dataclass(frozen=True, kw_only=True)
class RunningBlock:
    """Some neighbouring keys of a row, with the sums over all keys before them.

    Attributes
    ----------
    first : the first key's place in the row.
    top : the logit that all sums are relative to.
    above : (keys,) u = z - top.
    raised : (keys,) e^u.
    total : (keys,) Σ e^u over all keys up to each one.
    moment, square : Σ e^u·u and Σ e^2u over all keys before the block.
    """

    first: int
    top: float
    above: Array
    raised: Array
    total: Array
    moment: float
    square: float

    @property
    def log_total(self) -> Array:
        """(keys,) ln Σ e^z up to each key."""
        return array_namespace(self.total).log(self.total) + self.top

    def softmax(self) -> RunningSoftmax:
        """All numbers at every key."""
        xp = array_namespace(self.total)
        moment = xp.cumulative_sum(self.raised * self.above) + self.moment
        square = xp.cumulative_sum(self.raised * self.raised) + self.square
        logarithm = xp.log(self.total)
        return RunningSoftmax(
            log_total=logarithm + self.top,
            entropy=logarithm - moment / self.total,
            concentration=square / (self.total * self.total),
        )

    def at(self, places: Sequence[int]) -> list[tuple[float, float]]:
        """Entropy and concentration of the row up to some of the block's keys."""
        if len(places) <= _FEW:
            return [self.upto(place) for place in places]
        every = self.softmax()
        return [(float(every.entropy[one]), float(every.concentration[one])) for one in places]

    def upto(self, place: int) -> tuple[float, float]:
        """Entropy and concentration of the row up to the block's key at ``place``, from plain
        sums, which take a tenth of the time of running ones."""
        xp = array_namespace(self.total)
        raised, above = self.raised[: place + 1], self.above[: place + 1]
        total = float(self.total[place])
        moment = self.moment + float(xp.sum(raised * above))
        square = self.square + float(xp.sum(raised * raised))
        # One key alone has the entropy 0, which the rounding of its logarithm may miss.
        return max(0.0, math.log(total) - moment / total), square / (total * total)


def running_blocks(logits: Callable[[int, int], Array], count: int) -> Iterator[RunningBlock]:
    """The pass block by block, for rows that nobody needs whole.

    ``logits(first, end)`` gives the row between two keys; it is asked once for each, in order.
    """
    state = _State()
    for first in range(0, count, BLOCK):
        block = logits(first, min(first + BLOCK, count))
        yield from _through(block, first, state, array_namespace(block))


def _through(block: Array, first: int, state: _State, xp: Any) -> Iterator[RunningBlock]:
    """One block, or its halves where the logits rise too far for one scale."""
    top = max(state.top, float(xp.max(block)))
    lowest_top = max(state.top, float(block[0]))
    if block.shape[0] > 1 and top - lowest_top > _FAR:
        half = block.shape[0] // 2
        yield from _through(block[:half], first, state, xp)
        yield from _through(block[half:], first + half, state, xp)
        return
    state.raised_to(top)
    above = block - state.top
    raised = xp.exp(above)
    total = xp.cumulative_sum(raised) + state.total
    yield RunningBlock(
        first=first,
        top=state.top,
        above=above,
        raised=raised,
        total=total,
        moment=state.moment,
        square=state.square,
    )
    state.total = float(total[-1])
    state.moment += float(xp.sum(raised * above))
    state.square += float(xp.sum(raised * raised))
