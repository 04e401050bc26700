"""Sinusoids of several coordinates: what the encodings of images and volumes have in common."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Gt, Le
from array_api_compat import array_namespace

from posviz.encodings.absolute import AbsoluteEncoding, WaveBase
from posviz.encodings.coordinates import (
    WaveSpread,
    as_points,
    axis_strips,
    grid_of,
    grid_shape,
    spread,
    walked,
)
from posviz.encodings.sinusoids import arranged, wave_lengths
from posviz.parameters import Parameter, ParameterError
from posviz.results import Array, PositionTable, device_of, frozen

GridDim = Annotated[
    int,
    Ge(1),
    Le(8192),
    Parameter(
        help="Size of the vector that each place gets, shared out among the axes.",
        symbol="d",
        unit="dimensions",
        slider=(8, 512),
        step=4,
    ),
]


class GridWaves(AbsoluteEncoding):
    """Base of them: each axis has its own waves, which see its coordinate alone.

    With A axes each gets ⌈d/(2A)⌉ frequencies, a sine and a cosine of each; what is beyond d
    columns is cut off.
    """

    axis_names: ClassVar[tuple[str, ...]]
    """A name for each coordinate, in the order in which positions give them."""
    snippet_gives: ClassVar[str] = "vectors"

    model_dim: GridDim = 128
    base: WaveBase = 10000.0
    layout: Annotated[
        Literal["by_axis", "sines_first"],
        Parameter(
            help="by_axis: a block for each axis, sine and cosine alternating in it; sines_first: "
            "the sines of all axes, then the cosines of all."
        ),
    ] = "by_axis"
    spacing: Annotated[
        Literal["ladder", "pixel", "pixel_log"],
        Parameter(
            help="ladder: frequencies b^(-i/n); pixel: π times n numbers spaced evenly from 1 to "
            "max_freq/2, for coordinates from -1 to 1; pixel_log: the same, evenly on a log scale "
            "(Fourier features)."
        ),
    ] = "ladder"
    max_freq: Annotated[
        float,
        Gt(0),
        Le(1e6),
        Parameter(
            help="Twice the fastest frequency over π (pixel and pixel_log only).",
            slider=(2, 512),
            scale="log",
        ),
    ] = 224.0
    coordinates: Annotated[
        WaveSpread,
        Parameter(
            help="Where the n places of a side stand: at 0, 1, 2, …; at 1, 2, 3, …; at the centres "
            "of equal parts of -1 to 1; evenly from -1 to 1 with places at both ends; or at 2π "
            "times 1/n, 2/n, …, 1 (turn)."
        ),
    ] = "index"

    @property
    def axes(self) -> int:
        return len(self.axis_names)

    @property
    def bands(self) -> int:
        """Frequencies of each axis."""
        return math.ceil(self.model_dim / (2 * self.axes))

    def check_rules(self) -> None:
        super().check_rules()
        if self.layout == "sines_first" and self.model_dim % (2 * self.axes):
            raise ParameterError(
                f"{self.title}: model_dim must be a multiple of {2 * self.axes} where layout is "
                f"sines_first; got {self.model_dim}."
            )

    def inv_freq(self, *, xp: Any, device: Any) -> Array:
        """Frequencies of one axis: (bands,) radians per step, float64."""
        half = self.max_freq / 2
        if self.spacing == "pixel":
            return math.pi * xp.linspace(1.0, half, self.bands, dtype=xp.float64, device=device)
        if self.spacing == "pixel_log":
            step = xp.linspace(0.0, 1.0, self.bands, dtype=xp.float64, device=device)
            return math.pi * half**step
        index = xp.arange(self.bands, dtype=xp.float64, device=device)
        return self.base ** (-index / self.bands)

    def example_positions(self, count: int) -> Array:
        """A grid of about ``count`` places, nearly as high as it is wide: (positions, axes)."""
        shape = grid_shape(count, self.axes)
        return walked([spread(side, self.coordinates) for side in shape])

    def encode(self, positions: Any) -> PositionTable:
        """The vectors of places.

        Parameters
        ----------
        positions : (positions, axes) a row of coordinates per token; NumPy, torch, or lists.

        Returns
        -------
        PositionTable with vectors (positions, model_dim), its tokens counted 0, 1, 2, … in the
        order given; ``grid`` where they walk through a grid row by row.

        Raises
        ------
        ParameterError : coordinates that are not finite numbers, one for each axis, or beyond 2^53.
        """
        points = as_points(positions, self.axis_names, self.title)
        xp = array_namespace(points)
        inv_freq = xp.astype(self.inv_freq(xp=xp, device=device_of(points)), points.dtype)
        angles = [points[:, axis, None] * inv_freq[None, :] for axis in range(self.axes)]
        lengths = wave_lengths(inv_freq, 2 * self.bands, "alternating")
        if self.layout == "by_axis":
            blocks = [
                arranged(xp.sin(one), xp.cos(one), 2 * self.bands, "alternating") for one in angles
            ]
            wavelengths = xp.concat([lengths] * self.axes)
        else:
            blocks = [*(xp.sin(one) for one in angles), *(xp.cos(one) for one in angles)]
            wavelengths = xp.concat([lengths[::2]] * (2 * self.axes))
        return PositionTable(
            positions=frozen(
                xp.arange(points.shape[0], dtype=points.dtype, device=device_of(points))
            ),
            vectors=frozen(xp.concat(blocks, axis=1)[:, : self.model_dim]),
            wavelengths=frozen(wavelengths[: self.model_dim]),
            strips=axis_strips(points, self.axis_names),
            grid=grid_of(points),
        )


def grid_snippet(positions: str) -> str:
    """The code of these encodings, for lines that make ``positions``: (places, axes)."""
    return f"""
import numpy as np

{positions}
axes, n = positions.shape[1], -(-$model_dim // (2 * positions.shape[1]))
f = $base ** (-np.arange(n) / n)
if $spacing != "ladder":
    top = $max_freq / 2
    f = np.pi * (np.linspace(1, top, n) if $spacing == "pixel" else np.geomspace(1, top, n))
angles = positions[:, :, None] * f
sine, cosine = np.sin(angles), np.cos(angles)
if $layout == "by_axis":
    vectors = np.stack((sine, cosine), axis=-1).reshape(len(positions), -1)[:, :$model_dim]
else:
    vectors = np.concatenate((sine, cosine), axis=1).reshape(len(positions), -1)
"""
