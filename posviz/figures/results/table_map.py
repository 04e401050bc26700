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
    blank = _blank_rows(table)
    # A blank zone, as long as an eighth of the table, for the positions that have no row.
    beyond = rows.middles[-1] + rows.block * np.arange(1, blank + 1)
    return Map(
        x=cells.middles,
        y=np.append(rows.middles, beyond),
        z=np.concatenate((cells.values, np.full((blank, cells.values.shape[1]), np.nan))),
        x_title="dimension",
        y_title=f"position (undefined from {table.undefined_from} on)" if blank else "position",
        z_title="value",
        block=max(rows.block, cells.block),
    )


def _blank_rows(table: PositionTable) -> int:
    """Cells of the zone past the end of a table; 0 where the end is not in sight."""
    count = int(table.positions.shape[0])
    end = table.undefined_from
    in_sight = end is not None and count > 0 and float(table.positions[-1]) == end - 1
    return max(1, min(count, MOST_CELLS) // 8) if in_sight else 0


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
