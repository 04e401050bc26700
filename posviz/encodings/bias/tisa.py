"""TISA: a learned curve of distance, the sum of a few bumps per head."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.base import Source
from posviz.encodings.bias import BiasEncoding, per_head
from posviz.encodings.learned_parts import LearnedParts, NumpyParts
from posviz.parameters import Parameter
from posviz.results import Array


class Tisa(LearnedParts, BiasEncoding):
    """Radial basis functions of the relative position, each with a height, a width and a centre."""

    title: ClassVar[str] = "TISA"
    year: ClassVar[int] = 2021
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="The Case for Translation-Invariant Self-Attention in Transformer-Based "
            "Language Models",
            authors="Wennberg, Henter",
            year=2021,
            arxiv="2106.01950",
            place="section 4",
            code="ulmewennberg/tisa a3027caf, model/tisa.py",
        ),
    )
    formula: ClassVar[str] = (
        r"B_h(\delta) = \sum_{s=1}^{S} a_{hs}\, e^{-|b_{hs}| (o - c_{hs})^2},\quad o = -\delta"
    )
    shows: ClassVar[str] = (
        "A smooth curve per head made of S bumps: three numbers each are enough to look at one "
        "side only, at the neighbours, or far away."
    )
    limits: ClassVar[str] = (
        "The bumps are drawn as the authors start them, so no head has learned a shape yet; far "
        "from all centres the bias is 0 and distances are alike."
    )
    misread: ClassVar[tuple[str, ...]] = (
        'You may have read the name "TISE" in a survey: it is the same method, TISA.',
        "You may have read that the curve is a function of key minus query. In the authors' code "
        "the entry of query i and key j reads it at i - j - 1: mirrored, and with the diagonal at "
        "-1. Trained centres from there need that reading.",
    )
    snippet: ClassVar[str] = """
import numpy as np
positions = np.arange(16.0)
shape, rng = ($kernels, $heads), np.random.default_rng($seed)
centres = rng.normal(0, 5, shape)[..., None, None]
heights = rng.normal(0.1, 0.01, shape)[..., None, None]
sharpness = rng.normal(0.1, 0.01, shape)[..., None, None]
distance = positions[:, None] - positions[None, :]
offset = distance - 1 if $reading == "repository" else -distance
matrix = (heights * np.exp(-np.abs(sharpness) * (centres - offset) ** 2)).sum(0)
"""
    snippet_gives: ClassVar[str] = "matrix"

    heads: Annotated[
        int,
        Ge(1),
        Le(512),
        Parameter(help="Number of attention heads.", symbol="H", slider=(1, 32), step=1),
    ] = 12
    kernels: Annotated[
        int,
        Ge(1),
        Le(64),
        Parameter(help="Number of bumps per head.", symbol="S", slider=(1, 16), step=1),
    ] = 5
    reading: Annotated[
        Literal["paper", "repository"],
        Parameter(
            help="Where the curve is read: at key - query (paper), or at query - key - 1, as the "
            "authors' code does."
        ),
    ] = "paper"
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"reading": "paper"},
        "authors' code": {"reading": "repository"},
    }

    def initial(self, rng: np.random.Generator) -> NumpyParts:
        shape = (self.kernels, self.heads)
        return {
            "kernel_offsets": rng.normal(0.0, 5.0, shape),
            "kernel_amplitudes": rng.normal(0.1, 0.01, shape),
            "kernel_sharpness": rng.normal(0.1, 0.01, shape),
        }

    def curve(self, offset: Array, parts: Mapping[str, Array]) -> Array:
        """The sum of bumps at offsets o of any shape: (heads, *shape)."""
        xp = array_namespace(offset)
        total = xp.zeros_like(per_head(parts["kernel_offsets"][0], offset) * offset)
        for kernel in range(self.kernels):
            height, sharpness, centre = (
                per_head(parts[f"kernel_{name}"][kernel, :], offset)
                for name in ("amplitudes", "sharpness", "offsets")
            )
            total = total + height * xp.exp(-xp.abs(sharpness) * (centre - offset) ** 2)
        return total

    def bias(self, distance: Array, parts: Mapping[str, Array]) -> Array:
        return self.curve(distance - 1 if self.reading == "repository" else -distance, parts)

    def head_bias(self, parts: Mapping[str, Array]) -> Callable[[Array, int], Array] | None:
        # The last axis of every part are the heads.
        return lambda distance, head: self.bias(
            distance, {name: part[:, head : head + 1] for name, part in parts.items()}
        )[0]
