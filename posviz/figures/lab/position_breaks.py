"""What other position ids do to an encoder's attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posviz.figures import theme
from posviz.figures.lab.tiles import Head
from posviz.figures.spec import FigureSpec, axis, figure, layout

_DEEPEST = -4.0
_GAP = 0.09


@figure(
    title="Attention with true and with other position ids",
    formula=r"x_t = e_{\text{token}(t)} + p_{\text{id}(t)}",
    help="The same tokens in the same places, once with their true position ids and once with the "
    "others; the colour is the power of ten of the weight. A head that looks at the word beside "
    "has a strong diagonal at the left; at the right the line goes wherever the ids went.",
    limits="Means over blocks of one text. Weights below 10⁻⁴ have the colour of 10⁻⁴.",
)
def permuted_maps(
    maps: np.ndarray, permuted: np.ndarray, places: np.ndarray, *, head: Head, order: str
) -> FigureSpec:
    """Two heatmaps with one scale.

    Parameters
    ----------
    maps, permuted : (layers, heads, cells, cells) weights, in the order of the text.
    places : (cells,) middle of each block, in tokens.
    """
    ends = [float(places[0]) - 0.5, float(places[-1]) + 0.5]
    half = (1 - _GAP) / 2
    return FigureSpec(
        [
            _heatmap(maps[head], places, "true ids", {}),
            _heatmap(permuted[head], places, f"{order} ids", {"xaxis": "x2", "yaxis": "y2"}),
        ],
        layout(
            axis("key, true ids", range=ends, domain=[0, half]),
            axis("query", range=ends[::-1]),
            xaxis2=axis(f"key, {order} ids", range=ends, domain=[half + _GAP, 1]),
            yaxis2=axis("", range=ends[::-1], anchor="x2", showticklabels=False),
        ),
    )


@figure(
    title="Attention on neighbours, by head",
    formula=r"\frac{1}{n} \sum_m \left(a_{m,m-1} + a_{m,m+1}\right)",
    help="Share of attention on the two tokens beside the query, heads sorted by what they give "
    "with true ids. Circles: true ids. Crosses: other ids, on the tokens beside in the text. "
    "Diamonds: other ids, on the tokens whose ids stand beside. Where diamonds keep the height of "
    "the circles, the head follows the ids and not the text.",
    limits="Where all ids are equal, no token has a neighbour by id, and there are no diamonds.",
)
def neighbour_shares(
    true: np.ndarray, permuted: np.ndarray, by_ids: np.ndarray, *, chosen: Head | None = None
) -> FigureSpec:
    """Three marks for each head, (layers, heads) each; ``customdata`` is [layer, head]."""
    heads = true.shape[1]
    order = np.argsort(-true.ravel(), kind="stable")
    named = [[int(place) // heads, int(place) % heads] for place in order]
    kinds: Sequence[tuple[str, np.ndarray, int, str]] = (
        ("true ids", true, 0, "circle"),
        ("other ids, beside in the text", permuted, 1, "x"),
        ("other ids, beside by id", by_ids, 2, "diamond-open"),
    )
    traces = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": name,
            "x": np.arange(len(order)),
            "y": values.ravel()[order].astype(float),
            "customdata": named,
            "marker": {"size": 7, "symbol": symbol, "color": theme.SERIES[slot]},
            "hovertemplate": "layer %{customdata[0]}, head %{customdata[1]}<br>share %{y:.3f}"
            "<extra>%{fullData.name}</extra>",
        }
        for name, values, slot, symbol in kinds
        if np.isfinite(values).any()
    ]
    shapes: list[dict[str, Any]] = []
    if chosen is not None:
        at = named.index(list(chosen))
        line = {"color": theme.REFERENCE, "width": 1, "dash": "dot"}
        shapes = [{"type": "line", "x0": at, "x1": at, "y0": 0, "y1": 1, "line": line}]
    return FigureSpec(
        traces,
        layout(
            axis("rank of the head", range=[-1, len(order)]),
            axis("share of attention on neighbours", range=[-0.03, 1.03]),
            shapes=shapes,
        ),
    )


def _heatmap(
    weights: np.ndarray, places: np.ndarray, name: str, where: dict[str, Any]
) -> dict[str, Any]:
    with np.errstate(divide="ignore"):
        power = np.maximum(np.log10(weights.astype(float)), _DEEPEST)
    return {
        "type": "heatmap",
        "name": name,
        "x": places,
        "y": places,
        "z": power,
        "zmin": _DEEPEST,
        "zmax": 0.0,
        "colorscale": theme.SIZE,
        "showscale": not where,
        "colorbar": {"thickness": 10, "title": {"text": "log₁₀ weight"}},
        "hovertemplate": "query %{y:.0f}<br>key %{x:.0f}<br>log₁₀ weight %{z:.3f}"
        "<extra>%{fullData.name}</extra>",
        **where,
    }
