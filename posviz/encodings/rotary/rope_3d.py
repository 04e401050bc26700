"""RoPE over time, rows and columns of a video."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.axial import GridEncoding, check_sections
from posviz.encodings.base import Source
from posviz.parameters import AcceptsList, Parameter
from posviz.results import Array

_INTERLEAVED: Mapping[str, Any] = {"base": 10000.0, "layout": "interleaved"}


class Rope3d(GridEncoding):
    """A third of the pairs each turns with time, row and column, or as many as sections say.

    Every axis has a ladder of its own, from 1 down.
    """

    title: ClassVar[str] = "RoPE-3D"
    year: ClassVar[int] = 2021
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="rotary-embedding-torch",
            authors="Wang",
            year=2021,
            code="rotary-embedding-torch 0.9.1 RotaryEmbedding.get_axial_freqs; diffusers 0.35.2 "
            "(HunyuanVideo, Wan, CogVideoX)",
        ),
    )
    formula: ClassVar[str] = (
        r"\varphi_i(t, y, x) = c\, b^{-j/n_c},\quad c \in \{t, y, x\} "
        r"\text{ the axis of pair } i,\; j \text{ its place among the } n_c \text{ pairs of } c"
    )
    shows: ClassVar[str] = (
        "Three blocks of pairs: the first changes from frame to frame, the second from row to row, "
        "the third from column to column."
    )
    limits: ClassVar[str] = (
        "A grid of one video only. M-RoPE is what counts text and videos in one sequence, and it "
        "cuts a single ladder in three instead."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that any triple of rotated blocks is a 3-D rotation. The code of "
        "V-JEPA 2 pairs neighbouring dimensions that turn by different angles, so that lengths "
        "change; it is kept for its trained weights.",
        "You may have read that the three axes share one ladder. That is M-RoPE; here each axis "
        "has a ladder of its own, so that all three have a pair with frequency 1.",
    )
    used_in: ClassVar[tuple[str, ...]] = ("HunyuanVideo", "Wan 2.1", "CogVideoX-5B")
    snippet: ClassVar[str] = """
import numpy as np
i, c = np.arange(3.0), $coordinates
side = {"index": i, "index_from_1": i + 1, "centres": (i - 1) * 2 / 3, "ends": i - 1}[c]
positions = np.stack(np.meshgrid(side, side, side, indexing="ij"), axis=-1).reshape(-1, 3)
counts = [int(n) for n in $sections or [$head_dim // 6] * 3]
def spaced(n):
    if $spacing == "pixel":
        return np.pi * np.linspace(1, $max_freq / 2, n)
    return $base ** (-np.arange(n) / n) * (2 * np.pi if $spacing == "turns" else 1)
axis = np.repeat([0, 1, 2], counts)
cos = np.cos(positions[:, axis] * np.concatenate([spaced(n) for n in counts]))
"""
    snippet_gives: ClassVar[str] = "cos"
    axis_names: ClassVar[tuple[str, ...]] = ("time", "row", "column")

    head_dim: Annotated[
        int,
        Ge(6),
        Le(8192),
        Parameter(
            help="Size of one attention head; with equal sections, what is left over after a "
            "multiple of 6 does not rotate.",
            symbol="D",
            unit="dimensions",
            slider=(24, 256),
            step=2,
        ),
    ] = 96
    sections: Annotated[
        tuple[Annotated[float, Ge(0), Le(4096)], ...],
        AcceptsList,
        Parameter(
            help="Pairs of time, rows and columns, half of head_dim together; empty for equal "
            "parts.",
            symbol="n_c",
        ),
    ] = ()
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "rotary-embedding-torch": {**_INTERLEAVED, "head_dim": 96, "sections": ()},
        "HunyuanVideo": {
            **_INTERLEAVED,
            "head_dim": 128,
            "sections": (8.0, 28.0, 28.0),
            "base": 256.0,
        },
        "Wan 2.1": {**_INTERLEAVED, "head_dim": 128, "sections": (22.0, 21.0, 21.0)},
        "CogVideoX-5B": {**_INTERLEAVED, "head_dim": 64, "sections": (8.0, 12.0, 12.0)},
    }

    @classmethod
    def starting_values(cls, **known: Any) -> dict[str, Any]:
        """Equal parts, which fit every head."""
        return {"sections": ()}

    def check_rules(self) -> None:
        super().check_rules()
        if self.sections:
            check_sections(self.title, "sections", self.sections, self.axis_names, self.head_dim)

    @property
    def counts(self) -> list[int]:
        """Pairs of each axis."""
        equal = [self.head_dim // (2 * self.axes)] * self.axes
        return [int(count) for count in self.sections] or equal

    @property
    def rotary_dim(self) -> int:
        return 2 * sum(self.counts)

    def pair_axes(self) -> np.ndarray:
        return np.repeat(np.arange(self.axes), self.counts)

    def frequencies(self, *, xp: Any, device: Any) -> Array:
        parts = [self.spaced(count, xp=xp, device=device) for count in self.counts]
        return array_namespace(parts[0]).concat(parts)
