"""Zero padding in a convolutional network: borders tell where they are."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.absolute import AbsoluteEncoding
from posviz.encodings.base import Source
from posviz.parameters import Parameter, ParameterError
from posviz.results import Array, PositionTable, device_of, frozen

Side = Annotated[
    int,
    Ge(1),
    Le(256),
    Parameter(help="Places of the grid along this side.", slider=(2, 48), step=1),
]


class CnnZeroPadding(AbsoluteEncoding):
    """An image of ones through stacked 3×3 convolutions whose nine weights are 1/9.

    Outside the image the padding is 0, so each layer loses a little at the border, and the loss
    walks inwards by one place a layer. Positions are places of the grid, counted row by row.
    """

    title: ClassVar[str] = "Zero padding in a CNN"
    year: ClassVar[int] = 2020
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="How Much Position Information Do Convolutional Neural Networks Encode?",
            authors="Islam, Jia, Bruce",
            year=2020,
            arxiv="2001.08248",
        ),
    )
    formula: ClassVar[str] = (
        r"y_\ell[r, c] = \frac{1}{9} \sum_{|i| \leq 1} \sum_{|j| \leq 1} "
        r"y_{\ell-1}[r + i, c + j],\quad y_0 = 1 \text{ inside},\; y_\ell = 0 \text{ outside}"
    )
    shows: ClassVar[str] = (
        "After one layer only the outermost ring differs; each further layer carries the border "
        "one place inwards, until the middle of the image knows how far the edge is."
    )
    limits: ClassVar[str] = (
        "All weights equal and no nonlinearity: trained kernels pass the border on in other "
        "shapes, and can also drop it."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that a convolution treats all places alike and so knows nothing of "
        "position. That holds without a border; zeros around the image mark it.",
    )
    used_in: ClassVar[tuple[str, ...]] = ("VGG", "ResNet")
    snippet: ClassVar[str] = """
import numpy as np
rows, columns, layers = $rows, $columns, $layers
positions = np.arange(float(rows * columns))
image, found = np.ones((rows, columns)), []
for _ in range(layers):
    padded = np.pad(image, 1)
    image = sum(padded[i:i + rows, j:j + columns] for i in range(3) for j in range(3)) / 9
    found.append(image.ravel())
vectors = np.stack(found, axis=1)
"""
    snippet_gives: ClassVar[str] = "vectors"

    rows: Side = 16
    columns: Side = 24
    layers: Annotated[
        int,
        Ge(1),
        Le(64),
        Parameter(help="Number of convolutions, one on the other.", slider=(1, 16), step=1),
    ] = 6

    def example_positions(self, count: int) -> Array:
        """Every place of the grid, however many are asked for: a part of a grid shows no border."""
        return np.arange(float(self.rows * self.columns))

    def encode(self, positions: Any) -> PositionTable:
        """What each layer gives at the places asked for.

        Parameters
        ----------
        positions : (positions,) places of the grid, row by row from 0; NumPy, torch, or a list.

        Returns
        -------
        PositionTable with vectors (positions, layers), and the shape of the grid where all of it
        was asked for.

        Raises
        ------
        ParameterError : positions that are not whole numbers of the grid.
        """
        at = self.position_row(positions)
        xp = array_namespace(at)
        places = self.rows * self.columns
        whole = bool(xp.all(xp.round(at) == at))
        if not whole or bool(xp.any((at < 0) | (at >= places))):
            raise ParameterError(
                f"{self.title}: positions must be whole numbers from 0 to {places - 1}, the places "
                f"of {self.rows} rows and {self.columns} columns."
            )
        every = xp.stack(self._layers(at, xp), axis=1)
        index = xp.astype(at, xp.int64)
        is_all = at.shape[0] == places and bool(xp.all(index == xp.arange(places)))
        return PositionTable(
            positions=frozen(xp.asarray(at, copy=True)),
            vectors=frozen(xp.take(every, index, axis=0)),
            operation="multiplied",
            columns=tuple(f"layer {layer}" for layer in range(1, self.layers + 1)),
            grid=(self.rows, self.columns) if is_all else (),
        )

    def _layers(self, like: Array, xp: Any) -> list[Array]:
        """The image after each layer, row by row: layers times (places,)."""
        shape = (self.rows, self.columns)
        image = xp.ones(shape, dtype=like.dtype, device=device_of(like))
        found = []
        for _ in range(self.layers):
            image = _summed(_summed(image, 0, xp), 1, xp) / 9
            found.append(xp.reshape(image, (-1,)))
        return found


def _summed(image: Array, axis: int, xp: Any) -> Array:
    """Each place with its two neighbours along an axis, zeros beyond the ends."""
    edge = xp.zeros_like(image[:1, :] if axis == 0 else image[:, :1])
    padded = xp.concat((edge, image, edge), axis=axis)
    if axis == 0:
        return padded[:-2, :] + padded[1:-1, :] + padded[2:, :]
    return padded[:, :-2] + padded[:, 1:-1] + padded[:, 2:]
