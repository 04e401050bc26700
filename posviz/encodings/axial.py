"""What rotations by several coordinates have in common: rows and columns, or time and both."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt, Le
from array_api_compat import array_namespace

from posviz.encodings.coordinates import (
    Spread,
    as_points,
    axis_strips,
    grid_of,
    grid_shape,
    spread,
    walked,
)
from posviz.encodings.rotary import RotaryFamily
from posviz.parameters import Parameter, ParameterError
from posviz.results import Array, AxialRotation, device_of, frozen

Sections = tuple[float, ...]
PlaneHeadDim = Annotated[
    int,
    Ge(4),
    Le(8192),
    Parameter(
        help="Size of one attention head; what is left over after a multiple of 4 does not rotate.",
        symbol="D",
        unit="dimensions",
        slider=(16, 256),
        step=4,
    ),
]


class AxialEncoding(RotaryFamily):
    """Base of them: a pair turns by the sum over the axes of coordinate times frequency.

    A subclass gives :meth:`pair_axes` and :meth:`frequencies` where each pair turns with one axis,
    or :meth:`axis_freq`. The logit of two tokens depends on their distance along each axis only.
    """

    axis_names: ClassVar[tuple[str, ...]]
    """A name for each coordinate, in the order in which positions give them."""

    def check_rules(self) -> None:
        """Any head will do: dimensions that no axis needs pass unrotated."""

    @property
    def axes(self) -> int:
        return len(self.axis_names)

    @property
    def rotary_dim(self) -> int:
        """Dimensions that rotate: as many as give every axis the same number of pairs."""
        return 2 * self.axes * (self.head_dim // (2 * self.axes))

    def pair_axes(self) -> np.ndarray:
        """Which axis each pair turns with: (pairs,) whole numbers."""
        raise NotImplementedError

    def frequencies(self, *, xp: Any, device: Any) -> Array:
        """How fast each pair turns along its axis: (pairs,) radians per step, float64."""
        raise NotImplementedError

    def axis_freq(self, *, xp: Any, device: Any) -> Array:
        """Radians per step along each axis: (axes, pairs), float64."""
        chosen = np.arange(self.axes)[:, None] == self.pair_axes()[None, :]
        one = xp.asarray(chosen.astype(float), device=device)
        return one * self.frequencies(xp=xp, device=device)[None, :]

    def encode(self, positions: Any) -> AxialRotation:
        """Angles of tokens at the given places.

        Parameters
        ----------
        positions : (positions, axes) a row of coordinates per token; NumPy, torch, or lists.

        Returns
        -------
        AxialRotation, its tokens counted 0, 1, 2, … in the order given.

        Raises
        ------
        ParameterError : coordinates that are not finite numbers, one for each axis, or beyond 2^53.
        """
        points = self.points(positions)
        xp = array_namespace(points)
        return self.rotation(points, self.axis_freq(xp=xp, device=device_of(points)))

    def points(self, positions: Any) -> Array:
        """Positions as (positions, axes) floating numbers; ParameterError for anything else."""
        return as_points(positions, self.axis_names, self.title)

    def rotation(self, points: Array, axis_freq: Array) -> AxialRotation:
        """The result for tokens at ``points``, with frequencies (axes, pairs)."""
        xp = array_namespace(points)
        tokens = xp.arange(points.shape[0], dtype=points.dtype, device=device_of(points))
        return AxialRotation(
            **self.shared(tokens, xp.sqrt(xp.sum(axis_freq**2, axis=0))),
            coordinates=frozen(xp.asarray(points, copy=True)),
            axis_names=self.axis_names,
            axis_freq=frozen(xp.astype(axis_freq, points.dtype)),
            strips=axis_strips(points, self.axis_names),
            grid=grid_of(points),
        )


class GridEncoding(AxialEncoding):
    """Base of rotations over a grid of patches: where patches stand, and how frequencies lie."""

    coordinates: Annotated[
        Spread,
        Parameter(
            help="Where the patches of a grid stand: at 0, 1, 2, …; at 1, 2, 3, … with a class "
            "token at 0 after them; at their centres in an image that reaches from -1 to 1; or "
            "evenly from -1 to 1 with patches at both ends."
        ),
    ] = "index"
    spacing: Annotated[
        Literal["ladder", "turns", "pixel"],
        Parameter(
            help="Frequencies of an axis with n pairs: b^(-i/n); 2π·b^(-i/n), for coordinates "
            "in turns; or π times numbers spaced evenly from 1 to max_freq/2."
        ),
    ] = "ladder"
    max_freq: Annotated[
        float,
        Gt(0),
        Le(1e6),
        Parameter(
            help="Twice the fastest of the evenly spaced frequencies, over π (pixel only).",
            slider=(2, 512),
            scale="log",
        ),
    ] = 224.0

    def spaced(self, count: int, *, xp: Any, device: Any) -> Array:
        """Frequencies of one axis: (count,) radians per step, float64."""
        if self.spacing == "pixel":
            return math.pi * xp.linspace(
                1.0, self.max_freq / 2, count, dtype=xp.float64, device=device
            )
        index = xp.arange(count, dtype=xp.float64, device=device)
        ladder = self.base ** (-index / max(1, count))
        return 2 * math.pi * ladder if self.spacing == "turns" else ladder

    def grid_points(self, *shape: int) -> np.ndarray:
        """Coordinates of a grid's patches, row by row: (patches, axes), and of a class token."""
        mesh = walked([spread(count, self.coordinates) for count in shape])
        if self.coordinates != "index_from_1":
            return mesh
        return np.concatenate((mesh, np.zeros((1, len(shape)))))

    def example_positions(self, count: int) -> Array:
        """A grid of about ``count`` patches, nearly as high as it is wide."""
        return self.grid_points(*grid_shape(count, self.axes))


def check_sections(
    owner: str, name: str, sections: Sections, axis_names: tuple[str, ...], head_dim: int
) -> None:
    """Raise ParameterError unless sections are a whole number of pairs for each axis, all used."""
    pairs = head_dim // 2
    is_whole = all(float(section).is_integer() for section in sections)
    if not is_whole or len(sections) != len(axis_names) or sum(sections) != pairs or head_dim % 2:
        shown = ", ".join(f"{section:g}" for section in sections)
        raise ParameterError(
            f"{owner}: {name} must be {len(axis_names)} whole numbers ({', '.join(axis_names)}) "
            f"that add up to half of head_dim, {head_dim / 2:g}; got {shown or 'none'}."
        )
