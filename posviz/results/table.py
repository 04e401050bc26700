"""A vector per position, added to or multiplied with the input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from posviz.results.arrays import Array, Result


@dataclass(frozen=True, kw_only=True)
class PositionTable(Result):
    """Absolute positions: a vector per position.

    Attributes
    ----------
    vectors : (positions, model_dim).
    operation : how the vectors meet the input: added to it, or multiplied with it.
    wavelengths : (model_dim,) tokens per turn of each column, where columns are waves.
    columns : a name for each column where columns differ in meaning, else empty.
    undefined_from : the first position that has no row, where a table ends.
    """

    vectors: Array
    operation: Literal["added", "multiplied"] = "added"
    wavelengths: Array | None = None
    columns: tuple[str, ...] = ()
    undefined_from: int | None = None
