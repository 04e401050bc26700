"""Relative encodings with vectors: a distance has a vector that meets the query, the key, or both.

The law of the family: the terms that hold no content depend on the distance only, unless the
encoding says otherwise.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
from array_api_compat import array_namespace

from posviz.encodings.given_content import ContentEncoding
from posviz.results import Array, Staircase, distances_of, frozen


class RelativeEncoding(ContentEncoding):
    """Base of the family."""

    family: ClassVar[str] = "relative"

    def content_logits(self, queries: Array, keys: Array) -> Array:
        """q·k/√D: (heads, queries, keys)."""
        xp = array_namespace(queries)
        return xp.matmul(queries, xp.matrix_transpose(keys)) / math.sqrt(self.head_dim)


def gaps(at: Array) -> Array:
    """All distances query - key: (queries, keys)."""
    return at[:, None] - at[None, :]


def meets_rows(vectors: Array, rows: Array, index: Array) -> Array:
    """Each vector with the row of each pair: (heads, positions, pairs' other side).

    Parameters
    ----------
    vectors : (heads, positions, head_dim) queries, or keys for a table that keys meet.
    rows : (rows, head_dim), or (heads, rows, head_dim) where heads have their own.
    index : (positions, other positions) which row; whole numbers.
    """
    xp = array_namespace(vectors)
    by_row = xp.matmul(vectors, xp.matrix_transpose(rows))
    wide = xp.broadcast_to(index[None, ...], (vectors.shape[0], *index.shape))
    return xp.take_along_axis(by_row, wide, axis=-1)


def steps(at: Array, row_of: Any) -> Staircase:
    """The row of every distance that occurs among positions."""
    distances = distances_of(at)
    return Staircase(distances=frozen(distances), buckets=frozen(row_of(distances)))


def xavier(rng: np.random.Generator, rows: int, columns: int) -> np.ndarray:
    """Glorot's uniform initialisation of a table: U(±√(6/(rows + columns)))."""
    reach = math.sqrt(6 / (rows + columns))
    return rng.uniform(-reach, reach, (rows, columns))
