"""What an encoding gives for some positions: arrays with named axes.

Arrays come back in the kind they were asked in: NumPy positions give read-only NumPy arrays, torch
positions give torch tensors on the same device. Nothing here knows which encoding it came from.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from array_api_compat import array_namespace, is_numpy_array
from array_api_compat import device as device_of

from posviz.parameters import ParameterError

Array: TypeAlias = Any
"""An array of any namespace that array-api-compat knows (NumPy, torch, …)."""

Layout = Literal["half_split", "interleaved"]


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


@dataclass(frozen=True, kw_only=True)
class RotaryResult:
    """What all rotary results have.

    Attributes
    ----------
    positions : (positions,) tokens.
    inv_freq : (pairs,) radians per token; pair 0 is the fastest; 0 means "not rotated".
    attention_factor : multiplies cos and sin, hence q·k of the rotated part by its square.
    softmax_factor : multiplies every logit (DeepSeek puts its correction here).
    query_scale : (positions,) multiplies the logits of a query at that position, or None for 1.
    head_dim, rotary_dim : size of a head, and how many of its first dimensions rotate.
    layout : which two dimensions form pair i: (i, i + rotary_dim/2) or (2i, 2i+1).
    """

    positions: Array
    inv_freq: Array
    attention_factor: float
    head_dim: int
    rotary_dim: int
    layout: Layout
    softmax_factor: float = 1.0
    query_scale: Array | None = None

    @property
    def wavelengths(self) -> Array:
        """(pairs,) tokens per full turn, 2π / inv_freq; infinite where a pair does not rotate."""
        return wavelengths(self.inv_freq)


@dataclass(frozen=True, kw_only=True)
class Rotation(RotaryResult):
    """Rotary positions: an angle per position and pair."""

    @property
    def angles(self) -> Array:
        """(positions, pairs) radians."""
        return frozen(self.positions[:, None] * self.inv_freq[None, :])

    @property
    def cos(self) -> Array:
        """(positions, pairs), carrying the attention factor."""
        xp = array_namespace(self.positions)
        return frozen(xp.cos(self.angles) * self.attention_factor)

    @property
    def sin(self) -> Array:
        """(positions, pairs), carrying the attention factor."""
        xp = array_namespace(self.positions)
        return frozen(xp.sin(self.angles) * self.attention_factor)

    def rotate(self, vectors: Array) -> Array:
        """Rotate queries or keys: (..., positions, head_dim) to the same shape.

        Dimensions from rotary_dim on pass unchanged.
        """
        cos, sin = self.cos, self.sin
        return rotate_pairs(vectors, cos, sin, self.rotary_dim, self.layout)


@dataclass(frozen=True, kw_only=True)
class RelativeRotation(RotaryResult):
    """Rotary attention whose distance is remapped, so that q and k cannot be rotated one by one.

    Queries and keys stand at the same positions.

    Attributes
    ----------
    relative_distance : (positions as queries, positions as keys) the distance that the rotation
        sees.
    """

    relative_distance: Array


def wavelengths(inv_freq: Array) -> Array:
    """(pairs,) tokens per full turn, 2π / inv_freq; infinite where inv_freq is 0."""
    xp = array_namespace(inv_freq)
    # Below this 2π / inv_freq is beyond the largest number of the dtype.
    turning = inv_freq > 8 / xp.finfo(inv_freq.dtype).max
    safe = xp.where(turning, inv_freq, xp.ones_like(inv_freq))
    return frozen(xp.where(turning, 2 * math.pi / safe, xp.full_like(inv_freq, math.inf)))


def split_pairs(vectors: Array, rotary_dim: int, layout: Layout) -> tuple[Array, Array]:
    """First and second member of every pair: two arrays (..., pairs)."""
    rotated = vectors[..., :rotary_dim]
    if layout == "interleaved":
        return rotated[..., 0::2], rotated[..., 1::2]
    return rotated[..., : rotary_dim // 2], rotated[..., rotary_dim // 2 :]


def join_pairs(first: Array, second: Array, tail: Array, layout: Layout) -> Array:
    """Undo :func:`split_pairs`, with the unrotated tail put back: (..., head_dim)."""
    xp = array_namespace(first)
    if layout == "interleaved":
        stacked = xp.stack((first, second), axis=-1)
        joined = xp.reshape(stacked, (*first.shape[:-1], 2 * first.shape[-1]))
    else:
        joined = xp.concat((first, second), axis=-1)
    return xp.concat((joined, tail), axis=-1)


def rotate_pairs(vectors: Array, cos: Array, sin: Array, rotary_dim: int, layout: Layout) -> Array:
    """(a, b) of each pair to (a cos - b sin, a sin + b cos)."""
    first, second = split_pairs(vectors, rotary_dim, layout)
    return join_pairs(
        first * cos - second * sin,
        first * sin + second * cos,
        vectors[..., rotary_dim:],
        layout,
    )


__all__ = [
    "Array",
    "Layout",
    "RelativeRotation",
    "Rotation",
    "as_positions",
    "device_of",
    "frozen",
    "join_pairs",
    "rotate_pairs",
    "split_pairs",
    "wavelengths",
]
