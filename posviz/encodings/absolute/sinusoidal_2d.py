"""Sinusoids of rows and columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from posviz.encodings.base import Source
from posviz.encodings.grid_waves import GridWaves, grid_snippet


class Sinusoidal2d(GridWaves):
    """Half of the columns are the sinusoids of the row, half those of the column."""

    title: ClassVar[str] = "Sinusoidal, 2-D"
    year: ClassVar[int] = 2018
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Image Transformer",
            authors="Parmar et al.",
            year=2018,
            arxiv="1802.05751",
            code="positional-encodings 6.0.3 PositionalEncoding2D; timm 1.0.31 pos_embed_sincos",
        ),
        Source(
            title="End-to-End Object Detection with Transformers",
            authors="Carion et al.",
            year=2020,
            arxiv="2005.12872",
            code="transformers 5.24.0 ConditionalDetrSinePositionEmbedding",
        ),
    )
    formula: ClassVar[str] = (
        r"p_{y,x} = \big[\sin(y f_i), \cos(y f_i)\big]_i \,\|\, "
        r"\big[\sin(x f_i), \cos(x f_i)\big]_i,\quad f_i = b^{-4i/d}"
    )
    shows: ClassVar[str] = (
        "Stripes: a column of the table sees the row or the column of a place, never both, so the "
        "similarity of two places is a sum of one curve of the row distance and one of the other."
    )
    limits: ClassVar[str] = (
        "Distances along the axes only: there is no wave along a diagonal, and none for the true "
        "distance of two places."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that each axis has the frequencies of the 1-D sinusoid. With half of "
        "the dimensions an axis has half as many, so its ladder is twice as steep: b^(-4i/d).",
    )
    used_in: ClassVar[tuple[str, ...]] = ("DETR", "Conditional DETR")
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        name: {"layout": layout, "spacing": spacing, "coordinates": coordinates}
        for name, (layout, spacing, coordinates) in {
            "positional-encodings": ("by_axis", "ladder", "index"),
            "timm": ("sines_first", "ladder", "index"),
            "DETR": ("by_axis", "ladder", "turn"),
            "DETR (not normalised)": ("by_axis", "ladder", "index_from_1"),
            "Fourier features (timm)": ("sines_first", "pixel_log", "ends"),
        }.items()
    }
    snippet: ClassVar[str] = grid_snippet(
        "positions = np.stack(np.meshgrid(np.arange(3.0), np.arange(4.0), indexing='ij'), -1)"
        ".reshape(-1, 2)"
    )
    axis_names: ClassVar[tuple[str, ...]] = ("row", "column")
