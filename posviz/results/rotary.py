"""Rotary results: an angle per position and pair."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from array_api_compat import array_namespace

from posviz.results.arrays import EVERY, Array, Result, Rows, frozen

Layout = Literal["half_split", "interleaved"]


@dataclass(frozen=True, kw_only=True)
class RotaryResult(Result):
    """What all rotary results have.

    Attributes
    ----------
    inv_freq : (pairs,) radians per token; pair 0 is the fastest; 0 means "not rotated".
    attention_factor : multiplies cos and sin, hence q·k of the rotated part by its square.
    softmax_factor : multiplies every logit (DeepSeek puts its correction here).
    query_scale : (positions,) multiplies the logits of a query at that position, or None for 1.
    head_dim, rotary_dim : size of a head, and how many of its first dimensions rotate.
    layout : which two dimensions form pair i: (i, i + rotary_dim/2) or (2i, 2i+1).
    """

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

    def rotate_queries(self, vectors: Array) -> Array:
        """What the logit takes of the queries; the same as :meth:`rotate` unless sides differ."""
        return self.rotate(vectors)

    def rotate_keys(self, vectors: Array) -> Array:
        """What the logit takes of the keys; the same as :meth:`rotate` unless sides differ."""
        return self.rotate(vectors)


@dataclass(frozen=True, kw_only=True)
class ScaledRotation(Rotation):
    """A rotation that also scales each pair, queries one way and keys the other (xPos).

    Attributes
    ----------
    query_gain, key_gain : (positions, pairs) factors on the rotated pairs.
    decay : (pairs,) what a pair keeps over one token of distance: query_gain at m times key_gain at
        n is decay to the power m - n.
    is_causal_only : True where keys after their query are masked, since the factor grows there.
    """

    query_gain: Array
    key_gain: Array
    decay: Array
    is_causal_only: bool = False

    def rotate_queries(self, vectors: Array) -> Array:
        return self._scaled(vectors, self.query_gain)

    def rotate_keys(self, vectors: Array) -> Array:
        return self._scaled(vectors, self.key_gain)

    def _scaled(self, vectors: Array, gain: Array) -> Array:
        cos, sin = self.cos * gain, self.sin * gain
        return rotate_pairs(vectors, cos, sin, self.rotary_dim, self.layout)


@dataclass(frozen=True, kw_only=True)
class AxialRotation(Rotation):
    """A rotation by several coordinates: rows and columns, or time, height and width.

    Attributes
    ----------
    coordinates : (positions, axes) where each token stands.
    axis_names : a name for each axis.
    axis_freq : (axes, pairs) radians per step along an axis; inv_freq is its length over the axes.
    """

    coordinates: Array
    axis_names: tuple[str, ...]
    axis_freq: Array

    @property
    def angles(self) -> Array:
        """(positions, pairs) radians, summed over the axes."""
        xp = array_namespace(self.coordinates)
        return frozen(xp.matmul(self.coordinates, self.axis_freq))


@dataclass(frozen=True, kw_only=True)
class ValueRotation(Rotation):
    """A rotation of the values too: the output sees each value turned by its distance.

    Attributes
    ----------
    rotates_scores : whether queries and keys are rotated as well.
    """

    rotates_scores: bool

    def rotate_queries(self, vectors: Array) -> Array:
        return self.rotate(vectors) if self.rotates_scores else vectors

    def rotate_keys(self, vectors: Array) -> Array:
        return self.rotate(vectors) if self.rotates_scores else vectors

    def carried(self, values: Array) -> Array:
        """R_n v_n."""
        return self.rotate(values)

    def finished(self, mixed: Array, rows: Rows = EVERY) -> Array:
        """R_m⁻¹ Σ_n a_mn R_n v_n: (..., queries, head_dim)."""
        return rotate_pairs(mixed, self.cos[rows], -self.sin[rows], self.rotary_dim, self.layout)


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
