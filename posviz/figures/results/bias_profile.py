"""Bias against distance, head by head."""

from __future__ import annotations

from typing import cast

import numpy as np

from posviz.figures.results.drawn import At, Line, Lines, ResultFigure
from posviz.results import Result, ToeplitzBias


def _content(result: Result, at: At) -> Lines:
    bias = cast(ToeplitzBias, result)
    distances, values = np.asarray(bias.distances), np.asarray(bias.by_distance)
    shown = distances >= 0 if bias.is_causal_only else np.ones(len(distances), dtype=bool)
    chosen = min(at.head, bias.heads - 1)
    others = [0, bias.heads // 2, bias.heads - 1]
    return Lines(
        [
            Line(f"head {head}", distances[shown], values[head, shown])
            for head in dict.fromkeys([chosen, *others])
        ],
        "distance (query − key)",
        "bias",
    )


figure = ResultFigure(
    id="bias_profile",
    title="Bias against distance",
    formula=r"B_h(\delta) = \text{⟨y⟩},\quad \delta = m - n = \text{⟨x⟩}",
    help="The same bias as a curve: the chosen head as a solid line, and the first, the middle and "
    "the last head for comparison. Heads are counted from 0.",
    limits="A difference of logits, not of weights: 3 less is a weight 20 times smaller.",
    accepts=lambda result: isinstance(result, ToeplitzBias),
    content=_content,
    cursor="distance",
    order=11,
    uses=frozenset({"head"}),
)
