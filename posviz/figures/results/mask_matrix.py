"""Which keys each query sees."""

from __future__ import annotations

from typing import cast

import numpy as np

from posviz.figures.results.drawn import MOST_CELLS, At, Map, ResultFigure, counted, pair_at
from posviz.measures import position_logits, seen_blocks
from posviz.results import AttentionMask, Result


def _content(result: Result, at: At) -> Map:
    cells = seen_blocks(cast(AttentionMask, result), MOST_CELLS)
    return Map(
        x=cells.middles,
        y=cells.middles,
        z=cells.values,
        x_title=counted("key position", result),
        y_title=counted("query position", result),
        z_title="seen",
        colours="size",
        limits=(0.0, 1.0),
        block=cells.block,
    )


def _slots(result: Result, at: At) -> dict[str, str]:
    query, key = pair_at(len(result.positions), at)
    row = cast(np.ndarray, position_logits(result, 0, slice(query, query + 1)))
    shown = "0" if row[0, key] == 0 else "-∞"
    return {"query": str(query), "key": str(key), "value": shown}


figure = ResultFigure(
    id="mask_matrix",
    title="What each query sees",
    formula=r"M_{mn} = \text{⟨value⟩},\quad m = \text{⟨query⟩},\; n = \text{⟨key⟩}",
    help="Full ink: the key (column) is seen by the query (row), and 0 is added to its logit. "
    "Blank: it is hidden, and minus infinity is added.",
    limits="One layer; the figure of the stack shows how far several layers see together.",
    accepts=lambda result: isinstance(result, AttentionMask),
    content=_content,
    slots=_slots,
    order=10,
    uses=frozenset({"position", "distance"}),
    is_map=True,
)
