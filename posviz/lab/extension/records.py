"""What a run gives: plain numbers, so that they can be sent, stored and drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Numbers = tuple[float, ...]
MEASURED = ("exact", "right", "loss", "absent_exact", "absent_right", "absent_loss")
"""The tables of a :class:`PasskeyGrid`, by length and depth."""

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
    title : its name with its factor.
    positions : where the means stand: the middle of each window of tokens, counted from 0.
    mean : nats per token. A token's loss is -ln of the probability that the model gave it.
    low, high : one standard error around the mean (:data:`BAND`).
    counts : tokens under each mean.
    mean_window : tokens under a whole one.
    trained_window : of the model, or the artificial one.
    rope_parameters : the dict that was put into the model's configuration, as it was exported.
    total, read : tokens asked for, and read so far.
    within, beyond : mean loss of the tokens before token trained_window and from it on, with
        standard errors: (mean, error, tokens); None where there are none.
    last : the same of the last quarter of total.
    notes : whole sentences on what a reader must know.
    facts : seed, versions, hashes, the configuration's check, the machine.
    is_plain : whether this is the model with its own frequencies, without any extension.
    """

    link: str
    applied: str
    title: str
    positions: Numbers
    mean: Numbers
    low: Numbers
    high: Numbers
    counts: tuple[int, ...]
    mean_window: int
    trained_window: int
    rope_parameters: Mapping[str, Any]
    total: int
    read: int
    within: Numbers | None = None
    beyond: Numbers | None = None
    last: Numbers | None = None
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    facts: Mapping[str, Any] = field(default_factory=dict)
    is_plain: bool = False

    @property
    def is_done(self) -> bool:
        return self.read >= self.total


@dataclass(frozen=True, kw_only=True)
class Gap:
    """How a method's loss differs from that of the plain model on the same tokens.

    Attributes
    ----------
    link : the method; against : the plain model's link.
    positions, mean, low, high, counts : running mean of loss - plain loss, token by token, with
        one standard error, as in a :class:`LossCurve`; nats.
    within, beyond, last : its mean before and from token trained_window on, and in the last
        quarter: (mean, error, tokens).
    """

    link: str
    against: str
    positions: Numbers
    mean: Numbers
    low: Numbers
    high: Numbers
    counts: tuple[int, ...]
    within: Numbers | None = None
    beyond: Numbers | None = None
    last: Numbers | None = None


@dataclass(frozen=True, kw_only=True)
class PasskeyGrid:
    """How well pass keys are found, by length of the text and depth of the key.

    Every table is [length][depth], NaN where nothing was measured yet.

    Attributes
    ----------
    lengths : tokens that the model sees in all, question and answer included.
    depths : share of the text before the key, ascending.
    exact : share of keys that the model's own answer, token by token its first choice, gives whole.
    right : share of the answer's digits that are the key's digit in their place.
    loss : mean nats per token of the key when the tokens before are given.
    absent_exact, absent_right, absent_loss : the control, the same numbers when the model is asked
        for names that stand nowhere in the text: what is reached without the name being found.
    tries : keys under each cell.
    """

    link: str
    applied: str
    title: str
    lengths: tuple[int, ...]
    depths: Numbers
    exact: tuple[Numbers, ...]
    right: tuple[Numbers, ...]
    loss: tuple[Numbers, ...]
    absent_exact: tuple[Numbers, ...]
    absent_right: tuple[Numbers, ...]
    absent_loss: tuple[Numbers, ...]
    tries: int
    trained_window: int
    rope_parameters: Mapping[str, Any]
    example: str = ""
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    facts: Mapping[str, Any] = field(default_factory=dict)
    is_done: bool = False
