"""Sliding-window attention."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Le

from posviz.encodings.base import Source
from posviz.encodings.mask import FULL, SLIDING, MaskEncoding
from posviz.parameters import Parameter
from posviz.results import Array


class SlidingWindow(MaskEncoding):
    """A query sees the keys at distances below the window; stacked layers see farther."""

    title: ClassVar[str] = "Sliding window"
    year: ClassVar[int] = 2020
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Longformer: The Long-Document Transformer",
            authors="Beltagy, Peters, Cohan",
            year=2020,
            arxiv="2004.05150",
            place="section 3.1",
        ),
        Source(
            title="Mistral 7B",
            authors="Jiang et al.",
            year=2023,
            arxiv="2310.06825",
            place="section 2",
            code="transformers 5.24.0 (Gemma 3 and Cohere 2 for the pattern of layers)",
        ),
    )
    formula: ClassVar[str] = (
        r"M_{mn} = \begin{cases} 0 & 0 \leq m - n < w \\ -\infty & \mathrm{else} \end{cases},\quad "
        r"\mathrm{reach} = \ell\,(w-1) + 1"
    )
    shows: ClassVar[str] = (
        "A band along the diagonal, and how each layer adds w - 1 tokens to what the output can "
        "depend on, until a layer of full attention lifts the limit."
    )
    limits: ClassVar[str] = (
        "The reach is what information could cross, hop by hop, not what a model carries that far; "
        "attention sinks and kept first tokens are left out."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that layers times window tokens can be reached, 131,072 for Mistral 7B. "
        "The paper counts W tokens before the query; in the code the window of w holds the token "
        "itself, so each layer adds w - 1: 131,041.",
        "You may have read a window that counts both sides together, as Longformer and ModernBERT "
        "state theirs. Here the window is that of one side, itself included: |δ| < w.",
    )
    used_in: ClassVar[tuple[str, ...]] = ("Mistral 7B", "Gemma 3", "Cohere 2", "Longformer")
    snippet: ClassVar[str] = """
import numpy as np
positions = np.arange(16.0)
distance = positions[:, None] - positions[None, :]
distance = np.abs(distance) if $symmetric else distance
matrix = np.where((distance >= 0) & (distance <= $window - 1), 0.0, -np.inf)
"""
    snippet_gives: ClassVar[str] = "matrix"

    window: Annotated[
        int,
        Ge(1),
        Le(1 << 30),
        Parameter(
            help="Keys seen on one side of a query, itself included.",
            symbol="w",
            unit="tokens",
            slider=(1, 8192),
            scale="log",
            step=1,
        ),
    ] = 4096
    symmetric: Annotated[
        bool,
        Parameter(help="Whether keys after the query are seen as far as those before it."),
    ] = False
    sliding_window_pattern: Annotated[
        int,
        Ge(0),
        Le(1024),
        Parameter(
            help="Every layer with this number, or a multiple of it, has full attention: 6 in "
            "Gemma 3, 4 in Cohere 2; 0 for no such layer.",
            slider=(0, 12),
            step=1,
        ),
    ] = 0
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "Mistral 7B": {"window": 4096, "layers": 32, "sliding_window_pattern": 0},
        "Gemma 3 (1B)": {"window": 512, "layers": 26, "sliding_window_pattern": 6},
        "Cohere 2 (Command R7B)": {"window": 4096, "layers": 32, "sliding_window_pattern": 4},
    }

    def suited(self, length: int, longest: int) -> dict[str, Any]:
        return {**super().suited(length, longest), "window": length // 4}

    @property
    def seen(self) -> tuple[float, float]:
        others = float(self.window - 1)
        return (-others if self.symmetric else 0.0), others

    def layer_types(self) -> tuple[str, ...]:
        every = self.sliding_window_pattern
        return tuple(
            FULL if every and layer % every == 0 else SLIDING for layer in range(1, self.layers + 1)
        )

    def example_positions(self, count: int) -> Array:
        """Evenly over two windows, so that the edge of the band is among them."""
        step = max(1, math.ceil(2 * self.window / max(1, count)))
        return np.arange(float(count)) * step
