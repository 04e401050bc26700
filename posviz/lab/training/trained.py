"""What a training gives: plain numbers, so that they can be sent, stored and drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Numbers = tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Trained:
    """One encoding trained by one plan, as far as it has come.

    Attributes
    ----------
    link : the encoding as it was asked for.
    fitted : the encoding as it was used, with the sizes of the tiny model.
    title : its name.
    plan : the plan's values.
    steps, loss : the mean training loss, nats per scored token, up to each of these steps.
    lengths : test lengths, tokens, ascending.
    scores : test result at each length by variant of the task: nats per token over the last quarter
        of a training's length, or the share of answers that are right; NaN where there is none.
    answers : how many places each of these is a mean of.
    low, high : the 95 % interval of a share of right answers; empty for a loss.
    positions, by_position : loss or accuracy against position in the longest test, in windows;
        the middle of each, tokens from 0.
    metric : "loss" or "accuracy".
    best, chance : of the task.
    notes : whole sentences on what a reader must know: a training cut short, a table that ends.
    seconds : of processor time, on one core, for the training; facts : versions.
    is_done : False for a result on its way.
    """

    link: str
    fitted: str
    title: str
    plan: Mapping[str, Any]
    steps: tuple[int, ...] = ()
    loss: Numbers = ()
    lengths: tuple[int, ...] = ()
    scores: Mapping[str, Numbers] = field(default_factory=dict)
    answers: Mapping[str, Numbers] = field(default_factory=dict)
    low: Mapping[str, Numbers] = field(default_factory=dict)
    high: Mapping[str, Numbers] = field(default_factory=dict)
    positions: Numbers = ()
    by_position: Numbers = ()
    metric: str = "loss"
    best: float = 0.0
    chance: float = 0.0
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    facts: Mapping[str, Any] = field(default_factory=dict)
    is_done: bool = False

    @property
    def length(self) -> int:
        """The length of training: tokens."""
        return int(self.plan["length"])

    @property
    def score(self) -> Numbers:
        """Test results at each length, of sequences made as in training."""
        return next(iter(self.scores.values()), ())


@dataclass(frozen=True, kw_only=True)
class Extended:
    """A trained RoPE model whose frequencies were swapped for the test.

    Attributes
    ----------
    links : method to the encoding that it puts in, at the largest factor.
    factors : s; the test runs at s lengths of training.
    loss : method to the loss at each factor: nats per scored token, over all places of sequences of
        s lengths of training, as published accuracies of such swaps are counted.
    at_end : the same over the last length of training alone, where every position is new.
    right : method to the share of all places where the likeliest token is the right one.
    at_training_length : method to the loss at the length of training with each factor's
        frequencies.
    curves : method to loss against position, in windows, at the largest factor.
    """

    plan: Mapping[str, Any]
    links: Mapping[str, str]
    factors: Numbers
    loss: Mapping[str, Numbers]
    at_training_length: Mapping[str, Numbers]
    at_end: Mapping[str, Numbers] = field(default_factory=dict)
    right: Mapping[str, Numbers] = field(default_factory=dict)
    positions: Numbers = ()
    curves: Mapping[str, Numbers] = field(default_factory=dict)
    best: float = 0.0
    chance: float = 0.0
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    facts: Mapping[str, Any] = field(default_factory=dict)
    is_done: bool = False
