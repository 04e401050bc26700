"""VO-RoPE: the values are rotated, and the output is rotated back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from array_api_compat import array_namespace

from posviz.encodings.base import PLAIN, Source
from posviz.encodings.rotary import RotaryFamily
from posviz.parameters import Parameter
from posviz.results import Array, LogitRow, ValueRotation, device_of


class VoRope(RotaryFamily):
    """o_m = R_m⁻¹ Σ_n a_mn R_n v_n: each value is seen through the rotation by n - m.

    The weights a may come from rotated queries and keys as well.
    """

    title: ClassVar[str] = "VO-RoPE"
    year: ClassVar[int] = 2022
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Rotary Positional Embeddings with Relative distance (RoPER)",
            authors="Harik, Jayasiri",
            year=2022,
            code="labml-nn 0.5.1 transformers.rope.value_pe.RotaryValuePEMultiHeadAttention",
        ),
        Source(
            title="The second kind of rotary position encoding",
            authors="Su",
            year=2025,
            place="kexue.fm 10862",
        ),
    )
    formula: ClassVar[str] = r"o_m = R_m^{-1} \sum_n a_{mn} R_n v_n = \sum_n a_{mn} R_{n-m} v_n"
    shows: ClassVar[str] = (
        "The angles are those of RoPE; what changes is where they act: the output tells from how "
        "far each value came, even when all weights are equal."
    )
    limits: ClassVar[str] = (
        "The rotation alone: whether a model gains by it depends on training. In Su's 1 B models "
        "values alone do worse than queries and keys alone, and better than no encoding."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read the formula with R_m outside and the inverse of R_n inside. That is the "
        "mirror image, every value turned the other way; both depend on the distance only.",
        "You may have read code that negates the output in place of rotating it back. A negation "
        "is no inverse of a rotation: a token that sees itself alone must get back its own value.",
    )
    used_in: ClassVar[tuple[str, ...]] = ()
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "VO (Su)": {"rotates": "VO"},
        "QKVO (RoPER)": {"rotates": "QKVO"},
    }
    snippet: ClassVar[str] = """
import numpy as np
positions = np.arange(16.0)
D, layout = $head_dim, $layout
inv_freq = $base ** (-np.arange(0, D, 2) / D)
cos, sin = np.cos(positions[:, None] * inv_freq), np.sin(positions[:, None] * inv_freq)
def turned(x, sin):  # pairs as complex numbers; with -sin the way back
    a, b = (x[:, 0::2], x[:, 1::2]) if layout == "interleaved" else np.split(x, 2, axis=1)
    a, b = a * cos - b * sin, a * sin + b * cos
    return np.stack((a, b), 2).reshape(x.shape) if layout == "interleaved" else np.hstack((a, b))
v, weights = np.eye(16, D), np.tril(np.ones((16, 16))) / (1 + positions[:, None])
output = turned(weights @ turned(v, sin), -sin)
"""
    snippet_gives: ClassVar[str] = "cos"

    rotates: Annotated[
        Literal["VO", "QKVO"],
        Parameter(help="Values and output alone, or queries and keys as well."),
    ] = "VO"

    def encode(self, positions: Any) -> ValueRotation:
        """Angles for the given positions.

        Parameters
        ----------
        positions : (positions,) tokens; NumPy, torch, or a list of numbers.

        Returns
        -------
        ValueRotation: :func:`posviz.attention.output` rotates the values there and back.

        Raises
        ------
        ParameterError : positions that are not finite numbers in one row or are beyond 2^53.
        """
        at = self.position_row(positions)
        ladder = self.ladder(self.base, xp=array_namespace(at), device=device_of(at))
        return ValueRotation(**self.shared(at, ladder), rotates_scores=self.rotates == "QKVO")

    def logit_row(self, length: int, *, like: Array = PLAIN) -> LogitRow:
        if self.rotates == "VO":
            return LogitRow(length=length)
        ladder = self.ladder(self.base, xp=array_namespace(like), device=device_of(like))
        return self.rotated_row(length, ladder, like)
