"""Rotary position embedding, the ladder that everything in this family starts from."""

from __future__ import annotations

from typing import ClassVar

from posviz.encodings.base import Source
from posviz.encodings.rotary import RotaryEncoding


class Rope(RotaryEncoding):
    """f_i = b^(-2i/d) radians per token, for each pair i of the d rotary dimensions.

    Partial rotary in the ordinary sense (GPT-NeoX, Phi, GLM, StableLM) squeezes a whole ladder into
    the first d = p·D dimensions. The proportional sense is :class:`p_rope.PRope`.
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
    formula: ClassVar[str] = r"f_i = b^{-2i/d}"
    shows: ClassVar[str] = (
        "Each pair turns at its own speed: the fast pairs tell neighbours apart, the slow pairs "
        "tell far from near and may never finish a turn in the trained window."
    )
    limits: ClassVar[str] = (
        "Frequencies alone do not say how a trained model uses them; attention also depends on q and k."
    )
