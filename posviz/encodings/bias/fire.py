"""FIRE: a small network of the distance over the query's position."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Gt, Le

from posviz.encodings.base import Source
from posviz.encodings.bias import CountedDistanceBias
from posviz.encodings.fire_rule import (
    heads_first,
    linear_start,
    named_layers,
    normalised_distance,
    perceptron,
)
from posviz.encodings.learned_parts import LearnedParts, NumpyParts
from posviz.parameters import Parameter
from posviz.results import Array, AttentionBias, frozen


class Fire(LearnedParts, CountedDistanceBias):
    """f(ψ(δ) / ψ(max(m, L))) with ψ(x) = ln(c·x + 1), c and L learned, and f a network.

    ``L_multiplier`` times ``initial_threshold`` is the learned L, as in the reference code.
    """

    title: ClassVar[str] = "FIRE"
    year: ClassVar[int] = 2023
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Functional Interpolation for Relative Positions Improves Long Context "
            "Transformers",
            authors="Li et al.",
            year=2023,
            arxiv="2310.04418",
            place="section 3.2",
            code="chuanyang-Zheng/DAPE bde344a8, DAPE.py; mcleish7/arithmetic 86022a57",
        ),
    )
    formula: ClassVar[str] = (
        r"B_h(m, n) = f_h\!\left( \frac{\psi(m-n)}{\psi(\max(m, L)) + \epsilon} \right),\quad "
        r"\psi(x) = \ln(|c\, x| + 1)"
    )
    shows: ClassVar[str] = (
        "The map of normalised distances: it stays in [0, 1) however long the sequence is, so a "
        "network trained past L meets no new number. For queries beyond L its rows are no longer "
        "shifted copies: lower L to see it."
    )
    limits: ClassVar[str] = (
        "The network is a random start, so the bias has no meaning yet; the normalised distance "
        "is the part to look at. In both directions, keys far ahead leave [0, 1)."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read FIRE as f(δ/m), distance over position. Both go through ψ, and below "
        "the threshold L the divisor no longer shrinks with m; without this, short sequences would "
        "be stretched over the whole range.",
        "You may have read that relative encodings depend on the distance only. FIRE does not: the "
        "same distance is a smaller share for a query beyond L.",
    )
    # The hidden layer has a number per query, key and unit.
    most_positions: ClassVar[int] = 512
    longest_row: ClassVar[int] = 1 << 15
    snippet: ClassVar[str] = """
import numpy as np
positions = np.arange(16.0)
width, H, c, L = $mlp_width, $heads, $initial_c, $initial_threshold
rng = np.random.default_rng($seed)
w1, b1 = rng.uniform(-1, 1, (width, 1)), rng.uniform(-1, 1, width)
w2 = rng.uniform(-(width**-0.5), width**-0.5, (H, width))
b2 = rng.uniform(-(width**-0.5), width**-0.5, H)
distance = positions[:, None] - positions[None, :]
distance = np.abs(distance) if $bidirectional else np.maximum(distance, 0)
psi = lambda x: np.log(np.abs(c * x) + 1)
normalised = psi(distance) / (psi(np.maximum(positions, L))[:, None] + $eps)
hidden = np.maximum(normalised[..., None] @ w1.T + b1, 0)
matrix = np.moveaxis(hidden @ w2.T + b2, -1, 0)
"""
    snippet_gives: ClassVar[str] = "matrix"

    mlp_width: Annotated[
        int,
        Ge(1),
        Le(1024),
        Parameter(help="Width of the hidden layer.", slider=(4, 64), step=4),
    ] = 32
    initial_c: Annotated[
        float,
        Gt(0),
        Le(1000),
        Parameter(
            help="Start of the learned c: how early ψ bends.",
            symbol="c",
            slider=(0.001, 10),
            scale="log",
        ),
    ] = 0.1
    initial_threshold: Annotated[
        float,
        Gt(0),
        Le(1 << 20),
        Parameter(
            help="Start of the learned threshold: queries before it are normalised as if they "
            "stood there.",
            symbol="L",
            unit="tokens",
            slider=(1, 4096),
            scale="log",
        ),
    ] = 512.0
    eps: Annotated[
        float,
        Ge(0),
        Le(1),
        Parameter(
            help="Added to the divisor, outside ψ.",
            symbol=r"\epsilon",
            slider=(0, 0.01),
        ),
    ] = 1e-6
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "DAPE repository (causal)": {"bidirectional": False},
        "arithmetic repository": {"bidirectional": True},
    }

    @property
    def is_toeplitz(self) -> bool:
        return False

    def initial(self, rng: np.random.Generator) -> NumpyParts:
        return {
            "c": np.asarray(self.initial_c),
            "L_multiplier": np.asarray(1.0),
            **linear_start(rng, "mlp.0", 1, self.mlp_width),
            **linear_start(rng, "mlp.2", self.mlp_width, self.heads),
        }

    def normalised(self, query: Array, key: Array, parts: Mapping[str, Array]) -> Array:
        """What the network is given: (queries, keys)."""
        return normalised_distance(
            self.counted(query - key),
            query,
            c=parts["c"],
            threshold=abs(parts["L_multiplier"] * self.initial_threshold),
            eps=self.eps,
        )

    def matrix(self, query: Array, key: Array, parts: Mapping[str, Array]) -> Array:
        layers = named_layers(parts, "mlp.0", "mlp.2")
        given = self.normalised(query, key, parts)[..., None]
        return heads_first(perceptron(given, layers, "relu"))

    def row_varies(self, length: int) -> bool:
        return length - 1 > self.initial_threshold

    def facts(self, result: AttentionBias, parts: Mapping[str, Array]) -> Mapping[str, Any]:
        at = result.positions
        normalised = self.normalised(at[:, None], at[None, :], parts)
        return {"maps": {"normalised distance": frozen(normalised)}}
