"""Dynamic position bias: a network of the signed distance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.base import Source
from posviz.encodings.bias import BiasEncoding
from posviz.encodings.fire_rule import (
    heads_first,
    linear_start,
    named_layers,
    perceptron,
)
from posviz.encodings.learned_parts import LearnedParts, NumpyParts
from posviz.parameters import Parameter
from posviz.results import Array


class MlpBias(LearnedParts, BiasEncoding):
    """One network for all heads turns the distance, or its signed logarithm, into a bias."""

    title: ClassVar[str] = "MLP bias (dynamic position bias)"
    year: ClassVar[int] = 2021
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="CrossFormer: A Versatile Vision Transformer Hinging on Cross-scale Attention",
            authors="Wang et al.",
            year=2021,
            arxiv="2108.00154",
            place="dynamic position bias (for two axes, with layer norms and ReLU)",
        ),
        Source(
            title="Swin Transformer V2: Scaling Up Capacity and Resolution",
            authors="Liu et al.",
            year=2021,
            arxiv="2111.09883",
            place="section 3.3 (the signed logarithm)",
            code="x-transformers 2.31.10, DynamicPositionBias (one axis, SiLU)",
        ),
    )
    formula: ClassVar[str] = (
        r"B_h(\delta) = f_h(\delta)\ \text{or}\ f_h(\mathrm{sign}(\delta) \ln(1 + |\delta|))"
    )
    shows: ClassVar[str] = (
        "Smooth curves over signed distance that cost the same number of weights at any length; "
        "with the logarithm, far distances are squeezed together before the network sees them."
    )
    limits: ClassVar[str] = (
        "The network is a random start. Beyond the trained distances it goes on nearly straight, "
        "in the distance or in its logarithm, which nothing in training has checked."
    )
    longest_row: ClassVar[int] = 1 << 14
    snippet: ClassVar[str] = """
import numpy as np
positions = np.arange(16.0)
sizes = [1] + [$mlp_width] * $depth + [$heads]
rng = np.random.default_rng($seed)
distance = positions[:, None] - positions[None, :]
if $log_distance:
    distance = np.sign(distance) * np.log(np.abs(distance) + 1)
x = distance[..., None]
for place, (inputs, outputs) in enumerate(zip(sizes, sizes[1:])):
    x = x / (1 + np.exp(-x)) if place else x
    weight = rng.uniform(-(inputs**-0.5), inputs**-0.5, (outputs, inputs))
    x = x @ weight.T + rng.uniform(-(inputs**-0.5), inputs**-0.5, outputs)
matrix = np.moveaxis(x, -1, 0)
"""
    snippet_gives: ClassVar[str] = "matrix"

    mlp_width: Annotated[
        int,
        Ge(1),
        Le(1024),
        Parameter(
            help="Width of the hidden layers; x-transformers takes a quarter of the model's.",
            slider=(4, 256),
            step=4,
        ),
    ] = 128
    depth: Annotated[
        int,
        Ge(1),
        Le(8),
        Parameter(help="Number of hidden layers.", slider=(1, 4), step=1),
    ] = 2
    log_distance: Annotated[
        bool,
        Parameter(help="Whether the network is given sign(δ)·ln(1 + |δ|) in place of δ."),
    ] = False

    def layer_names(self) -> list[str]:
        """As x-transformers names them: hidden ones mlp.0.0, mlp.1.0, …, then the last."""
        return [f"mlp.{place}.0" for place in range(self.depth)] + [f"mlp.{self.depth}"]

    def initial(self, rng: np.random.Generator) -> NumpyParts:
        sizes = [1, *[self.mlp_width] * self.depth, self.heads]
        parts: dict[str, np.ndarray] = {}
        for name, inputs, outputs in zip(self.layer_names(), sizes, sizes[1:], strict=False):
            parts |= linear_start(rng, name, inputs, outputs)
        return parts

    def bias(self, distance: Array, parts: Mapping[str, Array]) -> Array:
        xp = array_namespace(distance)
        if self.log_distance:
            distance = xp.sign(distance) * xp.log(xp.abs(distance) + 1)
        layers = named_layers(parts, *self.layer_names())
        return heads_first(perceptron(distance[..., None], layers, "silu"))
