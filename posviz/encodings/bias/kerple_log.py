"""KERPLE with the logarithmic kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from array_api_compat import array_namespace

from posviz.encodings.base import Source
from posviz.encodings.bias import CountedDistanceBias, per_head
from posviz.encodings.bias_kernels import KERPLE, LEAST, at_least, distance_power
from posviz.encodings.learned_parts import LearnedParts, NumpyParts
from posviz.parameters import Parameter
from posviz.results import Array


class KerpleLog(LearnedParts, CountedDistanceBias):
    """Minus r1·ln(1 + r2·δ), two positive numbers per head; the authors' code keeps both ≥ 0.01."""

    title: ClassVar[str] = "KERPLE (log)"
    year: ClassVar[int] = 2022
    sources: ClassVar[tuple[Source, ...]] = (KERPLE,)
    formula: ClassVar[str] = (
        r"B_h(\delta) = -r_{1,h}\, \ln(1 + r_{2,h}\, \delta),\quad r_{1,h}, r_{2,h} > 0"
    )
    shows: ClassVar[str] = (
        "A bias whose slope dies out: the weight at equal content falls like a power of the "
        "distance, δ to minus r1, so far tokens keep a share where ALiBi leaves none."
    )
    limits: ClassVar[str] = (
        "The numbers per head are a random start between the authors' bounds, not trained ones; "
        "with r1 below 1 the weights at equal content have no finite reach at all."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read NeMo's form with a power of the distance inside the logarithm, "
        "-b·ln(1 + a·δ^p). The paper's logarithmic kernel has no p; extra_power adds it.",
    )
    snippet: ClassVar[str] = """
import numpy as np
positions = np.arange(16.0)
H, rng, extra = $heads, np.random.default_rng($seed), $extra_power
r1, r2 = rng.uniform(0, 2, (H, 1, 1)), rng.uniform(0, 1, (H, 1, 1))
distance = positions[:, None] - positions[None, :]
distance = np.abs(distance) if $bidirectional else np.maximum(distance, 0)
power = np.ones((H, 1, 1)) if extra else 1
matrix = -np.maximum(r1, 0.01) * np.log(1 + np.maximum(r2, 0.01) * distance**power)
"""
    snippet_gives: ClassVar[str] = "matrix"

    extra_power: Annotated[
        bool,
        Parameter(
            help="NeMo's form: a third number per head, the power of the distance inside the "
            "logarithm, which starts at 1 and so changes nothing yet."
        ),
    ] = False
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"extra_power": False, "bidirectional": False},
        "NeMo decoder": {"extra_power": True, "bidirectional": False},
        "NeMo encoder": {"extra_power": True, "bidirectional": True},
    }

    def initial(self, rng: np.random.Generator) -> NumpyParts:
        parts = {"r1": rng.uniform(0, 2, self.heads), "r2": rng.uniform(0, 1, self.heads)}
        return parts | ({"power": np.ones(self.heads)} if self.extra_power else {})

    def bias(self, distance: Array, parts: Mapping[str, Array]) -> Array:
        counted = self.counted(distance)
        r1, r2 = (per_head(at_least(parts[name], LEAST), distance) for name in ("r1", "r2"))
        if self.extra_power:
            counted = distance_power(counted, per_head(parts["power"], distance))
        return -r1 * array_namespace(distance).log(1 + r2 * counted)
