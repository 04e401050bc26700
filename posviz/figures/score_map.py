"""Scores of all queries and keys as a map."""

from __future__ import annotations

import numpy as np

from posviz.figures import theme
from posviz.figures.spec import FigureSpec, axis, figure, layout
from posviz.measures import ScoreMap


@figure(
    title="Score of every query and key, q = k",
    formula=r"a(m, n) = G_m\,\frac{2}{d}\sum_i \cos(\delta' f'_i),\quad n \le m",
    help="Each row is a query m, each column a key n before it; the diagonal is distance 0, G_m "
    "the whole factor on the logits of a query, δ′ the distance that the rotation sees. Blue is a "
    "positive score, red a negative one. Where every diagonal has one colour, the score depends "
    "on the distance only; methods that clamp or group distances show as steps and plateaus.",
    limits="A cell stands for many tokens: it holds the mean over its keys, or the score of its "
    "middle key where a method remaps distances, so the fast ripples of the curve are gone or "
    "sampled here. It is the q = k score of one method, not the attention of a model.",
)
def score_map(measure: ScoreMap, *, label: str) -> FigureSpec:
    """Causal map, diverging colours centred at zero; (queries, keys) in tokens."""
    scores = np.asarray(measure.scores)
    reach = measure.largest
    middles = (measure.edges[:-1] + measure.edges[1:] - 1) / 2
    last = float(measure.edges[-1])
    trace = {
        "type": "heatmap",
        "name": label,
        "x": middles,
        "y": middles,
        "z": scores,
        "zmin": -reach,
        "zmax": reach,
        "colorscale": theme.DIVERGING,
        "colorbar": {"thickness": 10, "title": {"text": "score"}},
        "hovertemplate": "query %{y:,.0f}<br>key %{x:,.0f}<br>score %{z:.4f}"
        "<extra>%{fullData.name}</extra>",
    }
    return FigureSpec(
        [trace],
        layout(
            axis("key position (tokens)", range=[0, last]),
            axis("query position (tokens)", range=[last, 0]),
        ),
    )
