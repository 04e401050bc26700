"""RoPE over rows and columns with a learned direction for every pair."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.axial import AxialEncoding, PlaneHeadDim
from posviz.encodings.base import Source
from posviz.encodings.coordinates import grid_shape, walked
from posviz.encodings.learned_parts import LearnedParts
from posviz.encodings.rotary import Base, LayoutField
from posviz.parameters import Parameter, ParameterError
from posviz.results import Array, AxialRotation


class Rope2dMixed(LearnedParts, AxialEncoding):
    """Pair i of head h turns by x·f^x + y·f^y, both frequencies learned.

    They start at right angles: a pair of the first half at some direction per head, its partner in
    the second half turned by 90°, with the speeds of the axial ladder.
    """

    title: ClassVar[str] = "RoPE-2D, mixed"
    year: ClassVar[int] = 2024
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Rotary Position Embedding for Vision Transformer",
            authors="Heo et al.",
            year=2024,
            arxiv="2403.13298",
            place="section 3.2 (RoPE-Mixed)",
            code="github.com/naver-ai/rope-vit ce85c2e models/vit_rope.py init_random_2d_freqs",
        ),
    )
    formula: ClassVar[str] = (
        r"\varphi_{hi}(y, x) = x\, f^{x}_{hi} + y\, f^{y}_{hi},\quad \left(f^{x}, f^{y}\right) = "
        r"b^{-4i/D} \left(\cos \alpha_h, \sin \alpha_h\right) \text{ at the start}"
    )
    shows: ClassVar[str] = (
        "Stripes in any direction: a score can single out a diagonal, where the axial one is "
        "always a function of the row distance plus one of the column distance."
    )
    limits: ClassVar[str] = (
        "Only the start is shown; a trained model has other frequencies in every layer, and pairs "
        "need not stay at right angles."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that the code starts with one ladder per axis. It does so only with its "
        "rotation of the axes switched off; each head starts at a direction of its own.",
    )
    used_in: ClassVar[tuple[str, ...]] = ("RoPE-ViT",)
    snippet: ClassVar[str] = """
import numpy as np
positions = np.stack(np.meshgrid(np.arange(4.0), np.arange(4.0), indexing="ij"), -1).reshape(-1, 2)
n = $head_dim // 4
speed = $base ** (-np.arange(n) / n)
turned = np.random.default_rng($seed).uniform(0, 2 * np.pi, $heads)
direction = turned[$shown_head] if $random_directions else 0.0
angles = np.repeat([direction, direction + np.pi / 2], n)
axis_freq = np.tile(speed, 2) * np.array([np.sin(angles), np.cos(angles)])
cos = np.cos(positions @ axis_freq)
"""
    snippet_gives: ClassVar[str] = "cos"
    axis_names: ClassVar[tuple[str, ...]] = ("row", "column")

    base: Base = 10.0
    layout: LayoutField = "interleaved"
    head_dim: PlaneHeadDim = 64
    heads: Annotated[
        int,
        Ge(1),
        Le(512),
        Parameter(help="Number of attention heads.", symbol="H", slider=(1, 32), step=1),
    ] = 6
    shown_head: Annotated[
        int,
        Ge(0),
        Le(511),
        Parameter(help="The head whose rotation is given, counted from 0.", slider=(0, 31), step=1),
    ] = 0
    random_directions: Annotated[
        bool,
        Parameter(
            help="Start every head at a direction drawn with the seed, as the paper trains; else "
            "all at rows and columns."
        ),
    ] = True

    def check_rules(self) -> None:
        super().check_rules()
        if self.shown_head >= self.heads:
            raise ParameterError(
                f"{self.title}: shown_head must be below heads, which is {self.heads}; "
                f"got shown_head {self.shown_head}."
            )

    def initial(self, rng: np.random.Generator) -> Mapping[str, np.ndarray]:
        """Frequencies of each head along columns (x) and rows (y): (2, heads, pairs)."""
        half = self.pairs // 2
        speed = self.base ** (-np.arange(half) / half)
        drawn = rng.uniform(0, 2 * np.pi, self.heads)
        start = drawn if self.random_directions else np.zeros(self.heads)
        angles = np.repeat(np.stack((start, start + np.pi / 2), axis=1), half, axis=1)
        return {"frequencies": np.tile(speed, 2) * np.stack((np.cos(angles), np.sin(angles)))}

    def encode(
        self, positions: Any, *, parameters: Mapping[str, Any] | None = None
    ) -> AxialRotation:
        """Angles of one head for tokens at the given places.

        Parameters
        ----------
        positions : (positions, 2) row and column of each token; NumPy, torch, or lists.
        parameters : ``frequencies`` (2, heads, pairs), along columns and along rows; by default
            the initialisation.

        Returns
        -------
        AxialRotation of the head ``shown_head``.

        Raises
        ------
        ParameterError : coordinates that are not two finite numbers each, or parameters of another
            name or shape.
        """
        points = self.points(positions)
        along_x, along_y = self.parts(parameters, points)["frequencies"][:, self.shown_head, :]
        return self.rotation(points, array_namespace(points).stack((along_y, along_x)))

    def example_positions(self, count: int) -> Array:
        """A grid of about ``count`` patches, nearly as high as it is wide."""
        return walked([np.arange(float(side)) for side in grid_shape(count, self.axes)])
