"""XLNet: Transformer-XL's terms, and one that asks whether two tokens share a segment."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.base import Source
from posviz.encodings.four_terms import START, FourTerms
from posviz.encodings.learned_parts import NumpyParts
from posviz.parameters import AcceptsList, Parameter
from posviz.results import Array, device_of, frozen


class Xlnet(FourTerms):
    """A fifth term (q + s)·e, with e one vector for the same segment and one for another.

    ``s`` is (heads, head_dim), ``segment`` (2, heads, head_dim), the same segment first.
    """

    title: ClassVar[str] = "XLNet"
    year: ClassVar[int] = 2019
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="XLNet: Generalized Autoregressive Pretraining for Language Understanding",
            authors="Yang et al.",
            year=2019,
            arxiv="1906.08237",
            place="section 2.5",
            code="transformers 5.24.0 XLNetRelativeAttention",
        ),
    )
    formula: ClassVar[str] = (
        r"z_{mn} = \frac{q_m \cdot k_n + q_m \cdot W R_{m-n} + u \cdot k_n + v \cdot W R_{m-n} + "
        r"(q_m + s) \cdot e_{mn}}{\sqrt{D}}"
    )
    shows: ClassVar[str] = (
        "Beside Transformer-XL's four maps a checkerboard: it knows only whether two tokens are in "
        "the same segment, not which one, so more segments than in training are no new case."
    )
    limits: ClassVar[str] = (
        "The content stream alone: the second stream of its training, which may not see its own "
        "token, uses the same terms."
    )
    used_in: ClassVar[tuple[str, ...]] = ("XLNet",)
    # The other four terms are Transformer-XL's, whose code gives them.
    snippet: ClassVar[str] = """
import numpy as np
positions, H, D = np.arange(16.0), $heads, $head_dim
$made
rng, d = np.random.default_rng($seed), H * D
rng.normal(0, 0.02, d * d + 2 * d)  # drawn before these two: r, u and v
s, e = rng.normal(0, 0.02, (H, D)), rng.normal(0, 0.02, (2, H, D))
own = np.searchsorted(np.cumsum($segments[:-1]), np.arange(16), side="right")
other = (own[:, None] != own[None, :]).astype(int)
asked = np.einsum("hmd,ehd->hme", q + s[:, None], e) / np.sqrt(D)
segment = np.take_along_axis(asked, np.tile(other, (H, 1, 1)), axis=-1)
"""
    snippet_gives: ClassVar[str] = "terms:segment"

    segments: Annotated[
        tuple[Annotated[float, Ge(1), Le(8192)], ...],
        AcceptsList,
        Parameter(help="Lengths of the segments in tokens; the last one goes on to the end."),
    ] = (20.0, 24.0)

    def initial(self, rng: np.random.Generator) -> NumpyParts:
        return {
            **super().initial(rng),
            "s": rng.normal(0, START, (self.heads, self.head_dim)),
            "segment": rng.normal(0, START, (2, self.heads, self.head_dim)),
        }

    def segment_of(self, at: Array) -> Array:
        """Number of the segment of each token, in the order of the sequence: (positions,)."""
        xp = array_namespace(at)
        ends = xp.asarray(np.cumsum(self.segments[:-1]), dtype=at.dtype, device=device_of(at))
        order = xp.arange(at.shape[0], dtype=at.dtype, device=device_of(at))
        return xp.astype(xp.sum(order[:, None] >= ends[None, :], axis=1), at.dtype)

    def segment_logits(self, queries: Array, own: Array, parts: Mapping[str, Array]) -> Array:
        """(q + s)·e/√D: (heads, queries, keys)."""
        xp = array_namespace(queries)
        asked = queries + parts["s"][:, None, :]
        rows = xp.moveaxis(parts["segment"], 0, 1)
        met = xp.matmul(asked, xp.matrix_transpose(rows)) / math.sqrt(self.head_dim)
        same = own[:, None] == own[None, :]
        return xp.where(same[None, ...], met[..., 0:1], met[..., 1:2])

    def terms(
        self, at: Array, queries: Array, keys: Array, parts: Mapping[str, Array]
    ) -> dict[str, Any]:
        found = self.four(at, queries, keys, parts)
        own = self.segment_of(at)
        found["segment"] = frozen(self.segment_logits(queries, own, parts))
        return {"terms": found, "strips": {"segment": frozen(own)}}
