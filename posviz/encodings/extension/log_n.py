"""Log-n scaling: sharper attention as the context grows, frequencies untouched."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

from annotated_types import Ge, Le

from posviz.encodings.base import Source
from posviz.encodings.extension import DynamicExtension, log_length_scale
from posviz.encodings.rotary import SNIPPET_AT_LENGTH
from posviz.parameters import Parameter
from posviz.results import Array


class LogN(DynamicExtension):
    """All logits times max(1, ln n / ln L), which holds the entropy of attention about constant.

    n is the number of tokens that a query sees (i + 1 at position i), or the length of the whole
    sequence.
    """

    title: ClassVar[str] = "Log-n scaling"
    year: ClassVar[int] = 2021
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Entropy invariance and the scale of attention",
            authors="Su",
            year=2021,
            place="kexue.fm 8823",
        ),
        Source(
            title="Overcoming a Theoretical Limitation of Self-Attention",
            authors="Chiang & Cholak",
            year=2022,
            arxiv="2202.12172",
        ),
    )
    formula: ClassVar[str] = r"z' = z \cdot \max\left(1, \frac{\ln n}{\ln L}\right)"
    shows: ClassVar[str] = (
        "The frequencies do not change; attention beyond the window is as sharp as inside it."
    )
    limits: ClassVar[str] = (
        "It does nothing about pairs that leave their trained arc; alone it does not extend RoPE."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that logits are multiplied by ln n. They are by ln n / ln L, and "
        "by no less than 1, so that nothing changes within the trained window: 4,096 to "
        "131,072 tokens gives 17/12.",
    )
    used_in: ClassVar[tuple[str, ...]] = ("Qwen-7B",)
    snippet: ClassVar[str] = (
        SNIPPET_AT_LENGTH
        + """seen = positions + 1 if $scope == "position" else length
logit_factor = np.log(np.maximum(seen, L)) / np.log(L)
inv_freq = f
"""
    )
    snippet_gives: ClassVar[str] = "inv_freq"

    original_max_position_embeddings: Annotated[
        int,
        Ge(2),
        Le(1 << 40),
        Parameter(
            help="The window that the model was trained with; scaling starts beyond it.",
            symbol="L",
            unit="tokens",
            slider=(512, 262144),
            scale="log",
        ),
    ] = 4096
    scope: Annotated[
        Literal["position", "sequence"],
        Parameter(
            help="n is the number of tokens before and at each query, or one number for the whole "
            "sequence."
        ),
    ] = "position"

    def softmax_magnitude(self, length: int) -> float:
        if self.scope == "position":
            return 1.0
        window = self.original_max_position_embeddings
        return math.log(max(length, window)) / math.log(window)

    def query_scale(self, query: Array, length: int) -> Array | None:
        if self.scope == "sequence":
            return None
        return log_length_scale(query, self.original_max_position_embeddings)
