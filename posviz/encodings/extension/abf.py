"""Adjusted base frequency: the base is set anew and the model trained on."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from posviz.encodings.base import Source
from posviz.encodings.extension import Extension
from posviz.encodings.rotary import SNIPPET, Base
from posviz.results import Array


class Abf(Extension):
    """f'_i = b'^(-2i/d) with a base b' in place of the trained b.

    A released model states only its new base, and is plain RoPE to a runtime; both bases stand here
    so that the change can be drawn.
    """

    title: ClassVar[str] = "Adjusted base frequency"
    year: ClassVar[int] = 2023
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Effective Long-Context Scaling of Foundation Models",
            authors="Xiong et al.",
            year=2023,
            arxiv="2309.16039",
            place="section 4.1, appendix B",
        ),
    )
    formula: ClassVar[str] = r"f'_i = b'^{-2i/d},\quad f_i / f'_i = (b'/b)^{2i/d}"
    shows: ClassVar[str] = (
        "The spectrum tilts: pair 1 slows by a few percent where the slowest pair slows nearly as "
        "much as the base grows."
    )
    limits: ClassVar[str] = (
        "The method needs training at the new base; the picture shows the target of that training."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that a larger base slows all pairs alike. From b = 10⁴ to 5·10⁵ "
        "pair 1 of 64 slows by 6 percent, the last pair by a factor of 47.",
        "You may have read that a larger base always reaches farther. The sum of cosines "
        "first falls below 0 at distance 1,707 for b = 10⁴, but already at 1,554 for b = "
        "1.2·10⁴.",
    )
    used_in: ClassVar[tuple[str, ...]] = ("Llama 2 Long", "Code Llama", "Llama 3")
    snippet: ClassVar[str] = SNIPPET + "inv_freq = $new_base ** (-np.arange(0, d, 2) / d)"
    snippet_gives: ClassVar[str] = "inv_freq"

    new_base: Base = 500000.0

    def frequencies(self, length: int, *, xp: Any = np, device: Any = None) -> Array:
        return self.ladder(self.new_base, xp=xp, device=device)
