"""The distance that a remapped rotation sees."""

from __future__ import annotations

import functools
from typing import cast

import numpy as np

from posviz.figures.results.drawn import (
    MOST_CELLS,
    At,
    Map,
    ResultFigure,
    counted,
    pair_at,
    pair_slots,
)
from posviz.measures import banded_block_means
from posviz.results import RelativeRotation, Result


def _rows(result: Result, rows: slice) -> np.ndarray:
    """The distance seen by some queries, NaN for keys after them: (queries, keys)."""
    distance = np.asarray(cast(RelativeRotation, result).relative_distance)[rows]
    positions = np.asarray(result.positions)
    return np.where(positions[None, :] > positions[rows, None], np.nan, distance)


def _content(result: Result, at: At) -> Map:
    cells = banded_block_means(functools.partial(_rows, result), len(result.positions), MOST_CELLS)
    return Map(
        x=cells.middles,
        y=cells.middles,
        z=cells.values,
        x_title=counted("key position", result),
        y_title=counted("query position", result),
        z_title="distance seen (tokens)",
        colours="size",
        block=cells.block,
    )


def _slots(result: Result, at: At) -> dict[str, str]:
    query, key = pair = pair_at(len(result.positions), at)
    return pair_slots(pair, _rows(result, slice(query, query + 1))[0, key])


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
