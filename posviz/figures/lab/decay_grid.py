"""Measured and predicted attention against distance, of all heads at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posviz.figures import theme
from posviz.figures.lab.distance_decay import shown
from posviz.figures.lab.tiles import Head, Tiles
from posviz.figures.spec import FigureSpec, figure, layout

POINTS = 24
"""Distances of a tile's line."""
_DEEPEST = -4.0
_INSET = 0.06
_TILE = 34
"""Height of a row of tiles, pixels."""


@figure(
    title="Measured and predicted decay of every head",
    formula=r"\bar{a}(\delta) = \frac{1}{n - \delta} \sum_{m \geq \delta} a_{m,\,m-\delta}",
    help="One tile for each head: mean attention against distance on the same two logarithmic "
    "axes, from distance 1 at the left, 10⁻⁴ at the bottom and 1 at the top. Solid is what was "
    "measured among the tokens after the first; dashed is the core's prediction from the model's "
    "frequencies with the head's mean query and mean key. Grey is what equal logits give, no "
    "positions at all: it falls too, since far keys are seen only by queries that see many keys. "
    "Hover for the head, click to choose it.",
    limits="The means are those of this head on this text; nothing is fitted to the weights. Where "
    "the two part, it is the content of single tokens that decides and not the distance; where "
    "both lie on the grey line, position decides nothing. Distances that fewer than 16 queries "
    "have are left out.",
)
def decay_grid(
    measured: np.ndarray,
    predicted: np.ndarray,
    flat: np.ndarray,
    tiles: Tiles,
    *,
    notes: Sequence[str],
    chosen: Head | None = None,
) -> FigureSpec:
    """Three lines in every tile, each trace one line with breaks between the tiles.

    Parameters
    ----------
    measured, predicted : (layers, heads, distances) mean attention at distances 0, 1, ….
    flat : (distances,) the same of all heads where all logits are equal.
    notes : what the hover says of each head, in the order of the tiles.
    """
    x, y = tiles.axes()
    return FigureSpec(
        [
            _lines("no positions", None, np.broadcast_to(flat, measured.shape), tiles),
            _lines("predicted from mean q and k", 1, predicted, tiles),
            _lines("measured", 0, measured, tiles),
            tiles.clickable(notes, size=0.8 * _TILE),
        ],
        layout(
            x,
            y,
            shapes=[*_boxes(tiles), *tiles.frame(chosen)],
            height=40 + _TILE * max(tiles.rows, 9),
            margin=tiles.margin(bottom=8),
        ),
    )


def tile_distances(count: int) -> np.ndarray:
    """Distances from 1 on that a tile shows, evenly spaced on a log axis."""
    return np.unique(np.round(np.geomspace(1, max(1, shown(count) - 1), POINTS)).astype(int))


def _lines(name: str, slot: int | None, curves: np.ndarray, tiles: Tiles) -> dict[str, Any]:
    at = tile_distances(curves.shape[-1])
    across = np.log(at) / max(float(np.log(at[-1])), 1e-9)
    xs, ys = [], []
    for place, (layer, head) in enumerate(tiles.heads):
        column, row = tiles.corner(place)
        with np.errstate(divide="ignore"):
            power = np.log10(curves[layer, head, at].astype(float))
        # What lies below the tile is not drawn along its floor: the line breaks.
        shown = np.where(power >= _DEEPEST, power / _DEEPEST, np.nan)
        xs += [*(column + _INSET + (1 - 2 * _INSET) * across), np.nan]
        ys += [*(row + _INSET + (1 - 2 * _INSET) * shown), np.nan]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": np.asarray(xs, dtype=np.float32),
        "y": np.asarray(ys, dtype=np.float32),
        "line": {
            **(theme.line(slot) if slot is not None else {"color": theme.GHOST}),
            "width": 1.3,
            "dash": "dot" if slot == 1 else "solid",
        },
        "connectgaps": False,
        "hoverinfo": "skip",
    }


def _boxes(tiles: Tiles) -> list[dict[str, Any]]:
    """Lines between the tiles."""
    line = {"color": theme.GHOST, "width": 0.4}
    upright: list[dict[str, Any]] = [
        {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": tiles.rows, "line": line}
        for x in range(tiles.columns + 1)
    ]
    level: list[dict[str, Any]] = [
        {"type": "line", "x0": 0, "x1": tiles.columns, "y0": y, "y1": y, "line": line}
        for y in range(tiles.rows + 1)
    ]
    return upright + level
