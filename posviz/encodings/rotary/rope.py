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
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that RoPE rotates keys and values. Queries and keys are rotated; "
        "values pass as they are (rotating values is VO-RoPE).",
        "You may have read that scores decay with distance. For equal q and k the sum of "
        "cosines wobbles, and with 64 pairs and b = 10⁴ falls below 0 first at distance "
        "1,707; for independent q and k of mean 0 the expected score is 0 at every distance. What "
        "decays in the paper is an upper bound.",
        "You may have read that the first dimensions carry the low frequencies. Pair 0 is the "
        "fastest, 1 radian per token; frequencies fall with the pair.",
        "You may have read that pair i is (2i, 2i+1), or that it is (i, i + d/2). Both are in "
        "use and give equal logits after one permutation of q and k; weights trained with one "
        "need it.",
        "You may have read that partial rotary keeps the fastest pairs. In the ordinary sense "
        "it squeezes a whole ladder into fewer dimensions; only the proportional sense keeps "
        "the fastest.",
    )
    used_in: ClassVar[tuple[str, ...]] = (
        "GPT-J",
        "GPT-NeoX",
        "PaLM",
        "Llama 2",
        "Mistral 7B",
        "Gemma",
        "Qwen2",
    )
    snippet: ClassVar[str] = """
import numpy as np
positions = np.arange(16.0)
D, p = $head_dim, $partial_rotary_factor
d = D if $partial_rotary == "proportional" else int(D * p)
inv_freq = $base ** (-np.arange(0, d, 2) / d)
inv_freq[int(D * p / 2):] = 0.0
cos = np.cos(positions[:, None] * inv_freq)
"""
    snippet_gives: ClassVar[str] = "cos"

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
