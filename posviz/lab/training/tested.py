"""A trained model's test: at all lengths, on all kinds of sequences, in bounded time."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

from posviz.lab.training.measured import WINDOWS, OutOfTime, Places, places
from posviz.lab.training.model import Model
from posviz.lab.training.plan import Plan
from posviz.lab.training.trained import Trained
from posviz.parameters import ParameterError

BAR_OF_TEST = 0.15
"""Share of a bar that the test takes."""
Told = Callable[[float, Trained], None]


def tested(model: Model, plan: Plan, so_far: Trained, told: Told) -> Trained:
    """The result with its test at all lengths and against position.

    A length that the encoding refuses is left out with its sentence as a note; so is all that comes
    after the time that the training left ran out.
    """
    first, *_ = plan.about.variants
    # From short to long, so that a test which is ended has every kind of sequences at some lengths.
    work = [
        (variant, length)
        for length in plan.lengths
        for variant in plan.about.variants
        if length in plan.lengths_of(variant)
    ]
    pairs = [length**2 for _, length in work]
    rows = {variant: _Row(plan.lengths) for variant in plan.about.variants}
    limit = max(0.0, plan.most_seconds - so_far.seconds)
    until = time.process_time() + limit
    told(1 - BAR_OF_TEST, so_far)
    for place, (variant, length) in enumerate(work):
        share = 1 - BAR_OF_TEST * (1 - sum(pairs[:place]) / sum(pairs))
        try:
            found = places(
                model,
                plan,
                length,
                variant,
                lambda: told(share, so_far),  # noqa: B023
                until,
            )
        except ParameterError as refused:
            so_far = _noted(so_far, f"Not tested from {length} tokens on: {refused}")
            continue
        except OutOfTime:
            so_far = _noted(so_far, _ended(limit, variant, length))
            break
        rows[variant].take(plan, length, found)
        so_far = _with_rows(so_far, rows)
        if variant == first and length == plan.lengths[-1]:
            middles, means = found.windows(min(WINDOWS, length))
            so_far = replace(so_far, positions=middles, by_position=means)
    return replace(so_far, is_done=True)


def _ended(limit: float, variant: str, length: int) -> str:
    return (
        f"The test was ended after {limit:.3g} s of one core, at {length} tokens ({variant}): what "
        "would have come after is missing."
    )


def _noted(so_far: Trained, note: str) -> Trained:
    """The result with one more note; of lengths that are refused, the first one is enough."""
    known = any(one.startswith("Not tested from") for one in so_far.notes)
    if known and note.startswith("Not tested from"):
        return so_far
    return replace(so_far, notes=(*so_far.notes, note))


class _Row:
    """Results of one kind of sequences at each length, NaN where there is none (yet)."""

    def __init__(self, lengths: tuple[int, ...]) -> None:
        self._lengths = lengths
        empty = [math.nan] * len(lengths)
        self.score, self.answers, self.low, self.high = (list(empty) for _ in range(4))

    def take(self, plan: Plan, length: int, found: Places) -> None:
        place, first = self._lengths.index(length), _first_scored(plan, length)
        self.score[place] = found.mean(first)
        self.answers[place] = float(found.counted(first))
        if plan.about.metric == "accuracy":
            self.low[place], self.high[place] = found.share_within()


def _with_rows(so_far: Trained, rows: dict[str, _Row]) -> Trained:
    begun = {name: row for name, row in rows.items() if not all(map(math.isnan, row.answers))}
    shares = begun if so_far.metric == "accuracy" else {}
    return replace(
        so_far,
        scores={name: tuple(row.score) for name, row in begun.items()},
        answers={name: tuple(row.answers) for name, row in begun.items()},
        low={name: tuple(row.low) for name, row in shares.items()},
        high={name: tuple(row.high) for name, row in shares.items()},
    )


def _first_scored(plan: Plan, length: int) -> int:
    """A loss is that of the last tokens, a quarter of a training's length; an accuracy of all."""
    return max(0, length - plan.length // 4) if plan.about.metric == "loss" else 0
