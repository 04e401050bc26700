"""Many heads in one figure: tiles in rows, each of them to be clicked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from posviz.figures import theme

Head = tuple[int, int]
"""Layer and head, from 0."""


@dataclass(frozen=True)
class Tiles:
    """Where the tile of each head lies: ``columns`` in a row, rows from top to bottom.

    A tile is one unit wide and high, with its upper left corner at (column, row).
    """

    heads: Sequence[Head]
    columns: int
    is_in_model_order: bool = False
    """Whether a column is a layer and a row a head, which the axes then say."""

    @property
    def rows(self) -> int:
        return -(-len(self.heads) // self.columns)

    def corner(self, place: int) -> tuple[int, int]:
        """Column and row of the place-th tile."""
        return place % self.columns, place // self.columns

    def place_of(self, head: Head) -> int | None:
        """Which tile a head has, or None."""
        return next((place for place, one in enumerate(self.heads) if one == head), None)

    def clickable(self, notes: Sequence[str], size: float) -> dict[str, Any]:
        """One unseen mark on every tile; ``customdata`` of each is [layer, head].

        Clicks on a heatmap select nothing in Streamlit; those on marks do.
        """
        corners = np.array([self.corner(place) for place in range(len(self.heads))], dtype=float)
        unseen = {"marker": {"opacity": 0}}
        return {
            "type": "scatter",
            "mode": "markers",
            "name": "heads",
            "x": corners[:, 0] + 0.5,
            "y": corners[:, 1] + 0.5,
            "customdata": [list(head) for head in self.heads],
            "text": list(notes),
            "marker": {"size": size, "symbol": "square", "opacity": 0, "color": theme.GHOST},
            "selected": unseen,
            "unselected": unseen,
            "hovertemplate": "layer %{customdata[0]}, head %{customdata[1]}<br>%{text}"
            "<extra></extra>",
        }

    def frame(self, head: Head | None) -> list[dict[str, Any]]:
        """A frame around the tile of the head that is chosen."""
        place = None if head is None else self.place_of(head)
        if place is None:
            return []
        column, row = self.corner(place)
        line = {"color": theme.SERIES[1], "width": 2}
        return [
            {
                "type": "rect",
                "x0": column,
                "x1": column + 1,
                "y0": row,
                "y1": row + 1,
                "line": line,
            }
        ]

    def axes(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Layers and heads; of sorted tiles without ticks: what a tile is, its hover says."""
        return (
            {"range": [-0.1, self.columns + 0.1], **self._named("layer", self.columns)},
            {"range": [self.rows + 0.1, -0.1], **self._named("head", self.rows)},
        )

    def margin(self, bottom: int) -> dict[str, int]:
        """Room around the tiles, for the names of the axes where they have some."""
        if not self.is_in_model_order:
            return {"l": 8, "r": 8, "t": 8, "b": bottom}
        return {"l": 44, "r": 8, "t": 8, "b": bottom + 36}

    def _named(self, what: str, count: int) -> dict[str, Any]:
        bare = {"showgrid": False, "zeroline": False, "ticks": ""}
        if not self.is_in_model_order:
            return {"title": {"text": ""}, "showticklabels": False, **bare}
        step = 1 if count <= 16 else 5
        marked = list(range(0, count, step))
        return {
            "title": {"text": what},
            "tickvals": [place + 0.5 for place in marked],
            "ticktext": [str(place) for place in marked],
            **bare,
        }


def in_model_order(layers: int, heads: int) -> Tiles:
    """A row for every head, a column for every layer."""
    named = [(layer, head) for head in range(heads) for layer in range(layers)]
    return Tiles(named, layers, is_in_model_order=True)


def sorted_tiles(heads: Sequence[Head], columns: int = 18) -> Tiles:
    """Heads in the order in which they are given, row by row."""
    return Tiles(list(heads), min(columns, max(1, len(heads))))
