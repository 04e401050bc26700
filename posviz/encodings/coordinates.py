"""Places in a grid: rows of coordinates instead of one position."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from array_api_compat import array_namespace

from posviz.encodings.base import LARGEST_POSITION
from posviz.parameters import ParameterError
from posviz.results import Array, as_positions, frozen

Spread = Literal["index", "index_from_1", "centres", "ends"]
"""Where the places along a side stand: 0, 1, 2, …; 1, 2, 3, …; centres of equal parts of -1 … 1; or
evenly from -1 to 1 with a place at both ends."""
WaveSpread = Literal[Spread, "turn"]
"""The same, or 2π times 1/n, 2/n, …, 1, as DETR divides its counts by the last of them."""


def as_points(positions: Any, axis_names: tuple[str, ...], owner: str) -> Array:
    """Positions as (positions, axes) floating numbers; ParameterError for anything else."""
    points = as_positions(positions)
    axes = len(axis_names)
    if points.ndim != 2 or points.shape[1] != axes:
        raise ParameterError(
            f"{owner}: positions must be rows of {axes} coordinates ({', '.join(axis_names)}); "
            f"got the shape {tuple(points.shape)}."
        )
    xp = array_namespace(points)
    if points.shape[0] and float(xp.max(xp.abs(points))) > LARGEST_POSITION:
        raise ParameterError(
            f"{owner}: positions must be at most 2^53 from 0; got {float(xp.max(xp.abs(points)))}."
        )
    return points


def axis_strips(points: Array, axis_names: tuple[str, ...]) -> dict[str, Array]:
    """The coordinates of tokens as a row of numbers for each axis."""
    xp = array_namespace(points)
    return {
        name: frozen(xp.asarray(points[:, axis], copy=True)) for axis, name in enumerate(axis_names)
    }


def grid_shape(count: int, axes: int) -> tuple[int, ...]:
    """About ``count`` points in a grid whose sides are nearly equal, the last the longest."""
    shape: list[int] = []
    left = max(1, count)
    for more in range(axes, 1, -1):
        shape.append(max(1, math.floor(left ** (1 / more) + 1e-9)))
        left = math.ceil(left / shape[-1])
    return (*shape, left)


def walked(sides: list[np.ndarray]) -> np.ndarray:
    """All points of a grid, row by row, the last axis fastest: (points, axes)."""
    return np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, len(sides))


def grid_of(points: Array) -> tuple[int, ...]:
    """Shape of the grid that points walk through row by row, the last axis fastest; else ()."""
    xp = array_namespace(points)
    sides = [xp.unique_values(points[:, axis]) for axis in range(points.shape[1])]
    shape = tuple(int(side.shape[0]) for side in sides)
    if math.prod(shape) != points.shape[0]:
        return ()
    mesh = xp.stack(xp.meshgrid(*sides, indexing="ij"), axis=-1)
    return shape if bool(xp.all(xp.reshape(mesh, points.shape) == points)) else ()


def spread(count: int, how: WaveSpread) -> np.ndarray:
    """Coordinates of ``count`` places along a side: (count,)."""
    index = np.arange(float(count))
    match how:
        case "index":
            return index
        case "index_from_1":
            return index + 1
        case "centres":
            return 2 * (index + 0.5) / count - 1
        case "ends":
            return np.linspace(-1.0, 1.0, count)
        case "turn":
            return 2 * math.pi * (index + 1) / count
