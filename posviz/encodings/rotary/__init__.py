"""Rotary encodings: an angle per position and pair.

The law of the family: a rotation keeps the length of a vector (times ``attention_factor``), and the
logit of a rotated q and k depends on their distance only.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Gt, Le
from array_api_compat import array_namespace

from posviz.encodings.base import LARGEST_POSITION, PLAIN, Encoding
from posviz.parameters import Parameter, ParameterError, sentence
from posviz.results import (
    Array,
    Layout,
    LogitRow,
    RelativeRotation,
    Rotation,
    device_of,
    frozen,
)

Base = Annotated[
    float,
    Gt(1),
    Le(1e15),
    Parameter(
        help="Ratio of the ladder of frequencies: a larger base slows the slow pairs "
        "(known elsewhere as rope_theta).",
        symbol="b",
        slider=(1e3, 1e8),
        scale="log",
    ),
]
HeadDim = Annotated[
    int,
    Ge(2),
    Le(8192),
    Parameter(
        help="Size of one attention head.", symbol="D", unit="dimensions", slider=(16, 256), step=2
    ),
]


PartialRotaryFactor = Annotated[
    float,
    Gt(0),
    Le(1),
    Parameter(
        help="Share of a head's dimensions that rotate; the rest carries no position.",
        symbol="p",
        slider=(0.1, 1),
        step=0.05,
    ),
]


LayoutField = Annotated[
    Layout,
    Parameter(
        help="Which two dimensions form a pair; a convention of the trained weights: the two "
        "give equal logits after one permutation of q and k.",
    ),
]


SNIPPET = """
import numpy as np
positions = np.arange(16.0)
d = int($head_dim * $partial_rotary_factor)
f = $base ** (-np.arange(0, d, 2) / d)
"""
"""How a snippet starts: positions, and the trained frequencies of the d rotary dimensions."""
SNIPPET_AT_LENGTH = """
import numpy as np
L = $original_max_position_embeddings
positions = np.array([0.0, 1.0, L - 1, 2 * L - 1])
length = positions[-1] + 1
b, d = $base, int($head_dim * $partial_rotary_factor)
f = b ** (-np.arange(0, d, 2) / d)
"""
"""The same for a method that depends on the length it runs at."""


class RotaryFamily(Encoding):
    """Base of everything that rotates pairs: the ladder of frequencies and the layout.

    An encoding that turns queries and keys alike, by position times frequency, is a
    :class:`RotaryEncoding`; one that does more (two axes, a decay, values) starts here.
    """

    family: ClassVar[str] = "rotary"

    base: Base = 10000.0
    head_dim: HeadDim = 128
    layout: LayoutField = "half_split"

    def check_rules(self) -> None:
        if self.head_dim % 2:
            raise ParameterError(
                f"{self.title}: head_dim must be even, since every layout joins dimensions in "
                f"pairs; got head_dim {self.head_dim}."
            )

    @property
    def rotary_dim(self) -> int:
        """Dimensions that rotate."""
        return self.head_dim

    @property
    def pairs(self) -> int:
        return self.rotary_dim // 2

    def ladder(self, base: float, *, xp: Any = np, device: Any = None) -> Array:
        """b^(-2i/d) for i = 0 … pairs-1, float64: (pairs,) radians per token."""
        values = base ** (-np.arange(0, self.rotary_dim, 2) / self.rotary_dim)
        # Powers differ in the last bit between libraries, which far positions would magnify.
        return xp.asarray(values, dtype=xp.float64, device=device)

    def shared(self, at: Array, frequencies: Array) -> dict[str, Any]:
        """What every rotary result is made of, for positions and their frequencies."""
        xp = array_namespace(at)
        return {
            "positions": frozen(xp.asarray(at, copy=True)),
            "inv_freq": frozen(xp.astype(frequencies, at.dtype)),
            "attention_factor": 1.0,
            "head_dim": self.head_dim,
            "rotary_dim": 2 * frequencies.shape[0],
            "layout": self.layout,
        }

    def rotated_row(self, length: int, frequencies: Array, like: Array, **more: Any) -> LogitRow:
        """The row of queries and keys that are both rotated with these frequencies."""
        xp = array_namespace(like)
        return LogitRow(
            length=length,
            inv_freq=frozen(xp.astype(frequencies, like.dtype)),
            rotary_share=2 * frequencies.shape[0] / self.head_dim,
            head_dim=self.head_dim,
            layout=self.layout,
            **more,
        )

    def context_length(self, positions: Array, length: int | None) -> int:
        """The length to run at: the given one, or the last position + 1."""
        xp = array_namespace(positions)
        if length is None:
            return 1 + max(0, int(xp.max(positions))) if positions.shape[0] else 1
        is_whole = isinstance(length, int | np.integer) and not isinstance(length, bool)
        if not is_whole or not 1 <= length <= LARGEST_POSITION + 1:
            allowed = "a whole number of at least 1 and at most 2^53 + 1"
            raise ParameterError(sentence(self.title, "length", allowed, length))
        return int(length)


class RotaryEncoding(RotaryFamily):
    """Rotary encodings along one axis, queries and keys alike: frequencies, factors, distances.

    A subclass overrides one or more of :meth:`frequencies`, :meth:`magnitude`,
    :meth:`softmax_magnitude`, :meth:`relative_distance` and :meth:`query_scale`. Each is a pure
    function of the spec and of ``length``, the number of tokens that the model runs at.
    """

    rope_types: ClassVar[tuple[str, ...]] = ()
    """Values of rope_type in a model's configuration that mean this encoding."""
    remaps_distance: ClassVar[bool] = False
    """True where the distance itself changes, so that q and k cannot be rotated one by one."""

    partial_rotary_factor: PartialRotaryFactor = 1.0

    def check_rules(self) -> None:
        if self.rotary_dim < 2 or self.rotary_dim % 2 or not self.rotating_pairs:
            raise ParameterError(
                f"{self.title}: head_dim and partial_rotary_factor must give an even number of "
                f"rotary dimensions of at least 2; got {self.rotary_dim} dimensions with "
                f"{self.rotating_pairs} rotating pairs from head_dim {self.head_dim} and "
                f"partial_rotary_factor {self.partial_rotary_factor}."
            )

    @property
    def is_proportional(self) -> bool:
        """True where partial rotary keeps the full ladder and lets its slow pairs stand still."""
        return False

    @property
    def rotary_dim(self) -> int:
        """Dimensions that the ladder spans, rounded down as every runtime does."""
        share = 1.0 if self.is_proportional else self.partial_rotary_factor
        return int(self.head_dim * share)

    @property
    def rotating_pairs(self) -> int:
        """Pairs whose frequency is not 0 in the trained model."""
        if self.is_proportional:
            return int(self.head_dim * self.partial_rotary_factor / 2)
        return self.pairs

    def trained_frequencies(self, *, xp: Any = np, device: Any = None) -> Array:
        """What the model was trained with, before any extension: (pairs,) radians per token."""
        ladder = self.ladder(self.base, xp=xp, device=device)
        if not self.is_proportional:
            return ladder
        pair = xp.arange(self.pairs, device=device)
        return xp.where(pair < self.rotating_pairs, ladder, xp.zeros_like(ladder))

    def frequencies(self, length: int, *, xp: Any = np, device: Any = None) -> Array:
        """What the model runs with at this length: (pairs,) radians per token, float64."""
        return self.trained_frequencies(xp=xp, device=device)

    def magnitude(self, length: int) -> float:
        """Factor on cos and sin."""
        return 1.0

    def softmax_magnitude(self, length: int) -> float:
        """Factor on all logits, rotated or not."""
        return 1.0

    def relative_distance(self, query: Array, key: Array) -> Array:
        """The distance that the rotation sees between two positions; arrays broadcast."""
        return query - key

    def query_scale(self, query: Array, length: int) -> Array | None:
        """Factor on the logits of a query at this position; None stands for 1 everywhere."""
        return None

    def encode(self, positions: Any, length: int | None = None) -> Rotation | RelativeRotation:
        """Angles for the given positions.

        Parameters
        ----------
        positions : (positions,) tokens; NumPy, torch, or a list of numbers.
        length : the number of tokens that the model runs at; by default the last position + 1.
            Only methods that depend on the length (dynamic ones, LongRoPE) look at it.

        Returns
        -------
        Rotation, or RelativeRotation where the method remaps distances; float32 positions give
        float32 arrays. Frequencies are worked out in float64 first, as runtimes should.

        Raises
        ------
        ParameterError : positions that are not finite numbers in one row or are beyond 2^53, or a
            length below 1.
        """
        at = self.position_row(positions)
        context = self.context_length(at, length)
        xp = array_namespace(at)
        frequencies = self.frequencies(context, xp=xp, device=device_of(at))
        scale = self.query_scale(at, context)
        shared = self.shared(at, frequencies) | {
            "attention_factor": self.magnitude(context),
            "softmax_factor": self.softmax_magnitude(context),
            "query_scale": None if scale is None else frozen(scale),
        }
        if not self.remaps_distance:
            return Rotation(**shared)
        distance = frozen(self.relative_distance(at[:, None], at[None, :]))
        return RelativeRotation(relative_distance=distance, **shared)

    def logit_row(self, length: int, *, like: Array = PLAIN) -> LogitRow:
        xp = array_namespace(like)
        query = xp.asarray([length - 1.0], dtype=like.dtype, device=device_of(like))
        scale = self.query_scale(query, length)
        seen = None
        if self.remaps_distance:

            def seen(distances: Array) -> Array:
                return self.relative_distance(query, query - distances)

        return self.rotated_row(
            length,
            self.frequencies(length, xp=xp, device=device_of(like)),
            like,
            rotary_gain=float(self.magnitude(length)) ** 2,
            gain=float(self.softmax_magnitude(length))
            * (1.0 if scale is None else float(scale[0])),
            seen=seen,
            varies=self.remaps_distance,
        )
