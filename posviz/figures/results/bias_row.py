"""What one query adds to each key."""

from __future__ import annotations

from typing import cast

import numpy as np

from posviz.figures.results.drawn import At, Line, Lines, ResultFigure
from posviz.measures import position_logits
from posviz.results import AttentionBias, MatrixBias, Result


def _content(result: Result, at: At) -> Lines:
    bias = cast(AttentionBias, result)
    query = min(at.position, int(result.positions.shape[0]) - 1)
    head = min(at.head, bias.heads - 1)
    row = cast(np.ndarray, position_logits(result, head, slice(query, query + 1)))[0]
    seen = np.isfinite(row)
    return Lines(
        [Line(f"query {query}, head {head}", np.flatnonzero(seen), row[seen])],
        "key position",
        "bias",
    )


figure = ResultFigure(
    id="bias_row",
    title="The row of one query",
    formula=r"B_h(m, n),\quad n = 0, 1, \dots",
    help="The row of the matrix that belongs to the chosen query: what it adds to every key.",
    limits="One query of many; move the position to see another.",
    accepts=lambda result: isinstance(result, MatrixBias),
    content=_content,
    order=12,
    uses=frozenset({"position", "head"}),
)
