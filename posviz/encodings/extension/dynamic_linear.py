"""Dynamic position interpolation: every frequency divided by how far the window is exceeded."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from posviz.encodings.base import Source
from posviz.encodings.extension import DynamicExtension
from posviz.encodings.rotary import SNIPPET_AT_LENGTH
from posviz.results import Array


class DynamicLinear(DynamicExtension):
    """f_i / s with s = max(1, ℓ/L): the longest context always just fills the trained window."""

    title: ClassVar[str] = "Dynamic position interpolation"
    year: ClassVar[int] = 2023
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Dynamically Scaled RoPE further increases performance of long context LLaMA",
            authors="emozilla",
            year=2023,
            place="restated in arXiv:2309.00071, section 3.3",
            code="github.com/jquesnelle/yarn 995db5b LlamaDynamicScaledRotaryEmbedding, ntk=False",
        ),
    )
    formula: ClassVar[str] = r"f'_i = f_i / s,\quad s = \max(1, \ell / L)"
    shows: ClassVar[str] = (
        "The spectrum stands still up to the trained window and then moves down as a whole, token "
        "by token."
    )
    limits: ClassVar[str] = (
        "Keys that are cached already rotated keep the frequencies of an earlier length; the "
        "picture assumes that all are rotated anew."
    )
    snippet: ClassVar[str] = SNIPPET_AT_LENGTH + "inv_freq = f / max(1, length / L)"
    snippet_gives: ClassVar[str] = "inv_freq"

    def frequencies(self, length: int, *, xp: Any = np, device: Any = None) -> Array:
        return self.trained_frequencies(xp=xp, device=device) / self.factor_at(length)
