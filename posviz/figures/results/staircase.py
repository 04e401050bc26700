"""Which bucket a distance falls into."""

from __future__ import annotations

from typing import cast

import numpy as np

from posviz.figures.results.drawn import At, Line, Lines, ResultFigure
from posviz.results import Result, Staircase


def _content(result: Result, at: At) -> Lines:
    stairs = cast(Staircase, result.staircase)
    return Lines(
        [
            Line(
                "bucket",
                np.asarray(stairs.distances, dtype=float),
                np.asarray(stairs.buckets, dtype=float),
                is_step=True,
            )
        ],
        "distance (query − key)",
        "bucket",
    )


figure = ResultFigure(
    id="staircase",
    title="Bucket of each distance",
    formula=r"\text{bucket} = \text{⟨y⟩},\quad \delta = m - n = \text{⟨x⟩}",
    help="Distances on one step share a number or a vector. Positive distances are keys before the "
    "query, negative ones keys after it.",
    limits="Which distances share, not what they share.",
    accepts=lambda result: result.staircase is not None,
    content=_content,
    cursor="distance",
    order=32,
    uses=frozenset(),
)
