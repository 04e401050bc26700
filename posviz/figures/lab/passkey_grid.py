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
_LEFT, _RIGHT = 92, 14
_CELL = 58
"""Pixels across that a cell needs so that its numbers are large enough to be read."""


class Grid(Protocol):
    """Shares by [length][depth], NaN where nothing was measured.

    Attributes
    ----------
    lengths : tokens in all; depths : share of the text before a key.
    exact : of keys that are answered whole; right : of digits right.
    loss : nats per token of a key.
    absent_exact : the share of answers to names that are not in the text which are this key.
    """

    @property
    def lengths(self) -> Sequence[int]: ...
    @property
    def depths(self) -> Sequence[float]: ...
    @property
    def exact(self) -> Sequence[Sequence[float]]: ...
    @property
    def right(self) -> Sequence[Sequence[float]]: ...
    @property
    def loss(self) -> Sequence[Sequence[float]]: ...
    @property
    def absent_exact(self) -> Sequence[Sequence[float]]: ...
    @property
    def trained_window(self) -> int: ...


_NO_NAME = "no such name"


@figure(
    title="Pass keys found",
    formula=r"\text{found} = \frac{\text{keys answered whole}}{\text{keys}} = \text{⟨found⟩}"
    r"\quad \text{at } \text{⟨length⟩} \text{ tokens, depth } \text{⟨depth⟩}",
    help="Keys of five digits, each with a name, lie in a long text, and the model is asked for "
    "each by its name. It answers by itself, always its first choice, and all five digits must be "
    "right: 1 is found, 0 is not; in brackets the share of digits right. Across, all tokens that "
    "the model sees; downwards, the depth of the key: 0 is the start of the text. The last row is "
    "the control: asked for names that are not in the text, how often a key that lies there is the "
    "answer, as a mean over the keys. What is not above it needs no name. The dotted line is the "
    "window L: left of it everything is seen within the window.",
    limits="The question repeats the name before the digits, so copying what followed it earlier "
    "is enough: this asks whether far keys are reached, not whether the text is understood. One "
    "key a cell is a single try: read rows and columns, not cells.",
)
def passkey_grid(series: Sequence[Series[Grid]]) -> FigureSpec:
    """One heat map per method on the same scale, 0 to 1, with the shares written in each cell."""
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
            "tokens in all" if row == rows - 1 else "",
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
    more = {"annotations": notes, "shapes": shapes, "height": 70 + 240 * rows}
    return FigureSpec(
        traces,
        {**whole, **axes, **more, "margin": {**whole["margin"], "t": 30, "l": _LEFT, "r": _RIGHT}},
    )


def narrowest(grids: Sequence[Grid]) -> int:
    """Pixels across below which the numbers in the cells of these grids get too small to read."""
    columns = min(_COLUMNS, max(len(grids), 1))
    cells = max((len(grid.lengths) for grid in grids), default=0)
    return _LEFT + _RIGHT + math.ceil(columns * cells * _CELL / (1 - _GAP_X * (columns - 1)))


def _cells(item: Series[Grid], number: str) -> dict[str, Any]:
    grid = item.measure
    exact, right, loss = (
        np.asarray(values, dtype=float).T for values in (grid.exact, grid.right, grid.loss)
    )
    floor = np.asarray(grid.absent_exact, dtype=float).mean(axis=1)
    nothing = np.full((1, len(floor)), np.nan)
    words = [
        [_words(*pair) for pair in zip(*rows, strict=True)]
        for rows in zip(exact, right, strict=True)
    ]
    return {
        "type": "heatmap",
        "name": item.label,
        "x": [f"{length:,}" for length in grid.lengths],
        "y": [*(f"{depth:g}" for depth in grid.depths), _NO_NAME],
        "z": np.vstack([exact, floor[None]]),
        "text": [*words, [_share(one) for one in floor]],
        "texttemplate": "%{text}",
        "customdata": np.dstack([np.vstack([right, nothing]), np.vstack([loss, nothing])]),
        "zmin": 0,
        "zmax": 1,
        "colorscale": theme.SIZE,
        "showscale": False,  # the shares stand in the cells
        "xgap": 2,
        "ygap": 2,
        "xaxis": f"x{number}",
        "yaxis": f"y{number}",
        "hovertemplate": "%{x} tokens<br>depth %{y}<br>%{z:.0%} of the keys found<br>"
        "%{customdata[0]:.0%} of the digits right<br>%{customdata[1]:.3f} nats per token when the "
        "tokens before are given<extra>%{fullData.name}</extra>",
    }


def _words(exact: float, right: float) -> str:
    return "" if math.isnan(exact) else f"{_share(exact)} ({_share(right)})"


def _share(value: float) -> str:
    return "" if math.isnan(value) else f"{value:.2g}"


def _window(grid: Grid, number: str) -> list[dict[str, Any]]:
    """The dotted line between the lengths within the trained window and those beyond."""
    # Question and answer are counted, so a length of the window lies wholly within it.
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
