"""Score against distance for equal query and key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posviz.figures import theme
from posviz.figures.spec import FigureSpec, Series, axis, curve, figure, layout, log_axis
from posviz.figures.wavelengths import length_levels
from posviz.measures import ScoreDecay, thin

_BUCKETS = 360
"""At most two points per bucket: as many as a panel has pixels."""


@figure(
    title="Score against distance, q = k",
    formula=r"a(\delta) = G\,\frac{2}{d}\sum_i \cos(\delta' f'_i) = \text{⟨score⟩},"
    r"\quad \delta = \text{⟨distance⟩}",
    help="The score of a query with a key equal to it, all pairs of the same weight, as the "
    "distance grows. Unscaled RoPE starts at 1, a method with an attention factor m at G = m², "
    "times what it does to the softmax or to the last query. δ′ is the distance that the rotation "
    "sees: δ unless a method remaps it. The diamond marks the first distance at which the sum "
    "turns negative: from there on, an equal key can score less than an unrelated one.",
    limits="Real queries and keys are not equal, and dimensions that do not rotate are left out. "
    "For independent ones the expected score is 0 at every distance; and the curve itself is not "
    "monotone.",
)
def score_decay(
    series: Sequence[Series[ScoreDecay]],
    *,
    trained_length: int,
    target_length: int,
    cursor: int | None = None,
) -> FigureSpec:
    """Score per distance on a log axis, thinned to what a screen can show, extremes kept.

    The point at ``cursor`` is always kept, so that what is read there is its own score.
    """
    traces: list[dict[str, Any]] = []
    for item in series:
        distances, scores = thin(
            item.measure.distances[1:], item.measure.scores[1:], _BUCKETS, log=True
        )
        if cursor is not None and 1 <= cursor < len(item.measure.scores):
            distances, place = np.unique(np.append(distances, cursor), return_index=True)
            scores = np.append(scores, item.measure.scores[cursor])[place]
        traces.append(
            curve(
                item.label,
                item.slot,
                distances.astype(np.int32),
                scores,
                hover="distance %{x:,}<br>score %{y:.4f}",
            )
        )
    traces += [mark for item in series if (mark := _first_negative(item)) is not None]
    top = max(float(np.nanmax(trace["y"])) for trace in traces)
    bottom = min(float(np.nanmin(trace["y"])) for trace in traces)
    return FigureSpec(
        traces,
        layout(
            log_axis("distance (tokens)", 0.9, max(target_length, 2)),
            axis("score", range=[min(bottom, -0.1) - 0.05, max(top, 1.0) + 0.05], zeroline=True),
            levels=length_levels(trained_length, target_length, across="x")[:1],
        ),
    )


def _first_negative(item: Series[ScoreDecay]) -> dict[str, Any] | None:
    first = item.measure.first_negative
    if first is None:
        return None
    ink = theme.line(item.slot)["color"]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": f"{item.label}: first negative at {first:,}",
        "x": np.array([first], dtype=np.int32),
        "y": np.array([float(item.measure.scores[first])]),
        "marker": {"symbol": "diamond", "size": 9, "color": ink},
        "showlegend": False,
        "hovertemplate": "first negative score<br>distance %{x:,}<extra>" + item.label + "</extra>",
    }
