"""CoPE: positions that count only the tokens which a gate lets through."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.base import Source
from posviz.encodings.content import ContentBiasEncoding
from posviz.encodings.learned_parts import NumpyParts
from posviz.parameters import Parameter
from posviz.results import Array, frozen


class Cope(ContentBiasEncoding):
    """The position of a key is the sum of the gates from it to the query, both included.

    A position between two whole numbers takes the embeddings of both, by its distance to each.
    ``pos_emb`` is (npos_max, head_dim), shared by the heads.
    """

    title: ClassVar[str] = "CoPE"
    year: ClassVar[int] = 2024
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Contextual Position Encoding: Learning to Count What's Important",
            authors="Golovneva et al.",
            year=2024,
            arxiv="2405.18719",
            place="section 4",
            code="facebookresearch/RAM 5420e201 projects/cope/src/cope/context_position.py; "
            "chuanyang-Zheng/DAPE megatron/model/positional_embeddings.py; x-transformers "
            "2.31.10",
        ),
    )
    formula: ClassVar[str] = (
        r"g_{mt} = \sigma\!\left(\frac{q_m \cdot k_t}{\sqrt{D}}\right),\quad "
        r"p_{mn} = \sum_{t=n}^{m} g_{mt},\quad "
        r"z_{mn} = \frac{q_m \cdot k_n + q_m \cdot e[p_{mn}]}{\sqrt{D}}"
    )
    shows: ClassVar[str] = (
        "The map of positions: where gates are near 0 it stands still, where they are near 1 it "
        "counts. With the sentence as content only the punctuation marks are counted, so all words "
        "of a clause share a position."
    )
    limits: ClassVar[str] = (
        "Gates and embeddings are trained together; here the gates follow from the content shown, "
        "and the embeddings are a start."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that CoPE with all gates open gives the distance. It gives the distance "
        "plus 1: the query's own token is counted too.",
        "You may have read code that divides q·k by √D and adds q·e[p] undivided. The authors' "
        "released code divides their sum, unless its option cope-nodiv is set.",
    )
    snippet: ClassVar[str] = """
import numpy as np
positions, H, D, P = np.arange(16.0), $heads, $head_dim, $npos_max
$made
e = np.random.default_rng($seed).normal(0, D**-0.5, (P, D)) * ($embedding == "normal")
content = q @ k.swapaxes(1, 2) / np.sqrt(D)
gate = np.tril(1 / (1 + np.exp(-content)))
p = np.minimum(np.cumsum(gate[..., ::-1], axis=-1)[..., ::-1], P - 1)
lower, by_number = np.floor(p).astype(int), q @ e.T
at = lambda i: np.take_along_axis(by_number, i, axis=-1)
added = at(lower) * (1 - p % 1) + at(np.minimum(lower + 1, P - 1)) * (p % 1)
logits = content + added / (np.sqrt(D) if $divides_position else 1)
"""
    snippet_gives: ClassVar[str] = "logits"

    npos_max: Annotated[
        int,
        Ge(1),
        Le(4096),
        Parameter(
            help="Number of embeddings: positions from npos_max - 1 on share the last one.",
            slider=(2, 128),
            step=1,
        ),
    ] = 64
    embedding: Annotated[
        Literal["zeros", "normal"],
        Parameter(
            help="Start of the embeddings: zeros, as in the authors' code, so that the model "
            "starts without positions; or normal numbers, to see what they would do."
        ),
    ] = "zeros"

    divides_position: Annotated[
        bool,
        Parameter(
            help="Whether q·e[p] is divided by √D like q·k, as in the authors' released code; its "
            "option cope-nodiv leaves it undivided."
        ),
    ] = True
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "released code": {"divides_position": True},
        "released code, cope-nodiv": {"divides_position": False},
    }

    def suited(self, length: int, longest: int) -> dict[str, Any]:
        return {**super().suited(length, longest), "npos_max": length}

    def initial(self, rng: np.random.Generator) -> NumpyParts:
        drawn = rng.normal(0, self.head_dim**-0.5, (self.npos_max, self.head_dim))
        return {"pos_emb": drawn if self.embedding == "normal" else np.zeros_like(drawn)}

    def counted(self, gate_logits: Array) -> tuple[Array, Array]:
        """Gates, 0 for keys after the query, and positions below npos_max: (…, queries, keys)."""
        xp = array_namespace(gate_logits)
        small = xp.exp(-xp.abs(gate_logits))
        gates = xp.tril(xp.where(gate_logits > 0, 1 / (1 + small), small / (1 + small)))
        summed = xp.flip(xp.cumulative_sum(xp.flip(gates, axis=-1), axis=-1), axis=-1)
        last = xp.full_like(summed, self.npos_max - 1)
        return gates, xp.where(summed < last, summed, last)

    def contextual(self, queries: Array, positions: Array, embedding: Array) -> Array:
        """q·e[p], e interpolated between whole numbers: (heads, queries, keys), not scaled."""
        xp = array_namespace(queries)
        by_number = xp.matmul(queries, xp.matrix_transpose(embedding))
        whole = xp.astype(xp.floor(positions), xp.int64)
        last = xp.full_like(whole, self.npos_max - 1)
        above = xp.where(whole + 1 < last, whole + 1, last)
        share = positions - xp.astype(whole, positions.dtype)
        lower = xp.take_along_axis(by_number, whole, axis=-1)
        upper = xp.take_along_axis(by_number, above, axis=-1)
        return lower * (1 - share) + upper * share

    def terms(
        self, at: Array, queries: Array, keys: Array, parts: Mapping[str, Array]
    ) -> dict[str, Any]:
        xp = array_namespace(at)
        scale = 1 / math.sqrt(self.head_dim)
        content = xp.matmul(queries, xp.matrix_transpose(keys)) * scale
        gates, positions = self.counted(content)
        contextual = self.contextual(queries, positions, parts["pos_emb"])
        contextual = contextual * scale if self.divides_position else contextual
        return {
            "terms": {
                "content": frozen(content),
                "contextual position": frozen(contextual),
            },
            "maps": {"gates": frozen(gates), "positions counted": frozen(positions)},
            "is_causal_only": True,
        }
