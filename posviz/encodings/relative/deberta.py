"""DeBERTa: content and position kept apart, in three terms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.base import Source
from posviz.encodings.buckets import log_bucket
from posviz.encodings.learned_parts import NumpyParts
from posviz.encodings.relative import RelativeEncoding, gaps, meets_rows, steps
from posviz.parameters import Parameter, ParameterError
from posviz.results import Array, frozen

START = 0.02
"""Deviation of the normal numbers that transformers starts from."""


class Deberta(RelativeEncoding):
    """Content meets content, content meets the key's distance, the query's distance meets content.

    ``position_keys`` and ``position_queries`` are (heads, 2·span, head_dim): the table of relative
    embeddings after the key's and the query's projection. The row of a distance is its bucket plus
    the span, kept within the table.
    """

    title: ClassVar[str] = "DeBERTa"
    year: ClassVar[int] = 2020
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="DeBERTa: Decoding-enhanced BERT with Disentangled Attention",
            authors="He et al.",
            year=2020,
            arxiv="2006.03654",
            place="equations 2 to 4",
            code="transformers 5.24.0 deberta, deberta_v2.DisentangledSelfAttention",
        ),
    )
    formula: ClassVar[str] = (
        r"z_{mn} = \frac{q_m \cdot k_n + q_m \cdot k^r_{\delta(m,n)} + "
        r"k_n \cdot q^r_{\delta(n,m)}}{\sqrt{3 D}}"
    )
    shows: ClassVar[str] = (
        "The staircase: every near distance has a row, far ones share rows by the log. The two "
        "mixed maps follow diagonals, the one in the query's strengths, the other in the key's."
    )
    limits: ClassVar[str] = (
        "The table is the product of two small random starts, so the mixed terms are weak here; "
        "the absolute positions that DeBERTa adds at its last layers are left out."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that DeBERTa divides by √D. It divides by √(3D), or by √((1 + t)D) "
        "with t of its two mixed terms, since it adds that many of the same size.",
        "You may have read that its distance is key minus query. It is query minus key, the "
        "opposite of T5's.",
        "You may have read that the key looks up the distance as it sees it, δ(n, m), as the paper "
        "has it. The released code reads the row of δ(m, n) for both mixed terms.",
    )
    used_in: ClassVar[tuple[str, ...]] = ("DeBERTa", "DeBERTa-v2", "DeBERTa-v3")
    snippet: ClassVar[str] = """
import numpy as np
positions, H, D, rng = np.arange(16.0), $heads, $head_dim, np.random.default_rng($seed)
$made
cc, cp, pc, b = $content_to_content, $content_to_position, $position_to_content, $span // 2
table, w, w2 = (rng.normal(0, 0.02, (n, H * D)) for n in (2 * $span, H * D, H * D))
kr, qr = ((table @ m.T).reshape(-1, H, D).transpose(1, 2, 0) for m in (w, [w2, w][$share_att_key]))
gap = positions[:, None] - positions
far = np.log(np.maximum(abs(gap), b) / b) / np.log(($max_distance - 1) / b) * (b - 1)
log = np.where(abs(gap) <= b, gap, np.sign(gap) * (b + np.ceil(far)))
row = np.clip((gap if $spans == "v1" else log).astype(int) + $span, 0, 2 * $span - 1)[None]
by = lambda met, row: np.take_along_axis(met, np.tile(row, (H, 1, 1)), -1)
p = pc * by(k @ qr, row if $p2c_row == "paper" else row.swapaxes(1, 2)).swapaxes(1, 2)
logits = (cc * q @ k.swapaxes(1, 2) + cp * by(q @ kr, row) + p) / np.sqrt(D * (1 + cp + pc))
"""
    snippet_gives: ClassVar[str] = "logits"

    spans: Annotated[
        Literal["v1", "v2"],
        Parameter(
            help="v1: distances up to the span have a row each, farther ones share the last; v2, "
            "v3: the rows stand for log buckets, which reach to max_distance."
        ),
    ] = "v1"
    span: Annotated[
        int,
        Ge(4),
        Le(4096),
        Parameter(
            help="Rows of the table in each direction: k of the paper, position_buckets of v2.",
            symbol="k",
            slider=(4, 512),
            step=4,
        ),
    ] = 512
    max_distance: Annotated[
        int,
        Ge(8),
        Le(1 << 20),
        Parameter(
            help="The distance that the last bucket stands for (v2 and v3).",
            unit="tokens",
            slider=(8, 2048),
            step=8,
        ),
    ] = 512
    content_to_position: Annotated[
        bool, Parameter(help="Whether the query meets the key's distance (c2p).")
    ] = True
    position_to_content: Annotated[
        bool, Parameter(help="Whether the key meets the query's distance (p2c).")
    ] = True
    content_to_content: Annotated[
        bool,
        Parameter(
            help="Whether the query meets the key (c2c), as it always does in the model; leaving "
            "it out keeps the divisor."
        ),
    ] = True
    p2c_row: Annotated[
        Literal["code", "paper"],
        Parameter(
            help="Which row the key meets: that of query minus key (the released code), or of key "
            "minus query (the paper)."
        ),
    ] = "code"
    share_att_key: Annotated[
        bool,
        Parameter(help="One projection of the table for both mixed terms instead of one each."),
    ] = False
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "DeBERTa (v1)": {"spans": "v1", "span": 512, "share_att_key": False},
        "DeBERTa-v2, v3": {"spans": "v2", "span": 256, "share_att_key": True},
    }

    def suited(self, length: int, longest: int) -> dict[str, Any]:
        return {**super().suited(length, longest), "span": length // 2, "max_distance": length // 2}

    def check_rules(self) -> None:
        super().check_rules()
        if not (self.content_to_content or self.content_to_position or self.position_to_content):
            raise ParameterError(
                f"{self.title}: one of content_to_content, content_to_position and "
                "position_to_content must be true; got none."
            )
        if self.spans == "v2" and self.max_distance <= self.span // 2 + 1:
            raise ParameterError(
                f"{self.title}: max_distance must be above half of span plus 1 where spans is v2; "
                f"got max_distance {self.max_distance} and span {self.span}."
            )

    @property
    def parts_added(self) -> int:
        """How many terms of the same size are added."""
        return 1 + self.content_to_position + self.position_to_content

    def initial(self, rng: np.random.Generator) -> NumpyParts:
        size = self.heads * self.head_dim
        shapes = ((2 * self.span, size), (size, size), (size, size))
        table, by_key, by_query = (rng.normal(0, START, shape) for shape in shapes)
        found = {
            "position_keys": table @ by_key.T,
            "position_queries": table @ (by_key if self.share_att_key else by_query).T,
        }
        return {
            name: np.moveaxis(one.reshape(-1, self.heads, self.head_dim), 1, 0)
            for name, one in found.items()
        }

    def bucket(self, distance: Array) -> Array:
        """The signed bucket of distances query - key: whole numbers of the same shape."""
        xp = array_namespace(distance)
        if self.spans == "v1":
            return xp.astype(distance, xp.int64)
        return log_bucket(distance, self.span, self.max_distance)

    def row_of(self, distance: Array) -> Array:
        """Which row serves a distance: from 0 to 2·span - 1."""
        xp = array_namespace(distance)
        return xp.clip(self.bucket(distance) + self.span, 0, 2 * self.span - 1)

    def terms(
        self, at: Array, queries: Array, keys: Array, parts: Mapping[str, Array]
    ) -> dict[str, Any]:
        xp = array_namespace(at)
        apart = gaps(at)
        scale = 1 / math.sqrt(self.head_dim * self.parts_added)
        terms = {}
        if self.content_to_content:
            content = xp.matmul(queries, xp.matrix_transpose(keys)) * scale
            terms["content to content"] = frozen(content)
        index = self.row_of(apart)
        if self.content_to_position:
            met = meets_rows(queries, parts["position_keys"], index) * scale
            terms["content to position"] = frozen(met)
        if self.position_to_content:
            # δ(n, m) is what the paper writes; the released code gathers with -δ(n, m) instead.
            seen = index if self.p2c_row == "paper" else xp.matrix_transpose(index)
            met = meets_rows(keys, parts["position_queries"], seen) * scale
            terms["position to content"] = frozen(xp.matrix_transpose(met))
        return {"terms": terms, "staircase": steps(at, self.row_of)}
