"""Factor on the logits of each query."""

from __future__ import annotations

from typing import cast

import numpy as np

from posviz.figures.results.drawn import At, Line, Lines, ResultFigure
from posviz.results import Result, RotaryResult


def _content(result: Result, at: At) -> Lines:
    scale = np.asarray(cast(RotaryResult, result).query_scale, dtype=float)
    positions = np.asarray(result.positions, dtype=float)
    return Lines([Line("factor", positions, scale, is_step=True)], "position", "factor")


figure = ResultFigure(
    id="query_scale",
    title="Factor on the logits of a query",
    formula=r"a_m = \text{⟨y⟩},\quad m = \text{⟨x⟩}",
    help="How much sharper the attention of a query becomes with its position.",
    limits="The factor alone; what it does to the weights depends on the logits.",
    accepts=lambda result: isinstance(result, RotaryResult) and result.query_scale is not None,
    content=_content,
    cursor="position",
    order=19,
    uses=frozenset(),
)
