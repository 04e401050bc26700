"""Absolute encodings: a vector per position, added to or multiplied with the input.

The law of the family: the vector of a position does not depend on what else is in the sequence,
except where the encoding draws or counts positions itself and says so.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from annotated_types import Gt, Le
from array_api_compat import array_namespace

from posviz.encodings.base import Encoding
from posviz.encodings.sinusoids import (
    Ladder,
    ModelDim,
    WaveLayout,
    wave_frequencies,
    wave_lengths,
    waves,
)
from posviz.parameters import Parameter
from posviz.results import Array, PositionTable, device_of, frozen

WaveBase = Annotated[
    float,
    Gt(1),
    Le(1e15),
    Parameter(
        help="Ratio of the ladder of frequencies: a larger base slows the slow waves.",
        symbol="b",
        slider=(10, 1e6),
        scale="log",
    ),
]
WaveLayoutField = Annotated[
    WaveLayout,
    Parameter(
        help="Where sine and cosine of a frequency stand: alternating, in two halves, or "
        "alternating with the cosine first. One permutation of the columns turns each into the "
        "others.",
    ),
]
LadderField = Annotated[
    Ladder,
    Parameter(
        help="standard: b^(-2i/d), the paper's text; closed: b^(-i/(d/2-1)), the paper's code "
        "(Tensor2Tensor), whose slowest wave has exactly the wavelength 2πb.",
    ),
]


class AbsoluteEncoding(Encoding):
    """Base of the family."""

    family: ClassVar[str] = "absolute"


class SinusoidEncoding(AbsoluteEncoding):
    """Base of the encodings whose vectors are the sinusoids of some positions.

    A subclass overrides :meth:`encode` where it changes the positions first.
    """

    model_dim: ModelDim = 512
    base: WaveBase = 10000.0
    layout: WaveLayoutField = "alternating"
    ladder: LadderField = "standard"

    def inv_freq(self, like: Array) -> Array:
        """(frequencies,) radians per token, float64, of the kind of ``like``."""
        xp = array_namespace(like)
        return wave_frequencies(
            self.model_dim, self.base, self.ladder, xp=xp, device=device_of(like)
        )

    def table(self, at: Array, used: Array | None = None, **facts: Any) -> PositionTable:
        """The result for tokens ``at`` whose sinusoids are taken at the positions ``used``."""
        xp = array_namespace(at)
        inv_freq = self.inv_freq(at)
        vectors = waves(at if used is None else used, inv_freq, self.model_dim, self.layout)
        lengths = wave_lengths(inv_freq, self.model_dim, self.layout)
        return PositionTable(
            positions=frozen(xp.asarray(at, copy=True)),
            vectors=frozen(vectors),
            wavelengths=frozen(xp.astype(lengths, at.dtype)),
            **facts,
        )

    def caution(self) -> str:
        """What becomes of the last column where their number is odd."""
        if self.model_dim % 2 == 0:
            return super().caution()
        pairs = self.model_dim // 2
        told = f"model_dim {self.model_dim} is an odd dimension: "
        if self.ladder == "closed":
            return f"{told}{pairs} sine columns, {pairs} cosine columns, and the last holds zeros."
        first, second = ("cosine", "sine") if self.layout == "cos_first" else ("sine", "cosine")
        return (
            f"{told}{pairs + 1} {first} columns and {pairs} {second} columns, so the slowest wave "
            f"has no {second}, and products of two rows no longer depend on distance alone."
        )

    def encode(self, positions: Any) -> PositionTable:
        """The vectors of the given positions.

        Parameters
        ----------
        positions : (positions,) tokens; NumPy, torch, or a list of numbers.

        Returns
        -------
        PositionTable with vectors (positions, model_dim).

        Raises
        ------
        ParameterError : positions that are not finite numbers in one row.
        """
        return self.table(self.position_row(positions))
