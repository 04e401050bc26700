"""The logits term by term."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from posviz.figures.results.drawn import MOST_CELLS, At, Map, ResultFigure
from posviz.figures.results.weights_row import head_of
from posviz.measures import banded_block_means
from posviz.results import AttentionTerms, Result

SUM = "all terms together"


def _parts(result: Result) -> Sequence[str]:
    names = tuple(cast(AttentionTerms, result).terms)
    return (*names, SUM) if len(names) > 1 else names


def _matrices(result: Result, head: int) -> dict[str, np.ndarray]:
    found = {
        name: np.asarray(term)[head] for name, term in cast(AttentionTerms, result).terms.items()
    }
    return {**found, SUM: np.sum(list(found.values()), axis=0)}


def _content(result: Result, at: At) -> Map:
    matrices = _matrices(result, head_of(result, at))
    if cast(AttentionTerms, result).is_causal_only:
        positions = np.asarray(result.positions)
        later = positions[None, :] > positions[:, None]
        matrices = {name: np.where(later, np.nan, one) for name, one in matrices.items()}
    reach = max(float(np.nanmax(np.abs(one), initial=0.0)) for one in matrices.values()) or 1.0
    cells = banded_block_means(
        matrices[at.part or SUM].__getitem__, len(result.positions), MOST_CELLS
    )
    return Map(
        x=cells.middles,
        y=cells.middles,
        z=cells.values,
        x_title="key position",
        y_title="query position",
        z_title="logit",
        limits=(-reach, reach),
        block=cells.block,
    )


def _slots(result: Result, at: At) -> dict[str, str]:
    query = min(at.position, len(result.positions) - 1)
    key = max(0, query - at.distance)
    value = _matrices(result, head_of(result, at))[at.part or SUM][query, key]
    return {"query": str(query), "key": str(key), "value": f"{float(value):.5g}"}


figure = ResultFigure(
    id="terms",
    title="Logits",
    formula=r"z_{mn} = \text{⟨value⟩},\quad m = \text{⟨query⟩},\; n = \text{⟨key⟩}",
    help="What one term of the formula adds to the logit of each query (row) and key (column), all "
    "terms in one colour scale. Stripes along diagonals depend on the distance, upright stripes on "
    "the key alone, level ones on the query alone.",
    limits="One head, and these queries and keys; in a trained model both are learned.",
    accepts=lambda result: isinstance(result, AttentionTerms),
    content=_content,
    slots=_slots,
    order=10,
    uses=frozenset({"position", "distance", "head"}),
    is_map=True,
    parts=_parts,
)
