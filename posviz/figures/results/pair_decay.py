"""What each pair keeps over a distance."""

from __future__ import annotations

from typing import cast

import numpy as np

from posviz.figures.results.drawn import At, Line, Lines, ResultFigure
from posviz.results import Result, ScaledRotation


def _content(result: Result, at: At) -> Lines:
    rotation = cast(ScaledRotation, result)
    distances = np.arange(int(result.positions.shape[0]))
    cosines = np.cos(distances[:, None] * np.asarray(rotation.inv_freq))
    kept = np.asarray(rotation.decay) ** distances[:, None]
    return Lines(
        [
            Line("with the decay", distances, (cosines * kept).mean(axis=1)),
            Line("the same rotation without it", distances, cosines.mean(axis=1)),
        ],
        "distance (query − key)",
        "score, q = k",
    )


figure = ResultFigure(
    id="pair_decay",
    title="Score with and without the decay",
    formula=r"\frac{2}{D} \sum_i \zeta_i^{\delta/B} \cos(\delta f_i) = \text{⟨y⟩},\quad "
    r"\delta = \text{⟨x⟩}",
    help="The score of a query with an equal key. The decay takes most from the fast pairs, whose "
    "ripples it smooths.",
    limits="For keys after the query the same factor grows without bound: this needs a causal "
    "mask. Real queries and keys are not equal.",
    accepts=lambda result: isinstance(result, ScaledRotation),
    content=_content,
    cursor="distance",
    order=8,
    uses=frozenset(),
)
