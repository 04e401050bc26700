"""Four ways to let a distance act on a logit, by Huang and others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.base import Source
from posviz.encodings.learned_parts import NumpyParts
from posviz.encodings.relative import RelativeEncoding, gaps, meets_rows, steps
from posviz.parameters import Parameter
from posviz.results import Array, frozen


class Huang(RelativeEncoding):
    """M1 and M2 scale q·k by a number of the distance, M3 each dimension of it, M4 adds vectors.

    ``a`` has a row for each distance from -k to k, or from 0 to k in M1: a number in M1 and M2, a
    vector (head_dim,) in M3 and M4. The heads share it.
    """

    title: ClassVar[str] = "Huang et al."
    year: ClassVar[int] = 2020
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Improve Transformer Models with Better Relative Position Embeddings",
            authors="Huang et al.",
            year=2020,
            arxiv="2009.13658",
            place="section 4",
            code="transformers 4.46.3 BertSelfAttention (relative_key_query, which is M4)",
        ),
    )
    formula: ClassVar[str] = (
        r"z^{M1} = \frac{(q \cdot k)\, a_{|c|}}{\sqrt{D}},\; "
        r"z^{M2} = \frac{(q \cdot k)\, a_c}{\sqrt{D}},\; "
        r"z^{M3} = \frac{\sum_j q_j k_j a_{c,j}}{\sqrt{D}},\; "
        r"z^{M4} = \frac{q \cdot k + q \cdot a_c + k \cdot a_c}{\sqrt{D}}"
    )
    shows: ClassVar[str] = (
        "M1 to M3 multiply: where q·k is 0 no distance can matter. M4 adds: beside the content it "
        "has a map in the strengths of the query and one in those of the key."
    )
    limits: ClassVar[str] = (
        "A start of training, near to plain attention in all four; what the methods learn to tell "
        "apart is not shown."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that the fourth method is the whole product (q + a)·(k + a). It leaves "
        "a·a out, which would be one number per distance.",
    )
    used_in: ClassVar[tuple[str, ...]] = ("bert-base-uncased-embedding-relative-key-query",)
    snippet: ClassVar[str] = """
import numpy as np
positions, H, D, K, M = np.arange(16.0), $heads, $head_dim, $clip, $method
$made
rows, rng = K + 1 if M == "M1" else 2 * K + 1, np.random.default_rng($seed)
a = (M != "M4") + rng.normal(0, 0.02, (rows, 1 if M in ("M1", "M2") else D))
gap = np.clip(positions[None, :] - positions[:, None], -K, K).astype(int)
row = np.tile(abs(gap) if M == "M1" else gap + K, (H, 1, 1))
by = lambda x: np.take_along_axis(x @ a.T, row, axis=-1)
if M == "M4":
    met = by(q) + np.take_along_axis(k @ a.T, row.swapaxes(1, 2), axis=-1).swapaxes(1, 2)
    logits = (q @ k.swapaxes(1, 2) + met) / np.sqrt(D)
else:
    logits = np.einsum("hmd,hnd,mnd->hmn", q, k, a[row[0]] * np.ones(D)) / np.sqrt(D)
"""
    snippet_gives: ClassVar[str] = "logits"

    method: Annotated[
        Literal["M1", "M2", "M3", "M4"],
        Parameter(
            help="M1: a number per distance without its sign; M2: with its sign; M3: a vector that "
            "scales the dimensions; M4: vectors that meet q and k."
        ),
    ] = "M4"
    clip: Annotated[
        int,
        Ge(1),
        Le(4096),
        Parameter(
            help="Distances beyond this share the last row.",
            symbol="k",
            unit="tokens",
            slider=(1, 512),
            step=1,
        ),
    ] = 511

    def suited(self, length: int, longest: int) -> dict[str, Any]:
        return {**super().suited(length, longest), "clip": length // 2}

    @property
    def multiplies(self) -> bool:
        return self.method != "M4"

    def initial(self, rng: np.random.Generator) -> NumpyParts:
        """Normal, deviation 0.02; around 1 where it multiplies, which the paper leaves open."""
        rows = self.clip + 1 if self.method == "M1" else 2 * self.clip + 1
        size = 1 if self.method in ("M1", "M2") else self.head_dim
        return {"a": rng.normal(0, 0.02, (rows, size)) + float(self.multiplies)}

    def row_of(self, distance: Array) -> Array:
        """Which row serves a distance query - key: whole numbers of the same shape."""
        xp = array_namespace(distance)
        ahead = xp.astype(xp.clip(-distance, -self.clip, self.clip), xp.int64)
        return xp.abs(ahead) if self.method == "M1" else ahead + self.clip

    def terms(
        self, at: Array, queries: Array, keys: Array, parts: Mapping[str, Array]
    ) -> dict[str, Any]:
        xp = array_namespace(at)
        index = self.row_of(gaps(at))
        stairs = {"staircase": steps(at, self.row_of)}
        if self.multiplies:
            scaled = self._scaled(queries, keys, parts["a"], index)
            return {"terms": {"content scaled by distance": frozen(scaled)}, **stairs}
        scale = 1 / math.sqrt(self.head_dim)
        by_key = meets_rows(keys, parts["a"], xp.matrix_transpose(index))
        return {
            "terms": {
                "q · k": frozen(self.content_logits(queries, keys)),
                "q · a": frozen(meets_rows(queries, parts["a"], index) * scale),
                "k · a": frozen(xp.matrix_transpose(by_key) * scale),
            },
            **stairs,
        }

    def _scaled(self, queries: Array, keys: Array, rows: Array, index: Array) -> Array:
        """Σ_j q_j k_j a_j/√D: (heads, queries, keys)."""
        xp = array_namespace(queries)
        if rows.shape[1] == 1:
            flat = xp.take(rows[:, 0], xp.reshape(index, (-1,)))
            return self.content_logits(queries, keys) * xp.reshape(flat, index.shape)
        scale = 1 / math.sqrt(self.head_dim)
        found = xp.zeros_like(self.content_logits(queries, keys))
        # Dimension by dimension, so that no array has queries × keys × dimensions numbers.
        for place in range(self.head_dim):
            flat = xp.take(rows[:, place], xp.reshape(index, (-1,)))
            met = queries[:, :, None, place] * keys[:, None, :, place]
            found = found + met * xp.reshape(flat, index.shape) * scale
        return found
