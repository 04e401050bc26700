"""The whole attention of one head, with its two margins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posviz.figures import theme
from posviz.figures.spec import FigureSpec, axis, curve, figure, layout
from posviz.measures.observed import block_map

MOST_CELLS = 512
_MOST_NAMED = 48
"""Tokens that are written along the axes."""
_DEEPEST = -6.0
_MAIN, _MARGIN = 0.80, 0.84
"""Where the map ends and where its margins begin, of the plot's width and height."""


@figure(
    title="Attention of one head",
    formula=r"a_{mn},\quad \textstyle\sum_n a_{mn} = 1",
    help="Each row is a query, each column a key; the colour is the power of ten of the weight. "
    "Above: the mean weight that each key gets from the queries that see it. At the right: the "
    "entropy of each query's weights, beside ln of the number of keys (grey).",
    limits="One text. Weights below 10⁻⁶ have the colour of 10⁻⁶.",
)
def attention_map(
    weights: np.ndarray,
    received: np.ndarray,
    entropy: np.ndarray,
    *,
    tokens: Sequence[str],
    label: str,
    is_causal: bool = True,
) -> FigureSpec:
    """A heatmap with the mean of its columns above and the entropy of its rows beside it.

    Parameters
    ----------
    weights : (n, n) queries × keys.
    received, entropy : (n,) of the keys and of the queries.
    is_causal : whether keys after their query are left blank.
    """
    count = len(weights)
    places = np.arange(count, dtype=np.int32)
    seen = places + 1 if is_causal else np.full(count, count)
    hover = "token %{x}: %{text}<br>mean weight %{y:.3g}"
    above = curve(f"{label}: received", 0, places, received, hover=hover, yaxis="y2")
    side = curve(
        f"{label}: entropy", 0, entropy, places, hover="token %{y}: %{text}<br>%{x:.3f} nats"
    )
    ghost = curve("ln of the keys", None, np.log(seen), places, hover="%{x:.3f} nats")
    named = {"text": list(tokens)}
    ends = [-0.5, count - 0.5]
    return FigureSpec(
        [
            _heatmap(weights, label, is_causal),
            {**above, **named},
            {**ghost, "xaxis": "x2"},
            {**side, **named, "xaxis": "x2"},
        ],
        layout(
            axis("key", range=ends, domain=[0, _MAIN], **_ticks(tokens)),
            axis("query", range=ends[::-1], domain=[0, _MAIN], **_ticks(tokens)),
            xaxis2=axis("nats", domain=[_MARGIN, 1], rangemode="tozero", nticks=3),
            yaxis2=axis("mean weight", domain=[_MARGIN, 1], rangemode="tozero", nticks=3),
            height=520,
        ),
    )


def _heatmap(weights: np.ndarray, label: str, is_causal: bool) -> dict[str, Any]:
    cells, middles = block_map(np.asarray(weights, dtype=np.float32), MOST_CELLS)
    with np.errstate(divide="ignore"):
        power = np.maximum(np.log10(cells), _DEEPEST)
    if is_causal:
        power = np.where(middles[None, :] > middles[:, None], np.nan, power)
    return {
        "type": "heatmap",
        "name": label,
        "x": middles,
        "y": middles,
        "z": power.astype(np.float32),
        "zmin": _DEEPEST,
        "zmax": 0.0,
        "colorscale": theme.SIZE,
        "showscale": False,
        "hovertemplate": "query %{y:.0f}<br>key %{x:.0f}<br>log₁₀ weight %{z:.3f}"
        "<extra>%{fullData.name}</extra>",
    }


def _ticks(tokens: Sequence[str]) -> dict[str, Any]:
    """The tokens themselves, where there is room for them."""
    if len(tokens) > _MOST_NAMED:
        return {}
    return {
        "tickvals": list(range(len(tokens))),
        "ticktext": [one.strip() or "·" for one in tokens],
    }
