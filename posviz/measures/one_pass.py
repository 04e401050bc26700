"""One pass over a row of logits, and what each beginning of it amounts to, needle included."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from posviz.measures.running import running_blocks
from posviz.measures.split_angle import Floats

_ALONE = 0.1
"""Where all other keys hold less than this share, taking one out would leave few digits: the
squares of n equal ones are a hundredth of 1/n, beside 1."""
_TIE = 1e-12
"""Relative. Shares that meet their mark exactly must not miss it by a rounding error."""


@dataclass(frozen=True, kw_only=True)
class Beginning:
    """The softmax over the first ``seen`` keys of a row, one of them perhaps replaced.

    Attributes
    ----------
    logits, log_total : (keys,) of the row as it was passed over: z, and the running ln Σe^z.
    seen : keys that count.
    log_sum : ln Σe^z of these, the replaced one included.
    entropy, concentration : nats; Σw².
    place, needle : the key that was replaced and its logit; None where none was.
    """

    logits: Floats
    log_total: Floats
    seen: int
    log_sum: float
    entropy: float
    concentration: float
    place: int | None = None
    needle: float = -math.inf

    def weight(self, distance: int) -> float:
        """Weight of the key at a distance; 0 where it is not seen."""
        if distance >= self.seen:
            return 0.0
        logit = self.needle if distance == self.place else float(self.logits[distance])
        return math.exp(logit - self.log_sum)

    def reach(self, share: float) -> int:
        """How many of the nearest keys hold this share of the weight."""
        if self.place is None:
            return self._first(math.log(share) + self.log_sum, 0, self.seen)
        before = float(self.log_total[self.place - 1]) if self.place else -math.inf
        held = math.exp(before - self.log_sum)
        if held >= share:
            return self._first(math.log(share) + self.log_sum, 0, self.place)
        own = self.weight(self.place)
        if held + own >= share * (1 - _TIE):
            return self.place + 1
        # Of the row as it was: the share that the keys without the needle must hold, and its own.
        old = math.exp(float(self.logits[self.place]) - self.log_sum)
        wanted = math.log(share - own + old) + self.log_sum
        return self._first(wanted, self.place + 1, self.seen)

    def _first(self, log_share: float, start: int, end: int) -> int:
        """The first key from which on the running total is at least this: its number, from 1."""
        place = np.searchsorted(self.log_total[start:end], log_share - _TIE)
        return start + min(int(place), end - start - 1) + 1


@dataclass(frozen=True, kw_only=True)
class Pass:
    """A row that was passed over, and its sums at some numbers of keys."""

    logits: Floats
    log_total: Floats
    entropy: Mapping[int, float]
    concentration: Mapping[int, float]
    log_sums: Mapping[int, float]

    @classmethod
    def flat(cls, counts: Sequence[int]) -> Pass:
        """Equal logits, 0 each, without the running total: for all but the reach."""
        nothing = np.broadcast_to(0.0, max(counts))
        return cls(
            logits=nothing,
            log_total=nothing,
            entropy={count: math.log(count) for count in counts},
            concentration={count: 1 / count for count in counts},
            log_sums={count: math.log(count) for count in counts},
        )

    def at(self, seen: int) -> Beginning:
        """The softmax over the first ``seen`` keys, which must be among the numbers asked for."""
        return Beginning(
            logits=self.logits,
            log_total=self.log_total,
            seen=seen,
            log_sum=self.log_sums[seen],
            entropy=self.entropy[seen],
            concentration=self.concentration[seen],
        )


def one_pass(logits: Callable[[int, int], Floats], counts: Sequence[int]) -> Pass:
    """Pass over the longest of some beginnings of a row once, and keep the sums of each.

    ``logits(first, end)`` gives the row between two keys; it is asked once for each, in order.
    """
    longest = max(counts)
    row, log_total = np.empty(longest), np.empty(longest)

    def kept(first: int, end: int) -> Floats:
        row[first:end] = logits(first, end)
        return row[first:end]

    entropy: dict[int, float] = {}
    concentration: dict[int, float] = {}
    left = sorted(set(counts))
    for block in running_blocks(kept, longest):
        first, size = block.first, int(block.total.shape[0])
        log_total[first : first + size] = block.log_total
        inside = [count for count in left if count <= first + size]
        left = left[len(inside) :]
        places = [count - 1 - first for count in inside]
        for count, found in zip(inside, block.at(places), strict=True):
            entropy[count], concentration[count] = found
    return Pass(
        logits=row,
        log_total=log_total,
        entropy=entropy,
        concentration=concentration,
        log_sums={count: float(log_total[count - 1]) for count in counts},
    )


def flat_pass(counts: Sequence[int]) -> Pass:
    """The same for a row of equal logits, 0 each, where every sum is known: ln n, ln n and 1/n."""
    wanted = sorted(set(counts))
    log_numbers = np.arange(1.0, wanted[-1] + 1)
    np.log(log_numbers, out=log_numbers)
    return replace(Pass.flat(wanted), log_total=log_numbers)


def with_needle(hay: Beginning, place: int, logit: float) -> Beginning:
    """The same softmax with the key at ``place`` given another logit; beyond the keys, as it was.

    From the sums that are there: Z' = Z - e^old + e^new, and likewise for Σ z e^z and Σ e^2z.
    """
    if place >= hay.seen or math.isinf(logit):
        return hay
    old = float(hay.logits[place])
    share = math.exp(old - hay.log_sum)
    if 1 - share < _ALONE:
        return _anew(hay, place, logit)
    log_sum = float(np.logaddexp(hay.log_sum + math.log1p(-share), logit))
    down, weight = math.exp(hay.log_sum - log_sum), math.exp(logit - log_sum)
    # Σ w z, from H = ln Z - Σ w z.
    mean = down * (hay.log_sum - hay.entropy - share * old) + weight * logit
    return replace(
        hay,
        log_sum=log_sum,
        entropy=max(0.0, log_sum - mean),
        concentration=(hay.concentration - share * share) * down * down + weight * weight,
        place=place,
        needle=logit,
    )


def _anew(hay: Beginning, place: int, logit: float) -> Beginning:
    """Summed again with the needle in its place, where the replaced key held all the weight."""
    row = hay.logits[: hay.seen].copy()
    row[place] = logit
    return one_pass(lambda first, end: row[first:end], [hay.seen]).at(hay.seen)
