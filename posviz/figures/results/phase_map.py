"""One dimension or pair over a grid of positions."""

from __future__ import annotations

from typing import cast

import numpy as np

from posviz.figures.results.drawn import At, Map, ResultFigure
from posviz.results import PositionTable, Result, Rotation


def _column(result: Result, at: At) -> np.ndarray:
    if isinstance(result, PositionTable):
        values = np.asarray(result.vectors)
    else:
        angles = np.asarray(cast(Rotation, result).angles)
        values = np.remainder(angles + np.pi, 2 * np.pi) - np.pi
    return np.asarray(values[:, min(at.dimension, values.shape[1] - 1)])


def _content(result: Result, at: At) -> Map:
    # Where there are more than two axes, the last two are shown at the first step of the others.
    rows, columns = result.grid[-2:]
    plane = _column(result, at)[: rows * columns].reshape(rows, columns)
    is_angle = isinstance(result, Rotation)
    return Map(
        x=np.arange(columns),
        y=np.arange(rows),
        z=plane,
        x_title="column",
        y_title="row",
        z_title="angle (radians)" if is_angle else "value",
        colours="cyclic" if is_angle else "signed",
    )


figure = ResultFigure(
    id="phase_map",
    title="One dimension over the grid",
    formula=r"\text{dimension or pair } \text{⟨dimension⟩}",
    help="The chosen dimension, or the angle of the chosen pair, at every place of the grid. "
    "Stripes across: it follows the rows only; upright: the columns only; slanted: both.",
    limits="One of many dimensions; move the dimension to see the others.",
    accepts=lambda result: (
        len(result.grid) >= 2
        and isinstance(result, PositionTable | Rotation)
        and int(result.positions.shape[0]) >= result.grid[-1] * result.grid[-2]
    ),
    content=_content,
    slots=lambda result, at: {"dimension": str(at.dimension)},
    order=5,
    uses=frozenset({"dimension"}),
    is_map=True,
)
