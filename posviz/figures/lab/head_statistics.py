"""One statistic of every head."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from posviz.figures import theme
from posviz.figures.lab.tiles import Head
from posviz.figures.spec import FigureSpec, axis, figure, layout

_MARGIN = 0.04


@figure(
    title="A statistic of every head",
    formula=r"s_{\text{layer},\,\text{head}}",
    help="One dot for each head: sorted from large to small, or over the layers. The chosen head "
    "is the filled diamond. Hover for the head, click to look at it closely.",
    limits="Measured on one text. Where a statistic includes the first token, a sink on it is "
    "much of what it tells.",
)
def head_statistics(
    values: np.ndarray,
    *,
    words: str,
    chosen: Head | None = None,
    across: Literal["rank", "layer"] = "rank",
) -> FigureSpec:
    """Dots with ``customdata`` [layer, head].

    Parameters
    ----------
    values : (layers, heads).
    words : what the statistic is, with its unit, for the axis.
    """
    layers, heads = values.shape
    order = np.argsort(-values.ravel(), kind="stable")
    named = [[int(place) // heads, int(place) % heads] for place in order]
    x: Any = np.arange(len(order)) if across == "rank" else np.array([layer for layer, _ in named])
    y = values.ravel()[order].astype(float)
    traces = [_dots(x, y, named, words)]
    if chosen is not None:
        at = named.index(list(chosen))
        mark = {"size": 11, "symbol": "diamond", "color": theme.SERIES[1]}
        picked = _dots(x[at : at + 1], y[at : at + 1], [named[at]], words)
        traces.append({**picked, "name": "chosen", "marker": mark})
    low, high = min(0.0, float(y.min())), float(y.max())
    margin = _MARGIN * max(high - low, 1e-9)
    ends = [-1, len(order)] if across == "rank" else [-0.7, layers - 0.3]
    return FigureSpec(
        traces,
        layout(
            axis("rank of the head" if across == "rank" else "layer", range=ends),
            axis(words, range=[low - margin, high + margin]),
        ),
    )


def _dots(x: Any, y: Any, named: list[list[int]], words: str) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "heads",
        "x": x,
        "y": y,
        "customdata": named,
        "marker": {"size": 6, "color": theme.SERIES[0], "opacity": 0.75},
        "hovertemplate": "layer %{customdata[0]}, head %{customdata[1]}<br>"
        f"{words} %{{y:.4g}}<extra></extra>",
    }
