"""Matrices that an encoding shows beside its result."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posviz.figures.results.drawn import MOST_CELLS, At, Map, ResultFigure, pair_at, pair_slots
from posviz.measures import block_means
from posviz.results import Result


def _parts(result: Result) -> Sequence[str]:
    return tuple(result.maps)


def _matrix(result: Result, at: At) -> np.ndarray:
    matrix = np.asarray(result.maps[at.part or next(iter(result.maps))], dtype=float)
    return matrix[min(at.head, len(matrix) - 1)] if matrix.ndim == 3 else matrix


def _content(result: Result, at: At) -> Map:
    rows = block_means(_matrix(result, at), MOST_CELLS, axis=0)
    cells = block_means(rows.values, MOST_CELLS, axis=1)
    negative = bool(np.nanmin(cells.values, initial=0.0) < 0)
    return Map(
        x=cells.middles,
        y=rows.middles,
        z=cells.values,
        x_title="key position",
        y_title="query position",
        z_title="value",
        colours="signed" if negative else "size",
        block=max(rows.block, cells.block),
    )


def _slots(result: Result, at: At) -> dict[str, str]:
    matrix = _matrix(result, at)
    pair = pair_at(len(matrix), at)
    return pair_slots(pair, matrix[pair])


figure = ResultFigure(
    id="named_maps",
    title="Inside",
    formula=r"\text{value} = \text{⟨value⟩},\quad m = \text{⟨query⟩},\; n = \text{⟨key⟩}",
    help="What the encoding works out on the way, for each query (row) and key (column).",
    limits="One head, where heads differ, and these queries and keys where content decides.",
    accepts=lambda result: bool(result.maps),
    content=_content,
    slots=_slots,
    order=14,
    uses=frozenset({"position", "distance", "head"}),
    is_map=True,
    parts=_parts,
)
