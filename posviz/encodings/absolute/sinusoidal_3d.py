"""Sinusoids of three coordinates."""

from __future__ import annotations

from typing import ClassVar

from posviz.encodings.base import Source
from posviz.encodings.grid_waves import GridDim, GridWaves, grid_snippet


class Sinusoidal3d(GridWaves):
    """A third of the columns for each of depth or time, row and column."""

    title: ClassVar[str] = "Sinusoidal, 3-D"
    year: ClassVar[int] = 2020
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="End-to-End Video Instance Segmentation with Transformers",
            authors="Wang et al.",
            year=2020,
            arxiv="2011.14503",
            code="positional-encodings 6.0.3 PositionalEncoding3D",
        ),
    )
    formula: ClassVar[str] = (
        r"p_{z,y,x} = P(z) \,\|\, P(y) \,\|\, P(x),\quad "
        r"P(c) = \big[\sin(c f_i), \cos(c f_i)\big]_i,\quad f_i = b^{-i/n},\; "
        r"n = \lceil d/6 \rceil"
    )
    shows: ClassVar[str] = (
        "Three blocks of columns, each of which stands still while its own coordinate does: the "
        "strips show time, row and column taking their turns."
    )
    limits: ClassVar[str] = (
        "The map of one dimension shows the first step of time only; the waves show all of them."
    )
    used_in: ClassVar[tuple[str, ...]] = ("VisTR",)
    snippet: ClassVar[str] = grid_snippet(
        "positions = np.stack(np.meshgrid([0.0, 1], [0.0, 1, 2], [0.0, 1], indexing='ij'), -1)"
        ".reshape(-1, 3)"
    )
    model_dim: GridDim = 126
    axis_names: ClassVar[tuple[str, ...]] = ("time", "row", "column")
