"""The logits term by term."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np

from posviz.figures.results.drawn import MOST_CELLS, At, Map, ResultFigure, pair_at, pair_slots
from posviz.figures.results.weights_row import head_of
from posviz.measures import banded_block_means
from posviz.results import AttentionTerms, Result

SUM = "all terms together"
_FAINT = 0.05
"""Share of the largest term below which a term has a colour scale of its own."""


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
    reaches = {name: float(np.nanmax(np.abs(one), initial=0.0)) for name, one in matrices.items()}
    reach = max(reaches.values()) or 1.0
    own = reaches[at.part or SUM]
    # On the shared scale a term this small would look empty; it gets its own, and says so.
    is_faint = 0 < own < _FAINT * reach
    cells = banded_block_means(
        matrices[at.part or SUM].__getitem__, len(result.positions), MOST_CELLS
    )
    return Map(
        x=cells.middles,
        y=cells.middles,
        z=cells.values,
        x_title="key position",
        y_title="query position",
        z_title="logit, on a scale of its own" if is_faint else "logit",
        limits=(-own, own) if is_faint else (-reach, reach),
        block=cells.block,
    )


def _slots(result: Result, at: At) -> dict[str, str]:
    pair = pair_at(len(result.positions), at)
    return pair_slots(pair, _matrices(result, head_of(result, at))[at.part or SUM][pair])


figure = ResultFigure(
    id="terms",
    title="Logits",
    formula=r"z_{mn} = \text{⟨value⟩},\quad m = \text{⟨query⟩},\; n = \text{⟨key⟩}",
    help="What one term of the formula adds to the logit of each query (row) and key (column). All "
    "terms have one colour scale, but those that would look empty on it: they have their own, and "
    "say so. Stripes along diagonals depend on the distance, upright stripes on the key alone, "
    "level ones on the query alone.",
    limits="One head, and these queries and keys; in a trained model both are learned.",
    accepts=lambda result: isinstance(result, AttentionTerms),
    content=_content,
    slots=_slots,
    order=10,
    uses=frozenset({"position", "distance", "head"}),
    is_map=True,
    parts=_parts,
)
