"""Rotary position embedding, the ladder that everything in this family starts from."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from posviz.encodings.base import Source
from posviz.encodings.rotary import RotaryEncoding
from posviz.parameters import Parameter


class Rope(RotaryEncoding):
    """f_i = b^(-2i/d) radians per token, for each pair i of the d rotary dimensions.

    With partial rotary in the ordinary sense d = p·D; in the proportional sense d = D and the pairs
    from p·D/2 on stand still, as in :class:`p_rope.PRope`.
    """

    title: ClassVar[str] = "RoPE"
    year: ClassVar[int] = 2021
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="RoFormer: Enhanced Transformer with Rotary Position Embedding",
            authors="Su et al.",
            year=2021,
            arxiv="2104.09864",
            place="section 3.2, equation 15",
        ),
    )
    formula: ClassVar[str] = r"f_i = b^{-2i/d},\quad i = 0, \dots, d/2 - 1"
    rope_types: ClassVar[tuple[str, ...]] = ("default", "mrope")
    shows: ClassVar[str] = (
        "Each pair turns at its own speed: the fast pairs tell neighbours apart, the slow pairs "
        "tell far from near and may never finish a turn in the trained window."
    )
    limits: ClassVar[str] = (
        "Frequencies alone do not say how a trained model uses them; attention also depends on q "
        "and k."
    )

    partial_rotary: Annotated[
        Literal["ordinary", "proportional"],
        Parameter(
            help="ordinary (GPT-NeoX, Phi, GLM): a whole ladder squeezed into the first p·D "
            "dimensions; proportional (Gemma 4): the p·D/2 fastest pairs of the full ladder.",
        ),
    ] = "ordinary"

    @property
    def is_proportional(self) -> bool:
        return self.partial_rotary == "proportional"
