"""The distance that a remapped rotation sees."""

from __future__ import annotations

from typing import cast

import numpy as np

from posviz.figures.results.drawn import MOST_CELLS, At, Map, ResultFigure, counted
from posviz.measures import block_means
from posviz.results import RelativeRotation, Result


def _matrix(result: Result) -> np.ndarray:
    distance = np.asarray(cast(RelativeRotation, result).relative_distance, dtype=float)
    positions = np.asarray(result.positions)
    return np.where(positions[None, :] > positions[:, None], np.nan, distance)


def _content(result: Result, at: At) -> Map:
    rows = block_means(_matrix(result), MOST_CELLS, axis=0)
    cells = block_means(rows.values, MOST_CELLS, axis=1)
    return Map(
        x=cells.middles,
        y=rows.middles,
        z=cells.values,
        x_title=counted("key position", result),
        y_title=counted("query position", result),
        z_title="distance seen (tokens)",
        colours="size",
        block=max(rows.block, cells.block),
    )


def _slots(result: Result, at: At) -> dict[str, str]:
    query = min(at.position, len(result.positions) - 1)
    key = max(0, query - at.distance)
    return {
        "query": str(query),
        "key": str(key),
        "value": f"{float(_matrix(result)[query, key]):.5g}",
    }


figure = ResultFigure(
    id="seen_distance",
    title="Distance that the rotation sees",
    formula=r"\delta'(m, n) = \text{⟨value⟩},\quad m = \text{⟨query⟩},\; n = \text{⟨key⟩}",
    help="What becomes of the distance of each query (row) and key (column). Plateaus are "
    "distances that cannot be told apart any more.",
    limits="Keys after the query are left blank: these methods are made for causal models.",
    accepts=lambda result: isinstance(result, RelativeRotation),
    content=_content,
    slots=_slots,
    order=9,
    uses=frozenset({"position", "distance"}),
    is_map=True,
)
