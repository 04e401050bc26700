"""The tasks that a tiny model is trained on: what each asks, and how its result is read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Metric = Literal["loss", "accuracy"]
TaskId = Literal["markov", "copy", "reverse", "flip_flop", "counting", "retrieval"]

SYMBOLS = 16
"""Symbols that the source, copy, reverse and retrieval write with."""
NOISE = 0.1
"""Chance that the source writes any symbol instead of its table's."""
SOURCE_SEED = 64
"""Seed of the source's table, the same whatever the seed of a training is."""
SEGMENT = (8, 2)
"""Shortest and longest segment of retrieval: the length of the sequence divided by these."""


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task as a page shows it.

    Attributes
    ----------
    asks : what the model has to do, one or two sentences.
    metric : what its test measures: nats per token, or the share of answers that are right.
    best : the value that no model can beat, on average.
    chance : the value of a model that always gives the most frequent answer, or, for a loss, knows
        only which symbols are possible.
    vocabulary : number of different tokens.
    variants : how the test's sequences are made, by name; the first is as in training.
    steps : Adam steps in which a model of the usual size learns it.
    embedding_scale : the plan's, with which it does.
    """

    id: TaskId
    title: str
    asks: str
    metric: Metric
    best: float
    chance: float
    vocabulary: int
    variants: Mapping[str, str]
    steps: int = 400
    embedding_scale: float = 1.0


def entropy_rate() -> float:
    """Nats per token of the source: every pair of symbols leaves the same doubt about the next.

    The table's symbol comes with 1 - noise + noise/n, each of the n-1 others with noise/n.
    """
    other = NOISE / SYMBOLS
    right = 1 - NOISE + other
    return -right * math.log(right) - (SYMBOLS - 1) * other * math.log(other)


def zero_share() -> float:
    """Share of the most frequent answer of counting, 0.

    A count moves up with 0.55 and back to 0 with 0.1 of the orders that are no pauses, and from 9
    up to 0, so each count comes q = 0.55/0.65 times as often as the one below it, whatever the
    share of pauses: (1 - q)/(1 - q^10).
    """
    up = 0.55 / 0.65
    return (1 - up) / (1 - up**10)


_TASKS = (
    Task(
        id="markov",
        title="Order-2 source",
        asks="Foretell the next of 16 symbols: a fixed random table says which one follows the two "
        "before it, and one time in ten any symbol comes instead. All that matters is two tokens "
        "away, so a model that fails far out fails because of its positions alone.",
        metric="loss",
        best=entropy_rate(),
        chance=math.log(SYMBOLS),
        vocabulary=SYMBOLS,
        variants={"as trained": "The same source."},
    ),
    Task(
        id="copy",
        title="Copy",
        asks="A row of random symbols, a mark, then the same row again: only the second row "
        "counts. The model must find the token one row's length back.",
        metric="accuracy",
        best=1.0,
        chance=1 / SYMBOLS,
        vocabulary=SYMBOLS + 2,
        variants={"as trained": "Rows of random symbols."},
        steps=500,
        embedding_scale=8.0,
    ),
    Task(
        id="reverse",
        title="Reverse",
        asks="A row of random symbols, a mark, then the row from its end to its start: the token "
        "to find is a different distance away at every step.",
        metric="accuracy",
        best=1.0,
        chance=1 / SYMBOLS,
        vocabulary=SYMBOLS + 2,
        variants={"as trained": "Rows of random symbols."},
        steps=500,
        embedding_scale=8.0,
    ),
    Task(
        id="flip_flop",
        title="Flip-flop memory",
        asks="Pairs of an instruction and a bit: write stores its bit, ignore is to be skipped, "
        "read must give the bit last written. Only the bits after a read count.",
        metric="accuracy",
        best=1.0,
        chance=0.5,
        vocabulary=5,
        variants={
            "as trained": "8 of 10 instructions are ignored.",
            "denser": "1 of 10 instructions is ignored: the last write is near.",
            "sparser": "98 of 100 instructions are ignored: the last write is far back.",
        },
        steps=500,
        embedding_scale=8.0,
    ),
    Task(
        id="counting",
        title="Counting",
        asks="A row of orders: reset, up, pause, ask. At each ask the model must say how many ups "
        "came since the last reset, 0 to 9; the answers are not part of the row, so it cannot go "
        "on from the last one. Only the answers count. A reset comes every 20 tokens or so: what "
        "is counted stays near in a longer test.",
        metric="accuracy",
        best=1.0,
        chance=zero_share(),
        vocabulary=14,
        variants={
            "as trained": "6 of 10 orders are pauses.",
            "sparser": "9 of 10 orders are pauses: what is counted lies further apart.",
        },
        steps=500,
        embedding_scale=8.0,
    ),
    Task(
        id="retrieval",
        title="Retrieval",
        asks="A random segment, an eighth to half of the sequence long (8 to 32 symbols of 64), "
        "repeated to the end: every later symbol can be found one segment back, and in a longer "
        "test that is further back. Counted from four symbols into the second time on, when what "
        "came before tells the place.",
        metric="loss",
        best=0.0,
        chance=math.log(SYMBOLS),
        vocabulary=SYMBOLS,
        variants={"as trained": "Segments of an eighth to half of the length, drawn."},
        steps=500,
        embedding_scale=8.0,
    ),
)
TASKS: Mapping[str, Task] = {task.id: task for task in _TASKS}
