"""Arrays of any kind that results hold, and what every result has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from array_api_compat import array_namespace, is_numpy_array
from array_api_compat import device as device_of

from posviz.parameters import ParameterError

Array: TypeAlias = Any
"""An array of any namespace that array-api-compat knows (NumPy, torch, …)."""

Rows: TypeAlias = slice | Array
"""Which queries: a slice, or whole numbers (rows,)."""

EVERY = slice(None)
"""All queries."""


def as_positions(values: Any) -> Array:
    """Positions as a floating array: arrays keep their kind, plain numbers become float64 NumPy.

    Raises ParameterError when a position is not a finite number.
    """
    array = values if hasattr(values, "dtype") and not np.isscalar(values) else _from_plain(values)
    xp = array_namespace(array)
    if not xp.isdtype(array.dtype, "real floating"):
        if not xp.isdtype(array.dtype, "integral"):
            raise ParameterError(f"positions must be numbers; got {array.dtype} values.")
        array = xp.astype(array, xp.float64)
    if not bool(xp.all(xp.isfinite(array))):
        raise ParameterError("positions must be finite numbers; got NaN or infinity.")
    return array


def _from_plain(values: Any) -> Array:
    try:
        return np.asarray(values)
    except ValueError:
        raise ParameterError(f"positions must be a list of numbers; got {values!r}.") from None


def frozen(array: Array) -> Array:
    """Mark a NumPy array read-only, so that no reader can change what another one sees."""
    if is_numpy_array(array):
        array.setflags(write=False)
    return array


@dataclass(frozen=True)
class Staircase:
    """Which bucket, or row of a table, a distance falls into.

    Attributes
    ----------
    distances : (distances,) tokens, query - key.
    buckets : (distances,) whole numbers.
    """

    distances: Array
    buckets: Array


@dataclass(frozen=True, kw_only=True)
class Result:
    """What every result has: positions, and what its encoding shows beside its main arrays.

    Attributes
    ----------
    positions : (positions,) tokens, in the order of the sequence.
    labels : a word for each position where the encoding works on words, else empty.
    strips : named rows of indices, each (positions,): what the encoding counts for each token.
    curves : named values, each (positions,).
    maps : named matrices, each (queries, keys) or (heads, queries, keys).
    staircase : bucket of each distance, where distances share one.
    layers : what each layer of the model does, where layers differ.
    grid : shape of the grid that the positions walk through row by row, where there is one.
    """

    positions: Array
    labels: tuple[str, ...] = ()
    strips: Mapping[str, Array] = field(default_factory=dict)
    curves: Mapping[str, Array] = field(default_factory=dict)
    maps: Mapping[str, Array] = field(default_factory=dict)
    staircase: Staircase | None = None
    layers: tuple[str, ...] = ()
    grid: tuple[int, ...] = ()

    def mix(self, weights: Array, values: Array, rows: Rows = EVERY) -> Array:
        """What attention gives out: Σ_n a_mn v_n, (..., queries, head_dim).

        ``rows`` says which queries the weights are of.
        """
        mixed = array_namespace(weights, values).matmul(weights, self.carried(values))
        return self.finished(mixed, rows)

    def carried(self, values: Array) -> Array:
        """What is averaged in place of the values: themselves, unless they are turned."""
        return values

    def finished(self, mixed: Array, rows: Rows = EVERY) -> Array:
        """What attention gives out, from the average of :meth:`carried` of some queries."""
        return mixed


__all__ = [
    "EVERY",
    "Array",
    "Result",
    "Rows",
    "Staircase",
    "as_positions",
    "device_of",
    "frozen",
]
