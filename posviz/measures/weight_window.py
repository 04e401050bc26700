"""A window of the attention matrix of a long context, with the softmax over the whole of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posviz.encodings.base import Encoding
from posviz.measures.content import Content, Hay
from posviz.measures.lengths import at_least
from posviz.measures.one_pass import one_pass
from posviz.measures.rows import head_in, logit_row, longest_row, rows_by_kind
from posviz.measures.split_angle import Floats
from posviz.results import LogitRow, frozen

_KEYS_OF_ALL_ROWS = 1 << 20
"""Keys that are gone through where every query has a row of its own; fewer queries are shown
then."""
_FEWEST_ROWS = 8
_ROWS_READ_OFF = 64


@dataclass(frozen=True, kw_only=True)
class WeightWindow:
    """Weights of some queries and keys around one place.

    Attributes
    ----------
    queries : (queries,) positions; every ``step``-th of the window where rows are costly.
    keys : (keys,) positions of the window.
    weights : (queries, keys) share of each key among all keys of its query; NaN for the future.
    entropy : (queries,) nats, over all keys of the query.
    step : positions from one query to the next.
    """

    queries: Floats
    keys: Floats
    weights: Floats
    entropy: Floats
    step: int

    @property
    def key_share(self) -> Floats:
        """(keys,) mean weight that a key gets from the queries of the window that see it."""
        seen = np.isfinite(self.weights)
        total = np.where(seen, self.weights, 0).sum(axis=0)
        return np.asarray(total / np.maximum(seen.sum(axis=0), 1))


def weight_window(
    spec: Encoding,
    place: int,
    *,
    window: int = 128,
    content: Content | None = None,
    head: int = 0,
) -> WeightWindow:
    """Weights of the ``window`` queries around ``place`` for the keys at the same positions.

    Every row is the softmax over all keys 0 … query, but only the window is formed: no array has
    more than window² numbers or one number per token. Drawn logits are left out (their mean is 0),
    and so is the needle: each cell is what positions make of equal or the same content.

    Parameters
    ----------
    place : position of the query in the middle; the window is moved so that it begins at 0 or later
        and ends where the encoding does.
    window : queries and keys, at least 1.

    Raises
    ------
    ParameterError : a window of 0, a negative place, or one beyond what the encoding can give.
    """
    at_least("weight window", "window", window, 1)
    at_least("weight window", "place", place, 0, longest_row(spec) - 1)
    content = _without_draws(content or Content())
    last = min(max(place + (window + 1) // 2, window) - 1, longest_row(spec) - 1)
    first = max(0, last - window + 1)
    step = _step(spec, first, last)
    queries = np.arange(last, first - 1, -step)[::-1]
    keys = np.arange(first, last + 1)
    weights = np.full((len(queries), len(keys)), np.nan)
    entropy = np.empty(len(queries))
    for row, lengths in rows_by_kind(spec, [int(query) + 1 for query in queries]):
        members = [length - 1 for length in lengths]
        _fill(weights, entropy, members, row, (queries, first), content, head)
    return WeightWindow(
        queries=frozen(queries.astype(np.float64)),
        keys=frozen(keys.astype(np.float64)),
        weights=frozen(weights),
        entropy=frozen(entropy),
        step=step,
    )


def _step(spec: Encoding, first: int, last: int) -> int:
    """Positions from one query to the next: 1 where one pass over the keys serves them all."""
    count = last - first + 1
    if logit_row(spec, first + 1).kind == logit_row(spec, last + 1).kind:
        return 1
    rows = max(_FEWEST_ROWS, _KEYS_OF_ALL_ROWS // (last + 1))
    if spec.logit_row(1) is None:  # each row comes from a matrix of all pairs
        rows = min(rows, _ROWS_READ_OFF)
    return -(-count // min(count, rows))


def _without_draws(content: Content) -> Content:
    return content if content.content == "same" else Content(content="zero")


def _fill(
    weights: Floats,
    entropy: Floats,
    members: list[int],
    row: LogitRow,
    place: tuple[np.ndarray, int],
    content: Content,
    head: int,
) -> None:
    """The rows of some queries, from one pass over the longest of them."""
    queries, first = place
    head = head_in(row, head)
    seen = {query: row.keys_seen(query + 1) for query in members}
    sums = one_pass(Hay(row, content, head), list(seen.values()))
    for query in members:
        index = int(np.searchsorted(queries, query))
        beginning = sums.at(seen[query])
        entropy[index] = beginning.entropy
        # Distances of the window's keys that lie before this query, the nearest last.
        count = query - first + 1
        shown = np.zeros(count)
        near = min(count, seen[query])
        shown[count - near :] = np.exp(sums.logits[:near] - beginning.log_sum)[::-1]
        weights[index, :count] = shown
