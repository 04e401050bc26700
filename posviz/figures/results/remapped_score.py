"""Score against true distance where the rotation sees another one."""

from __future__ import annotations

from typing import cast

import numpy as np

from posviz.figures.results.drawn import At, Line, Lines, ResultFigure, counted
from posviz.results import RelativeRotation, Result


def _content(result: Result, at: At) -> Lines:
    rotation = cast(RelativeRotation, result)
    last = len(rotation.positions) - 1
    positions = np.asarray(rotation.positions)
    true = positions[last] - positions[::-1]
    seen = np.asarray(rotation.relative_distance)[last, ::-1]
    inv_freq = np.asarray(rotation.inv_freq)
    places = np.arange(last + 1)
    return Lines(
        [
            Line("as the rotation sees it", places, np.cos(seen[:, None] * inv_freq).mean(axis=1)),
            Line("plain RoPE", places, np.cos(true[:, None] * inv_freq).mean(axis=1)),
        ],
        counted("distance (query − key)", result),
        "score, q = k",
    )


figure = ResultFigure(
    id="remapped_score",
    title="Score with the remapped distance",
    formula=r"\frac{2}{d} \sum_i \cos(\delta' f_i) = \text{⟨y⟩}",
    help="The score of the last query with an equal key, against the true distance. Where the "
    "distance is held or grouped, the score stands still or moves in steps.",
    limits="The last query only; a real query and key are not equal.",
    accepts=lambda result: isinstance(result, RelativeRotation),
    content=_content,
    cursor="distance",
    order=10,
    uses=frozenset(),
)
