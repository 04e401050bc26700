"""Mean weight that each key gets."""

from __future__ import annotations

from typing import cast

import numpy as np

from posviz.figures.results.drawn import MOST_CELLS, At, Line, Lines, ResultFigure, counted
from posviz.figures.results.weights_row import head_of
from posviz.measures import position_logits, softmax_rows
from posviz.results import AttentionBias, AttentionMask, AttentionTerms, Result


def _content(result: Result, at: At) -> Lines:
    count = min(MOST_CELLS, int(result.positions.shape[0]))
    first = slice(0, count)
    logits = cast(np.ndarray, position_logits(result, head_of(result, at), first, first))
    weights = softmax_rows(logits)
    return Lines(
        [Line("mean over the queries", np.arange(count), weights.mean(axis=0))],
        counted("key position", result),
        "mean weight",
    )


figure = ResultFigure(
    id="key_marginal",
    title="Weight that each key gets",
    formula=r"\frac{1}{n} \sum_m a_{mn}",
    help="The mean of the weights down each column of the matrix: which keys are looked at by "
    "position alone. Under a causal mask early keys are seen by more queries.",
    limits="Taken over the first 512 positions at most, at equal content unless the encoding "
    "brings its own.",
    accepts=lambda result: isinstance(result, AttentionBias | AttentionMask | AttentionTerms),
    content=_content,
    order=16,
    uses=frozenset({"head"}),
)
