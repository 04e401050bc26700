"""The vectors of an absolute encoding as a map."""

from __future__ import annotations

from typing import cast

import numpy as np

from posviz.figures.results.drawn import MOST_CELLS, At, Map, ResultFigure
from posviz.measures import block_means
from posviz.results import PositionTable, Result


def _content(result: Result, at: At) -> Map:
    table = cast(PositionTable, result)
    rows = block_means(np.asarray(table.vectors), MOST_CELLS, axis=0)
    cells = block_means(rows.values, MOST_CELLS, axis=1)
    return Map(
        x=cells.middles,
        y=rows.middles,
        z=cells.values,
        x_title="dimension",
        y_title="position",
        z_title="value",
        block=max(rows.block, cells.block),
    )


def _slots(result: Result, at: At) -> dict[str, str]:
    vectors = np.asarray(cast(PositionTable, result).vectors)
    row, column = min(at.position, len(vectors) - 1), min(at.dimension, vectors.shape[1] - 1)
    return {
        "position": f"{row}",
        "dimension": f"{column}",
        "value": f"{vectors[row, column]:.5g}",
    }


figure = ResultFigure(
    id="table_map",
    title="Position × dimension",
    formula=r"p_t[j] = \text{⟨value⟩},\quad t = \text{⟨position⟩},\; j = \text{⟨dimension⟩}",
    help="Each row is the vector of a position, each column one dimension. Blue is positive, red "
    "negative.",
    limits="The numbers as they are added, before the model projects them: which columns it uses "
    "cannot be seen here.",
    accepts=lambda result: isinstance(result, PositionTable),
    content=_content,
    slots=_slots,
    order=10,
    uses=frozenset({"position", "dimension"}),
    is_map=True,
)
