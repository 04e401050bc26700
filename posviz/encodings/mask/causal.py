"""The causal mask."""

from __future__ import annotations

import math
from typing import ClassVar

from posviz.encodings.base import Source
from posviz.encodings.mask import MaskEncoding


class Causal(MaskEncoding):
    """A query sees itself and the keys before it: M is 0 there and minus infinity elsewhere."""

    title: ClassVar[str] = "Causal mask"
    year: ClassVar[int] = 2017
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Attention Is All You Need",
            authors="Vaswani et al.",
            year=2017,
            arxiv="1706.03762",
            place="sections 3.1 and 3.2.3",
        ),
        Source(
            title="The Impact of Positional Encoding on Length Generalization in Transformers",
            authors="Kazemnejad et al.",
            year=2023,
            arxiv="2305.19466",
            place="theorem 1",
        ),
    )
    formula: ClassVar[str] = (
        r"\mathrm{softmax}\!\left( \frac{q k^\top}{\sqrt{D}} + M \right) v,\quad "
        r"M_{mn} = \begin{cases} 0 & n \leq m \\ -\infty & n > m \end{cases}"
    )
    shows: ClassVar[str] = (
        "The mask alone tells positions apart: a head that weighs all keys alike gives the first "
        "token the weight 1/t at position t, so t can be read from it, and its entropy is ln t."
    )
    limits: ClassVar[str] = (
        "Trained heads do not weigh all keys alike: the weight 1/t is what the mask gives a model "
        "to start from, not what it does."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that a decoder without positional encoding cannot know the order of "
        "its tokens. That holds for attention without a mask; the causal mask breaks the symmetry.",
    )
    used_in: ClassVar[tuple[str, ...]] = ("GPT-2", "Llama", "Mistral", "Qwen")
    snippet: ClassVar[str] = """
import numpy as np
positions = np.arange(16.0)
distance = positions[:, None] - positions[None, :]
matrix = np.where(distance >= 0, 0.0, -np.inf)
"""
    snippet_gives: ClassVar[str] = "matrix"

    @property
    def seen(self) -> tuple[float, float]:
        return 0.0, math.inf
