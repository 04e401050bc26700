"""The bias of one head between all queries and keys."""

from __future__ import annotations

from typing import cast

import numpy as np

from posviz.figures.results.drawn import (
    MOST_CELLS,
    At,
    Map,
    ResultFigure,
    counted,
    pair_at,
    pair_slots,
)
from posviz.measures import logit_blocks, position_logits
from posviz.results import AttentionBias, Result


def _content(result: Result, at: At) -> Map:
    cells = logit_blocks(cast(AttentionBias, result), _head(result, at), MOST_CELLS)
    return Map(
        x=cells.middles,
        y=cells.middles,
        z=cells.values,
        x_title=counted("key position", result),
        y_title=counted("query position", result),
        z_title="bias",
        block=cells.block,
    )


def _head(result: Result, at: At) -> int:
    return min(at.head, cast(AttentionBias, result).heads - 1)


def _slots(result: Result, at: At) -> dict[str, str]:
    query, key = pair = pair_at(len(result.positions), at)
    head = _head(result, at)
    row = cast(np.ndarray, position_logits(result, head, slice(query, query + 1)))
    return {"head": str(head), **pair_slots(pair, row[0, key])}


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
