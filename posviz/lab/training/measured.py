"""Testing a trained model at any length: losses and right answers at every place."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch

from posviz.lab.training.batches import IGNORED, batch
from posviz.lab.training.model import Model, losses
from posviz.lab.training.plan import Plan

WINDOWS = 64
"""Windows of the curve against position."""
_MOST_LOGITS = 1 << 22
"""Most logits of attention at once: 16 MB, about what stays quick."""
_TEST_SEED = 3


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

    @property
    def share_right(self) -> float:
        """Of all places that count, those where the likeliest token is the target."""
        return _mean(self.right)

    def windows(self, count: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Middle of each window, and the mean in it; NaN where nothing counts."""
        edges = np.linspace(0, self.values.shape[1], count + 1).round().astype(int)
        pairs = list(itertools.pairwise(edges))
        middles = tuple(float(first + end - 1) / 2 for first, end in pairs)
        return middles, tuple(_mean(self.values[:, first:end]) for first, end in pairs)


def _mean(values: np.ndarray) -> float:
    counted = values[~np.isnan(values)]
    return float(counted.mean()) if counted.size else math.nan


def places(
    model: Model,
    plan: Plan,
    length: int,
    variant: str = "as trained",
    told: Callable[[], None] = lambda: None,
) -> Places:
    """The model on new sequences of one length, the same for every encoding with this plan."""
    rng = np.random.default_rng([plan.seed, _TEST_SEED, length])
    made = batch(plan.task, rng, plan.test_sequences, length, variant)
    at_once = max(1, _MOST_LOGITS // (plan.heads * length**2))
    model.eval()
    found, right = [], []
    with torch.no_grad():
        for first in range(0, plan.test_sequences, at_once):
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
