"""KERPLE with the power kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Gt, Le
from array_api_compat import array_namespace

from posviz.encodings.base import Source
from posviz.encodings.bias import CountedDistanceBias, per_head
from posviz.encodings.bias_kernels import KERPLE, LEAST, at_least, distance_power
from posviz.encodings.learned_parts import LearnedParts, NumpyParts
from posviz.parameters import Parameter
from posviz.results import Array

_LARGEST_POWER = 2.0


class KerplePower(LearnedParts, CountedDistanceBias):
    """Minus a·δ^p, two numbers per head; learned ones are kept in [0.01, 2] and from 0.01 on."""

    title: ClassVar[str] = "KERPLE (power)"
    year: ClassVar[int] = 2022
    sources: ClassVar[tuple[Source, ...]] = (KERPLE,)
    formula: ClassVar[str] = r"B_h(\delta) = -a_h\, \delta^{p_h},\quad a_h > 0,\ 0 < p_h \leq 2"
    shows: ClassVar[str] = (
        "One family from heavy tails to a Gaussian window: p below 1 bends like a logarithm, p = 1 "
        "is ALiBi with learned slopes, p = 2 gives weights that fall like exp(-a·δ²)."
    )
    limits: ClassVar[str] = (
        "The numbers per head are a random start, not trained ones; set a power to see one shape "
        "in every head."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that any power of the distance will do. Beyond p = 2, minus δ^p is no "
        "longer conditionally positive definite, so it is not the kernel that KERPLE builds on; "
        "that is why a larger p is refused here.",
    )
    snippet: ClassVar[str] = """
import numpy as np
positions = np.arange(16.0)
H, rng, power = $heads, np.random.default_rng($seed), $power
a = np.maximum(rng.uniform(0, 1, (H, 1, 1)), 0.01)
p = np.clip(rng.uniform(0, 2, (H, 1, 1)), 0.01, 2) if power is None else power
distance = positions[:, None] - positions[None, :]
distance = np.abs(distance) if $bidirectional else np.maximum(distance, 0)
matrix = -a * distance**p
"""
    snippet_gives: ClassVar[str] = "matrix"

    power: Annotated[
        float | None,
        Gt(0),
        Le(_LARGEST_POWER),
        Parameter(
            help="The power of the distance, the same for all heads; beyond 2 there is no valid "
            "kernel. Left out: learned, one per head.",
            symbol="p",
            slider=(0.05, 2),
            step=0.05,
        ),
    ] = None

    def initial(self, rng: np.random.Generator) -> NumpyParts:
        parts = {"a": rng.uniform(0, 1, self.heads)}
        return parts | ({"p": rng.uniform(0, 2, self.heads)} if self.power is None else {})

    def bias(self, distance: Array, parts: Mapping[str, Array]) -> Array:
        xp = array_namespace(distance)
        if self.power is None:
            floored = at_least(parts["p"], LEAST)
            powers = xp.where(
                floored < _LARGEST_POWER, floored, xp.full_like(floored, _LARGEST_POWER)
            )
        else:
            powers = xp.full_like(parts["a"], self.power)
        slopes = per_head(at_least(parts["a"], LEAST), distance)
        return -slopes * distance_power(self.counted(distance), per_head(powers, distance))
