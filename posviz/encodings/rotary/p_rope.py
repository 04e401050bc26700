"""p-RoPE: the slow pairs are not rotated at all."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Le

from posviz.encodings.base import Source
from posviz.encodings.rotary import PartialRotaryFactor, RotaryEncoding
from posviz.parameters import Parameter
from posviz.results import Array


class PRope(RotaryEncoding):
    """f_i = b^(-2i/D) / s for the first floor(p·D/2) pairs, 0 for the rest.

    The paper has s = 1; the factor comes from the rope type "proportional" of transformers.
    """

    title: ClassVar[str] = "p-RoPE"
    year: ClassVar[int] = 2024
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Round and Round We Go! What makes Rotary Positional Encodings useful?",
            authors="Barbero et al.",
            year=2024,
            arxiv="2410.06205",
            code="transformers 5.24.0 ROPE_INIT_FUNCTIONS['proportional']",
        ),
    )
    formula: ClassVar[str] = (
        r"f_i = \frac{b^{-2i/D}}{s} \text{ for } i < \lfloor pD/2 \rfloor,"
        r"\quad f_i = 0 \text{ otherwise}"
    )
    rope_types: ClassVar[tuple[str, ...]] = ("proportional",)
    shows: ClassVar[str] = (
        "The fast pairs are those of plain RoPE; the slow ones stand still and carry content only."
    )
    limits: ClassVar[str] = (
        "Whether a model needs its slow pairs for content is learned, not drawn."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that p-RoPE is partial rotary by another name. Partial rotary as "
        "in GPT-NeoX squeezes a whole ladder into the first p·D dimensions; p-RoPE leaves the "
        "ladder of all D and stops its slow pairs: with D = 256 and p = 0.75, 96 pairs turn "
        "and the slowest has 5,847 tokens.",
    )
    used_in: ClassVar[tuple[str, ...]] = ("Gemma 4",)
    snippet: ClassVar[str] = """
import numpy as np
positions = np.arange(16.0)
D, p = $head_dim, $partial_rotary_factor
inv_freq = $base ** (-np.arange(0, D, 2) / D) / $scaling_factor
inv_freq[int(D * p / 2):] = 0.0
"""
    snippet_gives: ClassVar[str] = "inv_freq"

    partial_rotary_factor: PartialRotaryFactor = 0.75
    scaling_factor: Annotated[
        float,
        Ge(1),
        Le(1e6),
        Parameter(
            help="Divides every frequency, as position interpolation does; 1 is the paper's form.",
            symbol="s",
            slider=(1, 64),
            scale="log",
        ),
    ] = 1.0

    def suited(self, length: int, longest: int) -> dict[str, Any]:
        return {**super().suited(length, longest), "scaling_factor": longest / length}

    @property
    def is_proportional(self) -> bool:
        return True

    def frequencies(self, length: int, *, xp: Any = np, device: Any = None) -> Array:
        return self.trained_frequencies(xp=xp, device=device) / self.scaling_factor
