"""The whole attention of one head, with its two margins."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from posviz.figures import theme
from posviz.figures.spec import FigureSpec, axis, curve, figure, layout
from posviz.measures.observed import block_map

MOST_CELLS = 512
_LONGEST = 9
"""Characters of a token that are written along the axes."""
_DEEPEST = -6.0
_MAIN, _MARGIN = 0.80, 0.84
"""Where the map ends and where its margins begin, of the plot's width and height."""


@figure(
    title="Attention of one head",
    formula=r"a_{mn},\quad \textstyle\sum_n a_{mn} = 1",
    help="Each row is a query, each column a key; the colour is the power of ten of the weight, "
    "faint for little and strong for much; hover for the two tokens. Above: the mean weight that "
    "each key gets from the queries that see it. At the right: the "
    "entropy of each query's weights, beside ln of the number of keys (grey).",
    limits="One text. Weights below 10⁻⁶ have the colour of 10⁻⁶. The last keys are seen by few "
    "queries, the very last by itself alone: their mean weights rise for that reason.",
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
    names = _names(tokens)
    seen = np.arange(1, count + 1) if is_causal else np.full(count, count)
    hover = "token %{x}<br>mean weight %{y:.3g}"
    above = curve(f"{label}: received", 0, names, received, hover=hover, yaxis="y2")
    side = curve(f"{label}: entropy", 0, entropy, [], hover="token %{y}<br>%{x:.3f} nats")
    ghost = curve("ln of the keys", None, np.log(seen), [], hover="%{x:.3f} nats")
    place = {"y": names, "xaxis": "x2"}
    ends = [-0.5, count - 0.5]
    named = {"type": "category", "showgrid": False, "nticks": 12}
    return FigureSpec(
        [_heatmap(weights, names, label, is_causal), above, {**ghost, **place}, {**side, **place}],
        layout(
            axis("key", range=ends, domain=[0, _MAIN], **named),
            axis("query", range=ends[::-1], domain=[0, _MAIN], **named),
            xaxis2=axis("nats", domain=[_MARGIN, 1], rangemode="tozero", nticks=3),
            yaxis2=axis("mean weight", domain=[_MARGIN, 1], rangemode="tozero", nticks=3),
            height=560,
            margin={"l": 96, "r": 8, "t": 8, "b": 130},
        ),
    )


def _names(tokens: Sequence[str]) -> np.ndarray:
    """Place and text of each token; the text alone would not tell them apart."""
    return np.asarray(
        [f"{place} {escape(token.strip()[:_LONGEST]) or '·'}" for place, token in enumerate(tokens)]
    )


def _heatmap(weights: np.ndarray, names: np.ndarray, label: str, is_causal: bool) -> dict[str, Any]:
    cells, middles = block_map(np.asarray(weights, dtype=np.float32), MOST_CELLS)
    with np.errstate(divide="ignore"):
        power = np.maximum(np.log10(cells), _DEEPEST)
    if is_causal:
        power = np.where(middles[None, :] > middles[:, None], np.nan, power)
    at = names[np.floor(middles).astype(int)]
    return {
        "type": "heatmap",
        "name": label,
        "x": at,
        "y": at,
        "z": power.astype(np.float32),
        "zmin": _DEEPEST,
        "zmax": 0.0,
        "colorscale": theme.SIZE,
        "colorbar": {
            "thickness": 8,
            "orientation": "h",
            "len": _MAIN,
            "x": _MAIN / 2,
            "y": -0.2,
            "yanchor": "top",
            "title": {"text": "log₁₀ weight", "side": "bottom"},
        },
        "hoverongaps": False,
        "hovertemplate": "query %{y}<br>key %{x}<br>log₁₀ weight %{z:.3f}"
        "<extra>%{fullData.name}</extra>",
    }
