"""Attention weights of one query."""

from __future__ import annotations

from typing import cast

import numpy as np

from posviz.figures.results.drawn import At, Line, Lines, ResultFigure, counted
from posviz.measures import position_logits, softmax_rows
from posviz.results import AttentionBias, AttentionMask, AttentionTerms, Result


def head_of(result: Result, at: At) -> int:
    """The chosen head, or the last one that there is."""
    if isinstance(result, AttentionBias):
        return min(at.head, result.heads - 1)
    if isinstance(result, AttentionTerms):
        return min(at.head, int(next(iter(result.terms.values())).shape[0]) - 1)
    return 0


def _content(result: Result, at: At) -> Lines:
    query = min(at.position, int(result.positions.shape[0]) - 1)
    rows = position_logits(result, head_of(result, at), slice(query, query + 1))
    weights = softmax_rows(cast(np.ndarray, rows))[0]
    return Lines(
        [Line(f"query {query}", np.arange(len(weights)), weights)],
        counted("key position", result),
        "weight",
    )


figure = ResultFigure(
    id="weights_row",
    title="Weights of one query",
    formula=r"a_{mn} = \frac{e^{z_{mn}}}{\sum_{n'} e^{z_{mn'}}}",
    help="The softmax over the keys of the chosen query. For a bias or a mask the content is taken "
    "as equal, so this is what position alone does; for terms the logits hold the content shown.",
    limits="Equal content is an assumption: real keys differ, and the weights follow them.",
    accepts=lambda result: isinstance(result, AttentionBias | AttentionMask | AttentionTerms),
    content=_content,
    order=15,
    uses=frozenset({"position", "head"}),
)
