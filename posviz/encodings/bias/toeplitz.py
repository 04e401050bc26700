"""The general Toeplitz bias: one learned number per distance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.base import Source
from posviz.encodings.bias import BiasEncoding, looked_up
from posviz.encodings.learned_parts import LearnedParts, NumpyParts
from posviz.parameters import Parameter
from posviz.results import Array, AttentionBias, Staircase, ToeplitzBias, frozen


class Toeplitz(LearnedParts, BiasEncoding):
    """A table of one number per head and distance, the farthest distances sharing the last."""

    title: ClassVar[str] = "Toeplitz bias"
    year: ClassVar[int] = 2021
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Swin Transformer: Hierarchical Vision Transformer using Shifted Windows",
            authors="Liu et al.",
            year=2021,
            arxiv="2103.14030",
            place="section 3.2, equation 4 (one axis of its window)",
            code="microsoft/Swin-Transformer, relative_position_bias_table",
        ),
    )
    formula: ClassVar[str] = r"B_h(\delta) = b_{h,\ \min(\max(\delta, -K), K)}"
    shows: ClassVar[str] = (
        "A matrix that is constant along its diagonals: whatever bias depends on the distance only "
        "looks like this. T5, ALiBi, KERPLE and Sandwich are ways to write it with fewer numbers."
    )
    limits: ClassVar[str] = (
        "The numbers are a random start and not trained; what a model makes of them depends on "
        "its training, and beyond K it cannot tell distances apart."
    )
    used_in: ClassVar[tuple[str, ...]] = ("Swin Transformer (in two dimensions)",)
    snippet: ClassVar[str] = """
import numpy as np
positions = np.arange(16.0)
K, H = $largest_distance, $heads
table = np.random.default_rng($seed).normal(0, 0.02, (2 * K + 1, H))
distance = (positions[:, None] - positions[None, :]).astype(int)
matrix = np.moveaxis(table[np.clip(distance, -K, K) + K], -1, 0)
"""
    snippet_gives: ClassVar[str] = "matrix"

    largest_distance: Annotated[
        int,
        Ge(0),
        Le(1 << 16),
        Parameter(
            help="The largest distance with a number of its own, each way; farther ones share it. "
            "A Swin window of 7 has 6.",
            symbol="K",
            unit="tokens",
            slider=(0, 128),
            step=1,
        ),
    ] = 6

    def suited(self, length: int, longest: int) -> dict[str, Any]:
        return {**super().suited(length, longest), "largest_distance": length}

    def initial(self, rng: np.random.Generator) -> NumpyParts:
        return {"table": rng.normal(0, 0.02, (2 * self.largest_distance + 1, self.heads))}

    def rows(self, distance: Array) -> Array:
        """Row of the table for distances of any shape; row 0 is for the farthest key ahead."""
        xp = array_namespace(distance)
        clipped = xp.clip(xp.round(distance), -self.largest_distance, self.largest_distance)
        return xp.astype(clipped, xp.int64) + self.largest_distance

    def bias(self, distance: Array, parts: Mapping[str, Array]) -> Array:
        return looked_up(parts["table"], self.rows(distance))

    def facts(self, result: AttentionBias, parts: Mapping[str, Array]) -> Mapping[str, Any]:
        assert isinstance(result, ToeplitzBias)
        rows = frozen(self.rows(result.distances))
        return {"staircase": Staircase(distances=result.distances, buckets=rows)}
