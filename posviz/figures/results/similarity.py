"""Similarity of every two positions."""

from __future__ import annotations

import numpy as np

from posviz.figures.results.drawn import MOST_CELLS, At, Map, ResultFigure, pair_at, pair_slots
from posviz.measures import features, similarity_map
from posviz.results import Result


def _content(result: Result, at: At) -> Map:
    found = features(result)
    assert found is not None
    cells = similarity_map(found, MOST_CELLS)
    return Map(
        x=cells.middles,
        y=cells.middles,
        z=cells.values,
        x_title="key position",
        y_title="query position",
        z_title="similarity",
        block=cells.block,
    )


def _slots(result: Result, at: At) -> dict[str, str]:
    found = features(result)
    assert found is not None
    query, key = pair = pair_at(len(found.queries), at)
    return pair_slots(pair, np.dot(found.queries[query], found.keys[key]))


figure = ResultFigure(
    id="similarity",
    title="Similarity of two positions",
    formula=r"s(m, n) = \text{⟨value⟩},\quad m = \text{⟨query⟩},\; n = \text{⟨key⟩}",
    help="For vectors: the product of the vectors of two positions. For a rotation: the mean over "
    "the pairs of the cosine of their angle, the score of a query and an equal key. Where every "
    "diagonal has one colour, it depends on the distance only.",
    limits="Positions alone, without the words, and before any learned projection.",
    accepts=lambda result: features(result) is not None,
    content=_content,
    slots=_slots,
    order=30,
    uses=frozenset({"position", "distance"}),
    is_map=True,
)
