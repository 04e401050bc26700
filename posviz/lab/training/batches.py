"""Sequences of the tasks: NumPy only, the same for the same generator."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from posviz.lab.training.tasks import NOISE, SEGMENT, SOURCE_SEED, SYMBOLS
from posviz.parameters import ParameterError, closest

IGNORED = -1
"""Target of a place that does not count."""
MARK, PADDING = SYMBOLS, SYMBOLS + 1
"""Of copy and reverse: between the two rows, and after the second."""
SHORTEST_ROW = 4
WRITE, IGNORE, READ, ZERO = 0, 1, 2, 3
"""Of flip-flop: instructions, and the bit 0; the bit 1 is one more."""
RESET, UP, PAUSE, ASK, COUNT = 0, 1, 2, 3, 4
"""Of counting: orders, and the answer 0; the answer 9 is nine more."""
LARGEST_COUNT = 9
KNOWN_AFTER = 4
"""Symbols of the repetition that retrieval lets the model see before it counts."""


@dataclass(frozen=True)
class Batch:
    """Some sequences: tokens and, at each place, what the model shall say there.

    Attributes
    ----------
    tokens, targets : (sequences, length) whole numbers; targets are IGNORED where nothing counts.
    chances : (sequences, length, vocabulary) how likely each token comes next, where the task knows
        it: a test then averages over all that could have come, not over the one that came.
    """

    tokens: np.ndarray
    targets: np.ndarray
    chances: np.ndarray | None = None


Rng = np.random.Generator


def batch(task: str, rng: Rng, sequences: int, length: int, variant: str = "as trained") -> Batch:
    """Sequences of one task; rows of copy and reverse are as long as the length allows.

    Raises ParameterError for a variant that the task does not have.
    """
    ways = _WAYS[task]
    if variant not in ways:
        raise ParameterError(
            f"{task}: there is no variant {variant!r}; {closest(variant, list(ways))}."
        )
    return ways[variant](rng, sequences, length)


def training_batch(task: str, rng: Rng, sequences: int, length: int) -> Batch:
    """The same for training, where rows of copy and reverse have any length that fits: with one
    length only, a model learns one offset and not the task."""
    if task in _ROWS:
        longest = length // 2
        rows = rng.integers(min(SHORTEST_ROW, longest), longest + 1, sequences)
        return _two_rows(rng, rows, length, is_reversed=_ROWS[task])
    return batch(task, rng, sequences, length)


@functools.cache
def source_table() -> np.ndarray:
    """What follows two symbols when nothing disturbs: (SYMBOLS, SYMBOLS)."""
    return np.random.default_rng(SOURCE_SEED).integers(0, SYMBOLS, (SYMBOLS, SYMBOLS))


def _markov(rng: Rng, sequences: int, length: int) -> Batch:
    table = source_table()
    rows = np.empty((length + 1, sequences), dtype=np.int64)
    rows[:2] = rng.integers(0, SYMBOLS, (2, sequences))
    other = rng.integers(0, SYMBOLS, (length + 1, sequences))
    disturbed = rng.random((length + 1, sequences)) < NOISE
    for place in range(2, length + 1):
        foretold = table[rows[place - 2], rows[place - 1]]
        rows[place] = np.where(disturbed[place], other[place], foretold)
    targets = rows[1:].T.copy()
    targets[:, 0] = IGNORED  # nothing foretells the second symbol
    tokens = rows[:-1].T.copy()
    return Batch(tokens, targets, source_chances(tokens))


def source_chances(tokens: np.ndarray) -> np.ndarray:
    """How likely each symbol is to follow: (sequences, length, SYMBOLS); all alike at first."""
    chances = np.full((*tokens.shape, SYMBOLS), NOISE / SYMBOLS)
    foretold = source_table()[tokens[:, :-1], tokens[:, 1:]]
    np.put_along_axis(chances[:, 1:], foretold[..., None], 1 - NOISE + NOISE / SYMBOLS, axis=-1)
    chances[:, 0] = 1 / SYMBOLS
    return chances


def _two_rows(rng: Rng, rows: np.ndarray, length: int, *, is_reversed: bool) -> Batch:
    symbols = rng.integers(0, SYMBOLS, (len(rows), length))
    place = np.arange(length + 1)[None, :]
    row = rows[:, None]
    again = (2 * row - place) if is_reversed else (place - row - 1)
    source = np.where(place < row, place, np.clip(again, 0, row - 1))
    tokens = np.take_along_axis(symbols, source, axis=1)
    tokens = np.where(place == row, MARK, np.where(place > 2 * row, PADDING, tokens))
    following = place[:, 1:]
    counts = (following > row) & (following <= 2 * row)
    return Batch(tokens[:, :-1], np.where(counts, tokens[:, 1:], IGNORED))


def _rows(rng: Rng, sequences: int, length: int, *, is_reversed: bool) -> Batch:
    return _two_rows(rng, np.full(sequences, length // 2), length, is_reversed=is_reversed)


def _flip_flop(rng: Rng, sequences: int, length: int, *, ignored: float) -> Batch:
    pairs = length // 2
    shares = [(1 - ignored) / 2, ignored, (1 - ignored) / 2]
    orders = rng.choice(3, (sequences, pairs), p=shares)
    orders[:, 0], orders[:, -1] = WRITE, READ
    bits = rng.integers(0, 2, (sequences, pairs))
    written = np.where(orders == WRITE, np.arange(pairs)[None, :], 0)
    last = np.maximum.accumulate(written, axis=1)
    bits = np.where(orders == READ, np.take_along_axis(bits, last, axis=1), bits)
    tokens = np.full((sequences, length), IGNORE, dtype=np.int64)
    tokens[:, 0 : 2 * pairs : 2], tokens[:, 1 : 2 * pairs : 2] = orders, ZERO + bits
    targets = np.full_like(tokens, IGNORED)
    targets[:, 0 : 2 * pairs : 2] = np.where(orders == READ, ZERO + bits, IGNORED)
    return Batch(tokens, targets)


def _counting(rng: Rng, sequences: int, length: int, *, paused: float) -> Batch:
    working = 1 - paused
    shares = [0.1 * working, 0.55 * working, paused, 0.35 * working]
    orders = rng.choice(4, (length, sequences), p=shares)
    targets = np.full((length, sequences), IGNORED, dtype=np.int64)
    orders[0] = RESET
    count = np.zeros(sequences, dtype=np.int64)
    for place in range(length):
        # A count of 9 has no answer above it: the next up is a reset.
        full = (orders[place] == UP) & (count == LARGEST_COUNT)
        orders[place] = np.where(full, RESET, orders[place])
        count = np.where(orders[place] == RESET, 0, count + (orders[place] == UP))
        targets[place] = np.where(orders[place] == ASK, COUNT + count, IGNORED)
    return Batch(orders.T.copy(), targets.T.copy())


def _retrieval(rng: Rng, sequences: int, length: int) -> Batch:
    shortest, longest = (length // part for part in SEGMENT)
    segment = rng.integers(shortest, longest + 1, (sequences, 1))
    symbols = rng.integers(0, SYMBOLS, (sequences, longest))
    place = np.arange(length + 1)[None, :]
    tokens = np.take_along_axis(symbols, place % segment, axis=1)
    counts = place[:, 1:] >= segment + KNOWN_AFTER
    return Batch(tokens[:, :-1], np.where(counts, tokens[:, 1:], IGNORED))


_ROWS: Mapping[str, bool] = {"copy": False, "reverse": True}
Way = Callable[[Rng, int, int], Batch]
_WAYS: Mapping[str, Mapping[str, Way]] = {
    "markov": {"as trained": _markov},
    "copy": {"as trained": functools.partial(_rows, is_reversed=False)},
    "reverse": {"as trained": functools.partial(_rows, is_reversed=True)},
    "flip_flop": {
        "as trained": functools.partial(_flip_flop, ignored=0.8),
        "denser": functools.partial(_flip_flop, ignored=0.1),
        "sparser": functools.partial(_flip_flop, ignored=0.98),
    },
    "counting": {
        "as trained": functools.partial(_counting, paused=0.6),
        "sparser": functools.partial(_counting, paused=0.9),
    },
    "retrieval": {"as trained": _retrieval},
}
