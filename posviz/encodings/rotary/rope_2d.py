"""RoPE over rows and columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from array_api_compat import array_namespace

from posviz.encodings.axial import GridEncoding, PlaneHeadDim
from posviz.encodings.base import Source
from posviz.parameters import Parameter
from posviz.results import Array

_LADDER: Mapping[str, Any] = {
    "allocation": "halves",
    "first_axis": "row",
    "coordinates": "index",
    "spacing": "ladder",
    "max_freq": 224.0,
    "base": 10000.0,
    "layout": "half_split",
}


class Rope2d(GridEncoding):
    """Half of the pairs turn with the row, the other half with the column."""

    title: ClassVar[str] = "RoPE-2D"
    year: ClassVar[int] = 2021
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Rotary position encoding in two dimensions",
            authors="Su",
            year=2021,
            place="kexue.fm 8397",
        ),
        Source(
            title="Rotary Position Embedding for Vision Transformer",
            authors="Heo et al.",
            year=2024,
            arxiv="2403.13298",
            place="section 3.2 (RoPE-Axial)",
            code="github.com/naver-ai/rope-vit ce85c2e; transformers 5.24.0 (Qwen2-VL, Llama 4, "
            "Pixtral, DINOv3); torchtune 0.6.1; timm 1.0.31; rotary-embedding-torch 0.9.1",
        ),
    )
    formula: ClassVar[str] = (
        r"\varphi_i(y, x) = y\, b^{-4i/D} \text{ for } i < D/4,\quad "
        r"x\, b^{-4(i - D/4)/D} \text{ otherwise}"
    )
    shows: ClassVar[str] = (
        "Stripes: a pair of the first half has the same phase along a whole row, one of the second "
        "half along a whole column. No pair sees a diagonal."
    )
    limits: ClassVar[str] = (
        "The score is a function of the row distance plus one of the column distance, for given q "
        "and k; how a model mixes them in later layers is not drawn."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that the first half of a head always belongs to the rows. It belongs to "
        "the columns in Llama 4 and RoPE-ViT, and Pixtral deals the frequencies of one ladder out, "
        "even ones to rows and odd ones to columns.",
        "You may have read that each axis gets the frequencies of 1-D RoPE. With halves an axis "
        "has half as many pairs, so its ladder is twice as steep: b^(-4i/D).",
        "You may have read that a class token needs a position of its own. Patches that count from "
        "1 leave (0, 0) free, where nothing rotates (Llama 4, torchtune).",
    )
    used_in: ClassVar[tuple[str, ...]] = (
        "Qwen2-VL (vision)",
        "Pixtral",
        "Llama 4 (vision)",
        "DINOv3",
        "RoPE-ViT",
    )
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "Qwen2-VL (vision)": _LADDER,
        "Llama 4 (vision), torchtune": {
            **_LADDER,
            "first_axis": "column",
            "coordinates": "index_from_1",
            "layout": "interleaved",
        },
        "Pixtral": {**_LADDER, "allocation": "even_odd"},
        "DINOv3": {**_LADDER, "coordinates": "centres", "spacing": "turns", "base": 100.0},
        "RoPE-ViT (axial)": {
            **_LADDER,
            "first_axis": "column",
            "base": 100.0,
            "layout": "interleaved",
        },
        "timm, rotary-embedding-torch": {**_LADDER, "layout": "interleaved"},
        "timm (in pixels)": {
            **_LADDER,
            "coordinates": "ends",
            "spacing": "pixel",
            "layout": "interleaved",
        },
        "rotary-embedding-torch (pixel)": {
            **_LADDER,
            "coordinates": "ends",
            "spacing": "pixel",
            "max_freq": 10.0,
            "layout": "interleaved",
        },
    }
    snippet: ClassVar[str] = """
import numpy as np
i, c = np.arange(4.0), $coordinates
side = {"index": i, "index_from_1": i + 1, "centres": (i + 0.5) / 2 - 1, "ends": i * 2 / 3 - 1}[c]
positions = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
n = $head_dim // 4
count = n if $allocation == "halves" else 2 * n
f = $base ** (-np.arange(count) / count) * (2 * np.pi if $spacing == "turns" else 1)
if $spacing == "pixel":
    f = np.pi * np.linspace(1, $max_freq / 2, count)
first, second = (f, f) if $allocation == "halves" else (f[0::2], f[1::2])
row, column = (0, 1) if $first_axis == "row" else (1, 0)
axis_freq = np.zeros((2, 2 * n))
axis_freq[row, :n], axis_freq[column, n:] = first, second
cos = np.cos(positions @ axis_freq)
"""
    snippet_gives: ClassVar[str] = "cos"
    axis_names: ClassVar[tuple[str, ...]] = ("row", "column")

    head_dim: PlaneHeadDim = 64
    allocation: Annotated[
        Literal["halves", "even_odd"],
        Parameter(
            help="halves: each axis has a ladder of its own; even_odd: one ladder, its even "
            "frequencies for the first axis and its odd ones for the second (Pixtral)."
        ),
    ] = "halves"
    first_axis: Annotated[
        Literal["row", "column"],
        Parameter(help="The axis that the first half of the pairs turns with."),
    ] = "row"

    def pair_axes(self) -> np.ndarray:
        first = 0 if self.first_axis == "row" else 1
        return np.repeat([first, 1 - first], self.pairs // 2)

    def frequencies(self, *, xp: Any, device: Any) -> Array:
        if self.allocation == "halves":
            axis = self.spaced(self.pairs // 2, xp=xp, device=device)
            return array_namespace(axis).concat((axis, axis))
        ladder = self.spaced(self.pairs, xp=xp, device=device)
        return array_namespace(ladder).concat((ladder[0::2], ladder[1::2]))
