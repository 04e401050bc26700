"""Length of the vector of each position."""

from __future__ import annotations

from typing import cast

import numpy as np

from posviz.figures.results.drawn import At, Line, Lines, ResultFigure
from posviz.measures import row_norms
from posviz.results import PositionTable, Result


def _content(result: Result, at: At) -> Lines:
    norms = row_norms(np.asarray(cast(PositionTable, result).vectors))
    return Lines([Line("length", np.arange(len(norms)), norms)], "position", "length of the vector")


figure = ResultFigure(
    id="table_norms",
    title="Length of each vector",
    formula=r"\lVert p_t \rVert = \text{⟨y⟩},\quad t = \text{⟨x⟩}",
    help="How long the vector of each position is. Sinusoids all have the length √(d/2); a trained "
    "table often has longer first rows, and long ones at the end where training rarely came.",
    limits="A length says nothing of the direction, and the model may normalise it away.",
    accepts=lambda result: isinstance(result, PositionTable) and len(result.vectors) > 1,
    content=_content,
    cursor="position",
    order=64,
    uses=frozenset(),
)
