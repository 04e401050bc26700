"""TUPE: positions correlate with positions, apart from the words, and [CLS] with none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.base import Source
from posviz.encodings.buckets import t5_bucket
from posviz.encodings.learned_parts import NumpyParts
from posviz.encodings.relative import RelativeEncoding, gaps, steps
from posviz.parameters import Parameter, ParameterError
from posviz.results import Array, frozen

START = 0.02
"""Deviation of the normal numbers that the authors' code starts from."""


class Tupe(RelativeEncoding):
    """Words and positions have projections of their own, and a term each, both divided by √2.

    Rows 0 and 1 of the position table stand for "[CLS] to others" and "others to [CLS]", which is
    token 0; token t has row t + 1. ``position_queries`` and ``position_keys`` are
    (heads, rows, head_dim), after the layer norm and the projections; ``bias`` is
    (relative bins + 1, heads).
    """

    title: ClassVar[str] = "TUPE"
    year: ClassVar[int] = 2020
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Rethinking Positional Encoding in Language Pre-training",
            authors="Ke, He, Liu",
            year=2020,
            arxiv="2006.15595",
            place="equations 7 to 10",
            code="guolinke/TUPE fairseq/modules/transformer_sentence_encoder.py",
        ),
    )
    formula: ClassVar[str] = (
        r"z_{mn} = \frac{(x_m W^Q)(x_n W^K)^\top}{\sqrt{2D}} + "
        r"\frac{(p_m U^Q)(p_n U^K)^\top}{\sqrt{2D}} + b_{n-m}"
    )
    shows: ClassVar[str] = (
        "Words and positions side by side: the position map is the same for every sentence, and "
        "its first row and column, those of [CLS], are one number each."
    )
    limits: ClassVar[str] = (
        "Position queries and keys are drawn after their projections; the table, its layer norm "
        "and the projections that a model trains are one step here."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that both terms are divided by √D. They are divided by √(2D), since "
        "two terms of the same size are added.",
    )
    snippet: ClassVar[str] = """
import numpy as np
positions, H, D, R = np.arange(16.0), $heads, $head_dim, $rows
$made
rng = np.random.default_rng($seed)
pq, pk = rng.normal(0, 1, (H, R, D)), rng.normal(0, 1, (H, R, D))
met = pq @ pk.swapaxes(1, 2) / np.sqrt(2 * D)
position = met[:, 1:17, 1:17].copy()
position[:, :, 0] = met[:, 1, 1][:, None]
position[:, 0, :] = met[:, 0, 0][:, None]
"""
    snippet_gives: ClassVar[str] = "terms:position"

    rows: Annotated[
        int,
        Ge(3),
        Le(8192),
        Parameter(
            help="Rows of the position table: two for [CLS], then one for each further token.",
            slider=(16, 514),
            step=1,
        ),
    ] = 514
    relative: Annotated[
        bool,
        Parameter(help="TUPE-R: a bias per bucket of distances is added; without it TUPE-A."),
    ] = False
    bins: Annotated[
        int,
        Ge(8),
        Le(4096),
        Parameter(
            help="Buckets of distances, of both directions together (TUPE-R).",
            slider=(8, 64),
            step=2,
        ),
    ] = 32
    max_distance: Annotated[
        int,
        Ge(4),
        Le(1 << 20),
        Parameter(
            help="The distance that the last bucket stands for (TUPE-R).",
            unit="tokens",
            slider=(8, 512),
            step=8,
        ),
    ] = 128
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "TUPE-A": {"relative": False},
        "TUPE-R": {"relative": True},
    }

    def suited(self, length: int, longest: int) -> dict[str, Any]:
        # Two rows more: for the first token and for the others' sight of it.
        return {
            **super().suited(length, longest),
            "rows": longest + 2,
            "bins": min(32, length // 2),
            "max_distance": length // 2,
        }

    def untrained_from(self, length: int, longest: int) -> int | None:
        return length if self.rows >= longest > length else None

    def check_rules(self) -> None:
        super().check_rules()
        if self.max_distance <= self.bins // 4:
            raise ParameterError(
                f"{self.title}: max_distance must be above a quarter of bins; got "
                f"max_distance {self.max_distance} and bins {self.bins}."
            )

    def example_positions(self, count: int) -> Array:
        """As many as the table has rows for."""
        return np.arange(float(min(count, self.rows - 1)))

    def initial(self, rng: np.random.Generator) -> NumpyParts:
        """Normal: a layer norm makes rows of unit size, and the projections keep it."""
        shape = (self.heads, self.rows, self.head_dim)
        found = {
            "position_queries": rng.normal(0, 1, shape),
            "position_keys": rng.normal(0, 1, shape),
        }
        if self.relative:
            found["bias"] = rng.normal(0, START, (self.bins + 1, self.heads))
        return found

    def bucket(self, distance: Array) -> Array:
        """The bin of a distance query - key, as T5 counts them in both directions."""
        return t5_bucket(
            -distance,
            bidirectional=True,
            num_buckets=self.bins,
            max_distance=self.max_distance,
        )

    def position_term(self, at: Array, parts: Mapping[str, Array]) -> Array:
        """(p U^Q)(p U^K)/√(2D), the first row and column untied: (heads, queries, keys)."""
        xp = array_namespace(at)
        token = xp.astype(at, xp.int64)
        pq, pk = parts["position_queries"], parts["position_keys"]
        scale = 1 / math.sqrt(2 * self.head_dim)
        queries, keys = (xp.take(one, token + 1, axis=1) for one in (pq, pk))
        met = xp.matmul(queries, xp.matrix_transpose(keys)) * scale
        from_first, to_first = (
            xp.sum(pq[:, row, :] * pk[:, row, :], axis=-1)[:, None, None] * scale for row in (0, 1)
        )
        first = token == 0
        met = xp.where(first[None, None, :], to_first, met)
        return xp.where(first[None, :, None], from_first, met)

    def relative_term(self, at: Array, parts: Mapping[str, Array]) -> Array:
        """The bias per bin; pairs with [CLS] have bins of their own: (heads, queries, keys)."""
        xp = array_namespace(at)
        bins = self.bucket(gaps(at))
        first = at == 0
        bins = xp.where(first[None, :], xp.full_like(bins, self.bins), bins)
        bins = xp.where(first[:, None], xp.full_like(bins, self.bins // 2), bins)
        flat = xp.take(parts["bias"], xp.reshape(bins, (-1,)), axis=0)
        return xp.moveaxis(xp.reshape(flat, (*bins.shape, self.heads)), -1, 0)

    def terms(
        self, at: Array, queries: Array, keys: Array, parts: Mapping[str, Array]
    ) -> dict[str, Any]:
        xp = array_namespace(at)
        if bool(xp.any((at < 0) | (at > self.rows - 2) | (xp.round(at) != at))):
            raise ParameterError(
                f"{self.title}: positions must be whole numbers from 0 to {self.rows - 2}, for "
                f"which the table of {self.rows} rows has one."
            )
        content = xp.matmul(queries, xp.matrix_transpose(keys)) / math.sqrt(2 * self.head_dim)
        found = {
            "content": frozen(content),
            "position": frozen(self.position_term(at, parts)),
        }
        if not self.relative:
            return {"terms": found}
        found["relative bias"] = frozen(self.relative_term(at, parts))
        return {"terms": found, "staircase": steps(at, self.bucket)}
