"""Sandwich: the product of two sinusoidal vectors, used as a bias."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Gt, Le
from array_api_compat import array_namespace

from posviz.encodings.base import PLAIN, Source
from posviz.encodings.bias import CountedDistanceBias, per_head
from posviz.parameters import Parameter, ParameterError
from posviz.results import Array, LogitRow, device_of


class Sandwich(CountedDistanceBias):
    """The sum of cosines of the distance, less its value at 0, divided by 8h/H for head h."""

    title: ClassVar[str] = "Sandwich"
    year: ClassVar[int] = 2022
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Dissecting Transformer Length Extrapolation via the Lens of Receptive Field "
            "Analysis",
            authors="Chi, Fan, Rudnicky, Ramadge",
            year=2022,
            arxiv="2212.10356",
            code="nemo_toolkit 1.23.0, SandwichRelativePositionEmbedding",
        ),
    )
    formula: ClassVar[str] = (
        r"B_h(\delta) = \frac{H}{8h} \left( \sum_{k=1}^{\bar d/2} \cos(\delta\, b^{-2k/\bar d}) "
        r"- \frac{\bar d}{2} \right),\quad h = 1 \ldots H"
    )
    shows: ClassVar[str] = (
        "A curve that wobbles around a falling logarithm, -(d/2)(ln δ + 0.577)/ln b times H/(8h), "
        "with no number learned. Later heads are flatter."
    )
    limits: ClassVar[str] = (
        "The bias alone, without q·k; no head is learned, and what the wobbles do to a model is "
        "not to be seen here."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read the sum from k = 0, which adds a cosine of frequency 1 and drops the "
        "slowest one. NeMo's code counts from 1; the choice is offered here.",
    )
    snippet: ClassVar[str] = """
import numpy as np
positions = np.arange(16.0)
d, H, start = $bias_dim, $heads, int($counted_from == "one")
inv_freq = $base ** (-2 * np.arange(start, d // 2 + start) / d)
distance = positions[:, None] - positions[None, :]
distance = np.abs(distance) if $bidirectional else np.maximum(distance, 0)
summed = np.cos(distance[..., None] * inv_freq).sum(-1) - d / 2
matrix = summed / (8 * np.arange(1, H + 1) / H)[:, None, None]
"""
    snippet_gives: ClassVar[str] = "matrix"

    bias_dim: Annotated[
        int,
        Ge(2),
        Le(4096),
        Parameter(
            help="Size of the sinusoidal vectors whose product is taken: twice the number of "
            "cosines. It need not be the size of a head.",
            symbol=r"\bar d",
            slider=(8, 256),
            step=2,
        ),
    ] = 128
    base: Annotated[
        float,
        Gt(1),
        Le(1e15),
        Parameter(
            help="Ratio of the ladder of frequencies.",
            symbol="b",
            slider=(100, 1e6),
            scale="log",
        ),
    ] = 10000.0
    counted_from: Annotated[
        Literal["one", "zero"],
        Parameter(help="The first k of the sum: one in NeMo's code, zero in other code."),
    ] = "one"
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper, NeMo decoder": {"counted_from": "one", "bidirectional": False},
        "NeMo encoder": {"counted_from": "one", "bidirectional": True},
    }

    def check_rules(self) -> None:
        super().check_rules()
        if self.bias_dim % 2:
            raise ParameterError(
                f"{self.title}: bias_dim must be even, two for each cosine of base; "
                f"got {self.bias_dim}."
            )

    def bias(self, distance: Array, parts: Mapping[str, Array]) -> Array:
        counted, inv_freq = self.counted(distance), self.inv_freq(distance)
        summed = array_namespace(distance).sum(
            array_namespace(distance).cos(counted[..., None] * inv_freq), axis=-1
        )
        return (summed - self.bias_dim / 2) * per_head(self.factors(distance), distance)

    def inv_freq(self, like: Array) -> Array:
        """(bias_dim / 2,) radians per token, of the kind and type of ``like``."""
        xp = array_namespace(like)
        first = 1 if self.counted_from == "one" else 0
        index = xp.arange(
            first, self.bias_dim // 2 + first, dtype=xp.float64, device=device_of(like)
        )
        return xp.astype(self.base ** (-2 * index / self.bias_dim), like.dtype)

    def factors(self, like: Array) -> Array:
        """(heads,) H/8h for head h = 1 … H."""
        xp = array_namespace(like)
        head = xp.arange(1, self.heads + 1, dtype=like.dtype, device=device_of(like))
        return self.heads / (8 * head)

    def logit_row(self, length: int, *, like: Array = PLAIN) -> LogitRow:
        row = super().logit_row(length, like=like)
        assert row is not None
        return replace(row, bias_waves=(self.inv_freq(like), self.factors(like)))
