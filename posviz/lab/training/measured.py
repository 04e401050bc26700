"""Testing a trained model at any length: losses and right answers at every place."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from posviz.lab.training.batches import IGNORED, Batch, batch
from posviz.lab.training.model import Model, losses
from posviz.lab.training.plan import LEAST_ANSWERS, Plan

WINDOWS = 64
"""Windows of the curve against position."""
_MOST_LOGITS = 1 << 22
"""Most logits of attention at once: 16 MB, about what stays quick."""
_MOST_ROUNDS = 64
"""Sets of sequences that one test draws at most, for a task that hardly asks anything."""
_TEST_SEED = 3
_NORMAL_95 = 1.959964


class OutOfTime(Exception):  # noqa: N818 - nothing went wrong: the test ends here
    """The time of a test ran out before its sequences were done."""


@dataclass(frozen=True)
class Places:
    """One number at each place of each sequence, NaN where nothing counts.

    Attributes
    ----------
    values : (sequences, length) nats, or 1 and 0 for right and wrong.
    right : (sequences, length) 1 and 0 for right and wrong, whatever the values are.
    """

    values: np.ndarray
    right: np.ndarray

    def mean(self, first: int = 0) -> float:
        """Over all places from ``first`` on."""
        return _mean(self.values[:, first:])

    def counted(self, first: int = 0) -> int:
        """How many places from ``first`` on count."""
        return int((~np.isnan(self.values[:, first:])).sum())

    @property
    def share_right(self) -> float:
        """Of all places that count, those where the likeliest token is the target."""
        return _mean(self.right)

    def share_within(self) -> tuple[float, float]:
        """95 % interval of the share that is right: Wilson's, for as many answers as are worth it.

        Answers of one sequence hang together (several reads of one write). With k_i of them in
        sequence i, x_i right, p = Σx/Σk and n sequences, the share's variance is
        n/(n-1) · Σ(x_i - p·k_i)² / (Σk)²; so many times as it exceeds p(1-p)/Σk, so many answers
        are worth one. NaN where nothing counts.
        """
        asked = (~np.isnan(self.right)).sum(axis=1)
        right, count = np.nansum(self.right, axis=1), int(asked.sum())
        if not count:
            return math.nan, math.nan
        share, sequences = float(right.sum()) / count, len(asked)
        alone = share * (1 - share) / count
        spread = float(((right - share * asked) ** 2).sum()) / count**2
        together = spread * sequences / max(1, sequences - 1)
        worth = count / max(1.0, together / alone) if alone else float(count)
        return wilson(share, worth)

    def windows(self, count: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Middle of each window, and the mean in it; NaN where nothing counts."""
        edges = np.linspace(0, self.values.shape[1], count + 1).round().astype(int)
        pairs = list(itertools.pairwise(edges))
        middles = tuple(float(first + end - 1) / 2 for first, end in pairs)
        return middles, tuple(_mean(self.values[:, first:end]) for first, end in pairs)


def wilson(share: float, count: float) -> tuple[float, float]:
    """Wilson's 95 % interval of a share seen in ``count`` trials (1927)."""
    z2 = _NORMAL_95**2
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = math.sqrt(z2 * share * (1 - share) / count + z2**2 / (4 * count**2)) / (1 + z2 / count)
    return max(0.0, middle - half), min(1.0, middle + half)


def _mean(values: np.ndarray) -> float:
    counted = values[~np.isnan(values)]
    return float(counted.mean()) if counted.size else math.nan


def places(
    model: Model,
    plan: Plan,
    length: int,
    variant: str = "as trained",
    told: Callable[[], None] = lambda: None,
    until: float = math.inf,
) -> Places:
    """The model on new sequences of one length, the same for every encoding with this plan.

    Where answers are counted, sets of ``plan.test_sequences`` are drawn until LEAST_ANSWERS of them
    are there. ``until`` is a time of ``time.process_time``: after it no further set is drawn, and
    OutOfTime is raised where the first one is not done.
    """
    rng = np.random.default_rng([plan.seed, _TEST_SEED, length])
    wanted = LEAST_ANSWERS if plan.about.metric == "accuracy" else 0
    sets: list[Places] = []
    answers = 0
    model.eval()
    while not sets or (answers < wanted and len(sets) < _MOST_ROUNDS):
        made = batch(plan.task, rng, plan.test_sequences, length, variant)
        try:
            sets.append(_of_set(model, plan, made, told, until))
        except OutOfTime:
            if not sets:
                raise
            break
        answers += sets[-1].counted()
    return Places(
        np.concatenate([one.values for one in sets]), np.concatenate([one.right for one in sets])
    )


def _of_set(
    model: Model, plan: Plan, made: Batch, told: Callable[[], None], until: float
) -> Places:
    length = made.tokens.shape[1]
    at_once = max(1, _MOST_LOGITS // (plan.heads * length**2))
    found, right = [], []
    with torch.no_grad():
        for first in range(0, plan.test_sequences, at_once):
            if time.process_time() > until:
                raise OutOfTime
            part = slice(first, first + at_once)
            logits = model(torch.from_numpy(made.tokens[part]))
            chances = None if made.chances is None else torch.from_numpy(made.chances[part])
            targets = torch.from_numpy(made.targets[part])
            right.append(_right(logits, targets))
            found.append(
                right[-1] if plan.about.metric == "accuracy" else _losses(logits, targets, chances)
            )
            told()
    unasked = made.targets == IGNORED
    values, answers = (np.where(unasked, np.nan, np.concatenate(one)) for one in (found, right))
    return Places(values, answers)


def _right(logits: torch.Tensor, targets: torch.Tensor) -> np.ndarray:
    return np.asarray((logits.argmax(dim=-1) == targets).to(torch.float64).numpy())


def _losses(
    logits: torch.Tensor, targets: torch.Tensor, chances: torch.Tensor | None
) -> np.ndarray:
    if chances is not None:
        each = -(chances * torch.log_softmax(logits.to(torch.float64), dim=-1)).sum(dim=-1)
    else:
        each = losses(logits, targets, IGNORED)
    return np.asarray(each.to(torch.float64).numpy())
