"""Relative position representations: a vector per clipped distance, for keys and for values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.base import Source
from posviz.encodings.learned_parts import NumpyParts
from posviz.encodings.relative import RelativeEncoding, gaps, meets_rows, steps, xavier
from posviz.parameters import Parameter, ParameterError
from posviz.results import Array, frozen

Reach = Annotated[
    int,
    Ge(0),
    Le(4096),
    Parameter(
        help="Distances beyond this are clipped to it.",
        symbol="k",
        unit="tokens",
        slider=(1, 64),
        step=1,
    ),
]


class Shaw(RelativeEncoding):
    """The row c = clip(n - m, -left, right) of a table joins the key, another one the value.

    ``a_k`` and ``a_v`` are (left + right + 1, head_dim), row 0 for the farthest key before the
    query; the heads share them.
    """

    title: ClassVar[str] = "Shaw"
    year: ClassVar[int] = 2018
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Self-Attention with Relative Position Representations",
            authors="Shaw, Uszkoreit, Vaswani",
            year=2018,
            arxiv="1803.02155",
            place="equations 3 and 4",
            code="butsugiri/shape onmt/modules/multi_headed_attn.py; transformers 5.24.0 "
            "(Wav2Vec2-BERT, relative_key)",
        ),
    )
    formula: ClassVar[str] = (
        r"z_{mn} = \frac{q_m \cdot (k_n + a^K_c)}{\sqrt{D}},\quad "
        r"o_m = \sum_n \alpha_{mn} (v_n + a^V_c),\quad c = \mathrm{clip}(n - m, -k, k)"
    )
    shows: ClassVar[str] = (
        "The clipped index: 2k + 1 rows serve all distances, and everything beyond k is one place. "
        "The relative term follows diagonals, but its sign and size are the query's."
    )
    limits: ClassVar[str] = (
        "The table is a random start: a trained one gives near distances rows of their own kind."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that the vectors are added to the keys only. The paper adds a second "
        "table to the values, so what is given out depends on the distance too.",
    )
    used_in: ClassVar[tuple[str, ...]] = ("Music Transformer", "Wav2Vec2-BERT")
    snippet: ClassVar[str] = """
import numpy as np
positions, H, D, left, right = np.arange(16.0), $heads, $head_dim, $left, $right
$made
rows = left + right + 1
reach = np.sqrt(6 / (rows + D))
a_k = np.random.default_rng($seed).uniform(-reach, reach, (rows, D))
index = np.clip(positions[None, :] - positions[:, None], -left, right).astype(int) + left
relative = $keys * np.take_along_axis(q @ a_k.T, np.broadcast_to(index, (H, 16, 16)), axis=-1)
logits = (q @ k.swapaxes(1, 2) + relative) / np.sqrt(D)
"""
    snippet_gives: ClassVar[str] = "logits"

    left: Reach = 16
    right: Reach = 16
    keys: Annotated[bool, Parameter(help="Whether a vector is added to the keys.")] = True
    values: Annotated[
        bool, Parameter(help="Whether a vector is added to the values too, as in the paper.")
    ] = True
    shared_table: Annotated[
        bool,
        Parameter(help="One table for keys and values (OpenNMT), instead of one each (the paper)."),
    ] = False
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        name: dict(zip(("left", "right", "keys", "values", "shared_table"), values, strict=True))
        for name, values in {
            "paper": (16, 16, True, True, False),
            "OpenNMT": (16, 16, True, True, True),
            "Wav2Vec2-BERT": (64, 8, True, False, False),
        }.items()
    }

    def suited(self, length: int, longest: int) -> dict[str, Any]:
        return {**super().suited(length, longest), "left": length // 4, "right": length // 4}

    def check_rules(self) -> None:
        super().check_rules()
        if not (self.keys or self.values):
            raise ParameterError(f"{self.title}: keys or values must be true; got neither.")

    @property
    def rows(self) -> int:
        return self.left + self.right + 1

    def initial(self, rng: np.random.Generator) -> NumpyParts:
        """Glorot's uniform start, which the authors' code takes by default."""
        names = ["a_k"] if self.keys or self.shared_table else []
        names += ["a_v"] if self.values and not self.shared_table else []
        return {name: xavier(rng, self.rows, self.head_dim) for name in names}

    def row_of(self, distance: Array) -> Array:
        """Which row serves a distance query - key: whole numbers of the same shape."""
        xp = array_namespace(distance)
        return xp.astype(xp.clip(-distance, -self.left, self.right), xp.int64) + self.left

    def terms(
        self, at: Array, queries: Array, keys: Array, parts: Mapping[str, Array]
    ) -> dict[str, Any]:
        index = self.row_of(gaps(at))
        terms = {"content": frozen(self.content_logits(queries, keys))}
        if self.keys:
            relative = meets_rows(queries, parts["a_k"], index) / math.sqrt(self.head_dim)
            terms["query · relative key"] = frozen(relative)
        found: dict[str, Any] = {"terms": terms, "staircase": steps(at, self.row_of)}
        if self.values:
            rows = parts["a_k" if self.shared_table else "a_v"]
            found |= {"value_rows": frozen(rows), "value_index": frozen(index)}
        return found
