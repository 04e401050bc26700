"""Retrieval of pass keys by length and depth, one small grid per method."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from posviz.figures import theme
from posviz.figures.spec import FigureSpec, Series, axis, figure, layout

_COLUMNS = 2
_GAP_X, _GAP_Y = 0.06, 0.2


class Grid(Protocol):
    """Shares of right tokens: right[length][depth], NaN where nothing was measured.

    Attributes
    ----------
    lengths : tokens; depths : share of the text before a key.
    loss : nats per token of a key, likewise.
    """

    @property
    def lengths(self) -> Sequence[int]: ...
    @property
    def depths(self) -> Sequence[float]: ...
    @property
    def right(self) -> Sequence[Sequence[float]]: ...
    @property
    def loss(self) -> Sequence[Sequence[float]]: ...
    @property
    def trained_window(self) -> int: ...


@figure(
    title="Pass keys found",
    formula=r"\text{right} = \frac{\text{digits ranked first}}{\text{digits}} = \text{⟨right⟩}"
    r"\quad \text{at length } \text{⟨length⟩}, \text{ depth } \text{⟨depth⟩}",
    help="Keys of five digits, each with a name, lie in a long text, and the model is asked for "
    "each. The digits before are given, so guessing gets one in ten. Across, the length of the "
    "text; downwards, the depth of the key: 0 is the start of the text. The dotted line is the "
    "window that the model was trained with.",
    limits="The question repeats the name before the digits, so copying what followed it earlier "
    "is enough: this asks whether far keys are reached, not whether the text is understood. Five "
    "digits a cell are few; one wrong digit is a step of 0.2.",
)
def passkey_grid(series: Sequence[Series[Grid]]) -> FigureSpec:
    """One heat map per method on the same scale, 0 to 1, with the share written in each cell."""
    columns = min(_COLUMNS, max(len(series), 1))
    rows = max(-(-len(series) // columns), 1)
    traces: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    notes: list[dict[str, Any]] = []
    shapes: list[dict[str, Any]] = []
    for place, item in enumerate(series):
        row, column = divmod(place, columns)
        number = "" if place == 0 else str(place + 1)
        x, y = _domain(column, columns, _GAP_X), _domain(rows - 1 - row, rows, _GAP_Y)
        grid = item.measure
        traces.append(_cells(item, number))
        axes[f"xaxis{number}"] = axis(
            "length (tokens)" if row == rows - 1 else "",
            type="category",
            domain=x,
            anchor=f"y{number}",
            showgrid=False,
            tickangle=0,
            tickfont={"size": 10},
        )
        axes[f"yaxis{number}"] = axis(
            "depth" if column == 0 else "",
            type="category",
            domain=y,
            anchor=f"x{number}",
            autorange="reversed",
            showgrid=False,
            showticklabels=column == 0,
        )
        notes.append(_name(item.label, x, y))
        shapes += _window(grid, number)
    whole = layout(axes.pop("xaxis", axis("")), axes.pop("yaxis", axis("")))
    more = {"annotations": notes, "shapes": shapes, "height": 70 + 210 * rows}
    return FigureSpec(traces, {**whole, **axes, **more, "margin": {**whole["margin"], "t": 30}})


def _cells(item: Series[Grid], number: str) -> dict[str, Any]:
    grid = item.measure
    right = np.asarray(grid.right, dtype=float).T
    loss = np.asarray(grid.loss, dtype=float).T
    return {
        "type": "heatmap",
        "name": item.label,
        "x": [f"{length:,}" for length in grid.lengths],
        "y": [f"{depth:g}" for depth in grid.depths],
        "z": right,
        "text": [["" if math.isnan(one) else f"{one:.2g}" for one in row] for row in right],
        "texttemplate": "%{text}",
        "customdata": loss,
        "zmin": 0,
        "zmax": 1,
        "colorscale": theme.SIZE,
        "showscale": False,  # the shares stand in the cells
        "xgap": 2,
        "ygap": 2,
        "xaxis": f"x{number}",
        "yaxis": f"y{number}",
        "hovertemplate": "length %{x}<br>depth %{y}<br>%{z:.0%} of the digits right<br>"
        "%{customdata:.3f} nats per digit<extra>%{fullData.name}</extra>",
    }


def _window(grid: Grid, number: str) -> list[dict[str, Any]]:
    """The dotted line between the lengths within the trained window and those beyond."""
    within = sum(length <= grid.trained_window for length in grid.lengths)
    if within == len(grid.lengths):
        return []
    return [
        {
            "type": "line",
            "xref": f"x{number}",
            "yref": f"y{number} domain",
            "x0": within - 0.5,
            "x1": within - 0.5,
            "y0": 0,
            "y1": 1,
            "line": {"color": theme.REFERENCE, "width": 2, "dash": "dot"},
        }
    ]


def _name(label: str, x: list[float], y: list[float]) -> dict[str, Any]:
    return {
        "text": label,
        "x": x[0],
        "y": y[1],
        "xref": "paper",
        "yref": "paper",
        "xanchor": "left",
        "yanchor": "bottom",
        "showarrow": False,
        "font": {"size": 12},
    }


def _domain(place: int, count: int, gap: float) -> list[float]:
    size = (1 - gap * (count - 1)) / count
    start = place * (size + gap)
    return [start, min(1.0, start + size)]
