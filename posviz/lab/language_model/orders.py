"""Orders of position ids that an encoder is made to read a text in."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from posviz.lab.errors import LabError
from posviz.parameters import closest, shortened

ORDERS: Mapping[str, str] = {
    "reversed": "the ids of the words run backwards",
    "shuffled": "the ids of the words are dealt out at random",
    "swapped": "every two neighbouring words change ids",
    "shifted": "all ids are raised to the end of the table of positions",
    "equal": "every token has the id 0",
}
"""Name and words. The tokens themselves stay where they are."""
WORD_ORDER = ("The dog bit the man.", "The man bit the dog.")
"""Two sentences of the same words: without positions they are one."""


def position_ids(order: str, count: int, *, seed: int = 0, rows: int = 512) -> np.ndarray:
    """An id for each of ``count`` tokens: (count,), whole numbers below ``rows``.

    The first and the last token, which mark the ends of a text, keep their ids where the words
    between them change theirs.

    Raises
    ------
    LabError : an unknown order, or more tokens than the table has rows.
    """
    if order not in ORDERS:
        raise LabError(f"There is no order {shortened(order)}; {closest(order, tuple(ORDERS))}.")
    if not 1 <= count <= rows:
        raise LabError(f"position ids: there must be 1 to {rows} tokens; got {count}.")
    ids = np.arange(count)
    if order == "equal":
        return np.zeros(count, dtype=ids.dtype)
    if order == "shifted":
        return ids + (rows - count)
    words = ids[1:-1]
    if order == "reversed":
        words = words[::-1]
    elif order == "shuffled":
        words = np.random.default_rng(seed).permutation(words)
    else:
        words = words.copy()
        even = words[: len(words) // 2 * 2]
        even[0::2], even[1::2] = even[1::2].copy(), even[0::2].copy()
    return np.concatenate((ids[:1], words, ids[-1:])) if count > 1 else ids
