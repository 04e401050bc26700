"""Resonance RoPE: wavelengths are whole numbers of tokens."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from posviz.encodings.base import Source
from posviz.encodings.extension import ScalingFactor
from posviz.encodings.extension.yarn import Yarn
from posviz.encodings.rotary import SNIPPET_AT_LENGTH
from posviz.encodings.yarn_rules import RAMP_SNIPPET
from posviz.results import Array, wavelengths


class Resonance(Yarn):
    """f' = 2π / round(λ), after plain RoPE (s = 1) or after YaRN.

    A pair whose wavelength is whole repeats the very same angles turn after turn, so that positions
    beyond the trained window meet no new ones.
    """

    title: ClassVar[str] = "Resonance RoPE"
    year: ClassVar[int] = 2024
    identity_at_factor_one: ClassVar[bool] = False
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Resonance RoPE: Improving Context Length Generalization of Large Language "
            "Models",
            authors="Wang et al.",
            year=2024,
            arxiv="2403.00071",
            place="section 4",
        ),
    )
    formula: ClassVar[str] = (
        r"f'_i = \frac{2\pi}{\mathrm{round}(\lambda_i)},\quad \lambda_i = \frac{2\pi}{f_i}"
    )
    rope_types: ClassVar[tuple[str, ...]] = ()
    shows: ClassVar[str] = (
        "The fast pairs move by up to a few percent (6.28 tokens become 6), the slow ones hardly."
    )
    limits: ClassVar[str] = (
        "Only pairs that finish a turn in training gain by it; the slow ones still need an "
        "extension such as YaRN."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that whole wavelengths leave nothing new beyond the window. That "
        "holds for pairs that finish a turn in it: 46 of 64 have at most 4,096 tokens for b = "
        "10⁴; the others go on to new angles.",
    )
    used_in: ClassVar[tuple[str, ...]] = ()
    snippet: ClassVar[str] = (
        SNIPPET_AT_LENGTH
        + 's = $scaling_factor if $applies == "always" or length > L else 1\n'
        + RAMP_SNIPPET
        + "inv_freq = 2 * np.pi / np.round(2 * np.pi / "
        "(f / s + $extrapolation_factor * kept * (f - f / s)))\n"
    )
    snippet_gives: ClassVar[str] = "inv_freq"

    scaling_factor: ScalingFactor = 1.0

    def suited(self, length: int, longest: int) -> dict[str, Any]:
        return {**super().suited(length, longest), "scaling_factor": longest / length}

    def frequencies(self, length: int, *, xp: Any = np, device: Any = None) -> Array:
        before = super().frequencies(length, xp=xp, device=device)
        return 2 * math.pi / xp.round(wavelengths(before))
