"""Position interpolation: every frequency divided by the same factor."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from posviz.encodings.base import Source
from posviz.encodings.extension import FactorExtension
from posviz.encodings.rotary import SNIPPET
from posviz.results import Array


class Linear(FactorExtension):
    """f_i / s, the same as positions divided by s."""

    title: ClassVar[str] = "Position interpolation"
    year: ClassVar[int] = 2023
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Extending Context Window of Large Language Models via Positional Interpolation",
            authors="Chen et al.",
            year=2023,
            arxiv="2306.15595",
            place="equation 4",
        ),
    )
    formula: ClassVar[str] = r"f'_i = f_i / s"
    rope_types: ClassVar[tuple[str, ...]] = ("linear",)
    shows: ClassVar[str] = (
        "The whole spectrum moves down together: no pair leaves its trained arc, and neighbours "
        "come s times closer, which is what costs at short range."
    )
    limits: ClassVar[str] = "How much of the short-range cost a fine-tuning repairs."
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that interpolation is 600 times more stable than extrapolation. "
        "That compares two upper bounds, 2 · 32 ln b = 589 for b = 10⁴, not two errors of a "
        "model.",
        "You may have read that it costs nothing at short range. Neighbours come s times "
        "closer in every pair, the fastest included, where the other methods leave the "
        "fastest alone.",
    )
    used_in: ClassVar[tuple[str, ...]] = (
        "Vicuna v1.5 16K",
        "LongChat",
        "DeepSeek-Coder",
        "Gemma 3",
    )
    snippet: ClassVar[str] = SNIPPET + "inv_freq = f / $scaling_factor"
    snippet_gives: ClassVar[str] = "inv_freq"

    def frequencies(self, length: int, *, xp: Any = np, device: Any = None) -> Array:
        return self.trained_frequencies(xp=xp, device=device) / self.scaling_factor
