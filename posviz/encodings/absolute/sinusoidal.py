"""The sinusoids of the Transformer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from array_api_compat import array_namespace

from posviz.encodings.absolute import SinusoidEncoding
from posviz.encodings.base import PLAIN, Source
from posviz.results import Array, LogitRow, frozen


class Sinusoidal(SinusoidEncoding):
    """Column 2i of position t is sin(t·b^(-2i/d)), column 2i+1 its cosine."""

    title: ClassVar[str] = "Sinusoidal"
    year: ClassVar[int] = 2017
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Attention Is All You Need",
            authors="Vaswani et al.",
            year=2017,
            arxiv="1706.03762",
            place="section 3.5",
            code="transformers 5.24.0 (Marian, Whisper, DistilBERT, XLM, CTRL); timm",
        ),
    )
    formula: ClassVar[str] = r"p_t[2i] = \sin(t\, b^{-2i/d}),\quad p_t[2i+1] = \cos(t\, b^{-2i/d})"
    shows: ClassVar[str] = (
        "Fast waves on the left tell neighbours apart, slow waves on the right tell far from near. "
        "Each pair of sine and cosine is a point on a circle, and one step moves it by a fixed "
        "angle: the product of two rows depends on their distance only, alike on both sides."
    )
    limits: ClassVar[str] = (
        "The vectors are added to the word's own before any projection: what the model makes of "
        "them is not shown, and nothing here forces attention to fall with distance."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that the wavelengths run from 2π to 2π·10000. The end point is not "
        "reached with the paper's formula: for d = 512 the slowest wave has 60,611 tokens, not "
        "62,832. The closed ladder, which the authors' code uses, does reach it.",
        "You may have read that cosine comes first, or that all sines stand before all cosines. "
        "Each of these layouts is in use; they are one permutation of the columns apart.",
    )
    used_in: ClassVar[tuple[str, ...]] = ("Transformer", "Marian", "Whisper", "M2M100", "CTRL")
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper, XLM": {"layout": "alternating", "ladder": "standard"},
        "Marian, CTRL": {"layout": "halves", "ladder": "standard"},
        "Tensor2Tensor, Whisper, M2M100": {"layout": "halves", "ladder": "closed"},
    }
    snippet: ClassVar[str] = """
import numpy as np
positions = np.arange(16.0)
d, b, layout, ladder = $model_dim, $base, $layout, $ladder
if ladder == "standard":
    inv_freq = b ** (-np.arange(0, d, 2) / d)
else:
    inv_freq = b ** (-np.arange(max(1, d // 2)) / max(1, d // 2 - 1))
sine, cosine = np.sin(positions[:, None] * inv_freq), np.cos(positions[:, None] * inv_freq)
vectors = np.zeros((len(positions), d))
if layout == "halves":
    vectors[:, : len(inv_freq)], rest = sine, d - len(inv_freq)
    vectors[:, len(inv_freq) : 2 * len(inv_freq)] = cosine[:, :rest]
else:
    first, second = (sine, cosine) if layout == "alternating" else (cosine, sine)
    vectors[:, 0:2 * len(inv_freq):2], vectors[:, 1:2 * len(inv_freq):2] = first, second[:, :d // 2]
"""
    snippet_gives: ClassVar[str] = "vectors"

    def logit_row(self, length: int, *, like: Array = PLAIN) -> LogitRow | None:
        # A last sine without its cosine makes the product depend on the position as well.
        if self.model_dim % 2:
            return None
        frequencies = array_namespace(like).astype(self.inv_freq(like), like.dtype)
        note = "products p_m·p_n of the position vectors alone, projections left out"
        return LogitRow(length=length, inv_freq=frozen(frequencies), note=note)
