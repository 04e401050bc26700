"""The maps of all heads as one mosaic."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posviz.figures import theme
from posviz.figures.lab.tiles import Head, Tiles
from posviz.figures.spec import FigureSpec, figure, layout
from posviz.measures import block_means

MOST_CELLS = 512
_DEEPEST = -4.0
"""Powers of ten that the colours go down to."""
_TILE = 22
"""Height of a row of tiles, pixels."""


@figure(
    title="Attention map of every head",
    formula=r"a_{mn} = \operatorname{softmax}_n\!\left(q_m \cdot R_{m-n} k_n / \sqrt{D}\right)",
    help="One tile for each head, queries from top to bottom and keys from left to right; the "
    "colour is the power of ten of the mean weight of a block, faint for little and strong for "
    "much. A strong left edge is a sink on the first token, a strong diagonal attention to near "
    "tokens. Hover for the head and its "
    "statistic, click to look at it closely.",
    limits="Block means of one text; weights below 10⁻⁴ have the colour of 10⁻⁴. What a head does "
    "with this text it need not do with another.",
)
def head_grid(
    maps: np.ndarray, tiles: Tiles, *, notes: Sequence[str], chosen: Head | None = None
) -> FigureSpec:
    """A heatmap of all tiles, gaps between them, and a mark to click on each.

    Parameters
    ----------
    maps : (layers, heads, cells, cells) block means of the weights.
    notes : what the hover says of each head, in the order of the tiles.
    """
    cells = _side(maps.shape[-1], tiles)
    step = cells + 1
    mosaic = np.full((tiles.rows * step, tiles.columns * step), np.nan, dtype=np.float32)
    for place, (layer, head) in enumerate(tiles.heads):
        column, row = tiles.corner(place)
        mosaic[row * step : row * step + cells, column * step : column * step + cells] = _small(
            maps[layer, head], cells
        )
    with np.errstate(divide="ignore"):
        powers = np.maximum(np.log10(mosaic), np.float32(_DEEPEST))
    trace = {
        "type": "heatmap",
        "name": "weights",
        # A cell of the gap lies half on either side of a tile's edge.
        "x": (np.arange(mosaic.shape[1]) + 1) / step,
        "y": (np.arange(mosaic.shape[0]) + 1) / step,
        "z": powers,
        "zmin": _DEEPEST,
        "zmax": 0.0,
        "colorscale": theme.SIZE,
        "colorbar": {
            "thickness": 8,
            "orientation": "h",
            "y": -0.2 if tiles.is_in_model_order else 0,
            "yanchor": "top",
            "title": {"text": "log₁₀ weight", "side": "bottom"},
        },
        "hoverinfo": "skip",
    }
    x, y = tiles.axes()
    return FigureSpec(
        [trace, tiles.clickable(notes, size=0.8 * _TILE)],
        layout(
            x,
            y,
            shapes=tiles.frame(chosen),
            height=64 + _TILE * max(tiles.rows, 9),
            margin=tiles.margin(bottom=60),
        ),
    )


def _side(cells: int, tiles: Tiles) -> int:
    """Cells along a side of a tile, so that the whole has at most 512."""
    most = max(1, min(cells, MOST_CELLS // max(tiles.rows, tiles.columns) - 1))
    block = -(-cells // most)
    return -(-cells // block)


def _small(weights: np.ndarray, cells: int) -> np.ndarray:
    rows = block_means(weights, cells, axis=0).values
    return block_means(rows, cells, axis=1).values
