"""What a run gives: plain numbers, so that they can be sent, stored and drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Numbers = tuple[float, ...]

BAND = (
    "The band is the mean ± one standard error: s/√n, with s the sample standard deviation of the "
    "n single-token losses under the mean. They all come from one text and neighbours are alike, "
    "so it tells how rough this curve is, not how another text would differ."
)


@dataclass(frozen=True, kw_only=True)
class LossCurve:
    """Loss against position of one model with one method, as far as it has been read.

    Attributes
    ----------
    link : the method as it was asked for; applied : completed with the model's own numbers.
    title : its name.
    positions : where the means stand: the middle of each window of tokens, counted from 0.
    mean : nats per token. A token's loss is -ln of the probability that the model gave it.
    low, high : one standard error around the mean (:data:`BAND`).
    counts : tokens under each mean.
    window : tokens under a whole one.
    trained_window : of the model, or the artificial one.
    rope_parameters : the dict that was put into the model's configuration, as it was exported.
    total, read : tokens asked for, and read so far.
    within, beyond : mean loss of the tokens before trained_window and from it on, with standard
        errors: (mean, error, tokens); None where there are none.
    notes : whole sentences on what a reader must know.
    facts : seed, versions, hashes, the configuration's check, the machine.
    """

    link: str
    applied: str
    title: str
    positions: Numbers
    mean: Numbers
    low: Numbers
    high: Numbers
    counts: tuple[int, ...]
    window: int
    trained_window: int
    rope_parameters: Mapping[str, Any]
    total: int
    read: int
    within: Numbers | None = None
    beyond: Numbers | None = None
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_done(self) -> bool:
        return self.read >= self.total


@dataclass(frozen=True, kw_only=True)
class PasskeyGrid:
    """How well pass keys are found, by length of the haystack and depth of the key.

    Attributes
    ----------
    lengths : tokens before the question, as asked for.
    depths : share of the text before the key, ascending.
    right : right[length][depth], share of the key's tokens that the model ranks first when those
        before are given; NaN where nothing was measured yet.
    loss : mean nats per token of the key, likewise.
    tries : tokens under each cell.
    chance : the share and the loss of guessing digits: 0.1 and ln 10.
    """

    link: str
    applied: str
    title: str
    lengths: tuple[int, ...]
    depths: Numbers
    right: tuple[Numbers, ...]
    loss: tuple[Numbers, ...]
    tries: int
    trained_window: int
    rope_parameters: Mapping[str, Any]
    chance: tuple[float, float] = (0.1, 2.302585092994046)
    example: str = ""
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    facts: Mapping[str, Any] = field(default_factory=dict)
    is_done: bool = False
