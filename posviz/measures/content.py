"""Models of the content: what q·k is, where nobody has a trained model at hand.

Four of them, and none is what a trained head does. ``zero``: q·k is 0 for every key, so that
biases and masks alone decide, and a rotation has nothing to turn. ``gaussian``: the logits of keys
are independent draws. ``same``: every key equals the query. ``needle``: one key matches the query
among draws.
"""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.measures.rows import alike, alike_at, head_bias, like_of
from posviz.measures.wave_sum import wave_sum, waves_at
from posviz.parameters import Declared, Parameter
from posviz.results import Array, LogitRow

_AHEAD = 1 << 17
"""Distances whose score is worked out at a time: 1 MB."""

Kind = Literal["zero", "gaussian", "same", "needle"]


class Content(Declared):
    """What the reader assumes of queries and keys; every number is a logit before any factor."""

    title: ClassVar[str] = "Content"

    content: Annotated[
        Kind,
        Parameter(
            help="zero: q·k is 0 for every key, so that biases and masks alone decide; a rotation "
            "has nothing to turn. gaussian: each key's logit is an independent draw. same: every "
            "key equals the query. needle: one key matches the query, the others are draws."
        ),
    ] = "zero"
    sigma: Annotated[
        float,
        Ge(0),
        Le(100),
        Parameter(
            help="Standard deviation of the drawn logits; 1 is q·k/√D for normal q and k.",
            symbol=r"\sigma",
            slider=(0, 5),
            step=0.1,
        ),
    ] = 1.0
    match: Annotated[
        float,
        Ge(0),
        Le(1000),
        Parameter(
            help="Logit of a key that equals the query, at distance 0: 10.5 gives such a key 0.9 "
            "of the weight among 4,096; all ones in 128 dimensions give √128 = 11.3.",
            symbol="g",
            slider=(0, 32),
            step=0.1,
        ),
    ] = 10.5
    depth: Annotated[
        float,
        Ge(0),
        Le(1),
        Parameter(
            help="Where the needle lies: 0 at the query itself, 1 at the first token; tests that "
            "hide a needle in a document count the other way.",
            slider=(0, 1),
            step=0.01,
        ),
    ] = 0.5
    needle_turns: Annotated[
        bool,
        Parameter(
            help="Whether the rotation acts on the needle, whose logit then follows the score of "
            "equal content at its distance; off: it keeps its logit wherever it lies."
        ),
    ] = False
    seed: Annotated[
        int,
        Ge(0),
        Le((1 << 32) - 1),
        Parameter(help="Which draw of the logits is shown.", slider=(0, 20), step=1),
    ] = 0

    @property
    def is_drawn(self) -> bool:
        """Whether the keys' logits are draws with a spread."""
        return self.content in ("gaussian", "needle") and self.sigma > 0

    def needle_distance(self, length: int) -> int:
        """Distance of the needle from the last query, whole tokens."""
        return round(self.depth * (length - 1))


class Hay:
    """Logits of all keys that are no needle, block after block; draws go on where they stopped.

    The draw of a key belongs to its distance, so every spec and every length meets the same ones.
    """

    def __init__(self, row: LogitRow, content: Content, head: int | None = 0) -> None:
        """``head`` None leaves the bias out, which is what the heads share."""
        self.row, self.content, self.head = row, content, head
        self._rng = np.random.default_rng(content.seed)
        self._ahead: tuple[int, int, Array | float] = (0, 0, 1.0)

    def __call__(self, first: int, end: int) -> Array:
        """(end - first,) logits at distances first … end-1; each asked for once, in order."""
        logits = self._content(first, end)
        if self.row.bias is not None and self.head is not None:
            return logits + head_bias(self.row, self.head, first, end)
        return logits

    @property
    def is_flat(self) -> bool:
        """Whether every logit is 0."""
        without_bias = self.row.bias is None or self.head is None
        return without_bias and self.content.content != "same" and not self.content.is_drawn

    def _content(self, first: int, end: int) -> Array:
        like = like_of(self.row)
        xp = array_namespace(like)
        if self.content.content == "same":
            size = content_factor(self.row, self._score(first, end), self.content.match)
            return xp.full(end - first, size, dtype=like.dtype) if _is_one(size) else size
        if not self.content.is_drawn:
            return xp.zeros(end - first, dtype=like.dtype)
        drawn = xp.asarray(self._rng.standard_normal(end - first), dtype=like.dtype)
        return self.content.sigma * drawn * spread_factor(self.row, first, end - first)

    def _score(self, first: int, end: int) -> Array | float:
        """The score of equal content, worked out some way ahead: larger pieces cost less each."""
        start, stop, score = self._ahead
        if not start <= first < end <= stop:
            start, stop = first, max(end, min(self.row.length, first + _AHEAD))
            score = alike(self.row, start, stop - start)
            self._ahead = (start, stop, score)
        return score if isinstance(score, float) else score[first - start : end - start]


def _is_one(number: Array | float) -> bool:
    return isinstance(number, float | int)


def content_factor(row: LogitRow, score: Array | float, size: float = 1.0) -> Array | float:
    """What becomes of a logit of content of this size whose rotated part has this score of equal
    content."""
    if row.inv_freq is None and row.alike is None:
        return size * row.gain * score
    still = size * row.gain * (1 - row.rotary_share)
    turned = (size * row.gain * row.rotary_share * row.rotary_gain) * score
    return turned + still if still else turned


def spread_factor(row: LogitRow, start: int, count: int) -> Array | float:
    """Standard deviation of q·k/√D for independent normal q and k, at δ = start … start+count-1.

    A rotation keeps it; gains scale it, and a pair that fades takes its share with it:
    gain·√(share·rotary_gain²·mean_i e^(2λ_i·δ) + 1 - share).
    """
    if row.log_kept is None:
        return _spread(row, 1.0)
    faded = wave_sum(0 * row.log_kept, count, start=float(start), log_kept=2 * row.log_kept)
    return _spread(row, faded / row.log_kept.shape[0])


def spread_at(row: LogitRow, distances: Array) -> Array | float:
    """The same at some distances."""
    if row.log_kept is None:
        return _spread(row, 1.0)
    faded = waves_at(distances, 0 * row.log_kept, 2 * row.log_kept)
    return _spread(row, faded / row.log_kept.shape[0])


def _spread(row: LogitRow, kept: Array | float) -> Array | float:
    if row.inv_freq is None:
        return row.gain
    squared = row.rotary_share * row.rotary_gain**2 * kept + 1 - row.rotary_share
    return row.gain * squared**0.5


def needle_logit(
    row: LogitRow, content: Content, head: int = 0, length: int | None = None
) -> float:
    """Logit of the needle of this context, or of a shorter one whose row is its beginning."""
    distance = content.needle_distance(row.length if length is None else length)
    score = 1.0
    if content.needle_turns:
        found = alike_at(row, array_namespace(like_of(row)).asarray([distance]))
        score = found if isinstance(found, float) else float(found[0])
    logit = float(content_factor(row, score, content.match))
    if row.bias is not None:
        logit += float(row.bias_of(np.asarray([float(distance)]), head)[0])
    return logit if distance <= row.window else -math.inf
