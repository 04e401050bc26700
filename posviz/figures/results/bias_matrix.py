"""The bias of one head between all queries and keys."""

from __future__ import annotations

from typing import cast

import numpy as np

from posviz.figures.results.drawn import MOST_CELLS, At, Map, ResultFigure, counted
from posviz.measures import position_logits
from posviz.results import AttentionBias, Result


def _content(result: Result, at: At) -> Map:
    count = int(result.positions.shape[0])
    head = _head(result, at)
    block = max(1, -(-count // MOST_CELLS))
    starts = np.arange(0, count, block)
    # One band of queries at a time, so that no matrix of a long context is ever whole.
    bands = [_band(result, head, slice(start, start + block), starts) for start in starts]
    middles = starts + (np.minimum(starts + block, count) - 1 - starts) / 2
    return Map(
        x=middles,
        y=middles,
        z=np.stack(bands),
        x_title=counted("key position", result),
        y_title=counted("query position", result),
        z_title="bias",
        block=block,
    )


def _band(result: Result, head: int, rows: slice, starts: np.ndarray) -> np.ndarray:
    """Means over blocks of the keys that are seen; NaN for a block without any."""
    found = position_logits(result, head, rows)
    assert found is not None
    seen = np.isfinite(found)
    sums = np.add.reduceat(np.where(seen, found, 0).sum(axis=0), starts)
    counts = np.add.reduceat(seen.sum(axis=0), starts)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def _head(result: Result, at: At) -> int:
    return min(at.head, cast(AttentionBias, result).heads - 1)


def _slots(result: Result, at: At) -> dict[str, str]:
    query = min(at.position, int(result.positions.shape[0]) - 1)
    key = max(0, query - at.distance)
    row = cast(np.ndarray, position_logits(result, _head(result, at), slice(query, query + 1)))
    return {
        "head": str(_head(result, at)),
        "query": str(query),
        "key": str(key),
        "value": f"{float(row[0, key]):.5g}",
    }


figure = ResultFigure(
    id="bias_matrix",
    title="Added to the logits",
    formula=r"B_h(m, n) = \text{⟨value⟩},\quad h = \text{⟨head⟩},\; m = \text{⟨query⟩},\; "
    r"n = \text{⟨key⟩}",
    help="What is added to the logit of each query (row) and key (column) in the chosen head, "
    "counted from 0. Blank cells are masked. Where every diagonal has one colour, it depends on "
    "the distance only.",
    limits="The bias alone: the content, q·k, is added to it and can outweigh it.",
    accepts=lambda result: isinstance(result, AttentionBias),
    content=_content,
    slots=_slots,
    order=10,
    uses=frozenset({"position", "distance", "head"}),
    is_map=True,
)
