"""Giraffe's power basis: the spectrum bends down towards its slow end."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Le

from posviz.encodings.base import Source
from posviz.encodings.extension import Extension
from posviz.encodings.rotary import SNIPPET
from posviz.parameters import Parameter
from posviz.results import Array


class PowerBasis(Extension):
    """f' = f·(1 - 2i/d)^κ: the fastest pair is untouched, the slowest slowed most."""

    title: ClassVar[str] = "Power basis"
    year: ClassVar[int] = 2023
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Giraffe: Adventures in Expanding Context Lengths in LLMs",
            authors="Pal et al.",
            year=2023,
            arxiv="2308.10882",
            code="github.com/abacusai/Long-Context c2a90d1 ScaledLlamaRotaryEmbedding, scale_power",
        ),
    )
    formula: ClassVar[str] = r"f'_i = f_i \left(1 - \frac{2i}{d}\right)^{\kappa}"
    shows: ClassVar[str] = (
        "The divisor starts at 1 and rises ever more steeply to (d/2)^κ at the slowest pair, 8 for "
        "64 pairs and κ = 1/2, whatever the target is."
    )
    limits: ClassVar[str] = (
        "The power is not tied to a target length; the paper fine-tunes, and found the truncated "
        "basis better."
    )
    snippet: ClassVar[str] = SNIPPET + "inv_freq = f * (1 - np.arange(0, d, 2) / d) ** $power"
    snippet_gives: ClassVar[str] = "inv_freq"

    power: Annotated[
        float,
        Ge(0),
        Le(100),
        Parameter(
            help="How strongly the slow end is slowed; 0 changes nothing.",
            symbol=r"\kappa",
            slider=(0, 4),
            step=0.05,
        ),
    ] = 0.5

    def frequencies(self, length: int, *, xp: Any = np, device: Any = None) -> Array:
        index = xp.arange(self.pairs, dtype=xp.float64, device=device)
        weight = (1 - index / self.pairs) ** self.power
        return self.trained_frequencies(xp=xp, device=device) * weight
