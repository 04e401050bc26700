"""Transformer-XL: the product of two embeddings taken apart, with distances inside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from posviz.encodings.base import Source
from posviz.encodings.four_terms import FOUR_TERMS_SNIPPET, FourTerms
from posviz.parameters import Parameter
from posviz.results import Array


class TransformerXl(FourTerms):
    """Content meets content and distance; two learned vectors stand for the query where it has no
    say: u for the keys, v for the distances."""

    title: ClassVar[str] = "Transformer-XL"
    year: ClassVar[int] = 2019
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Transformer-XL: Attentive Language Models Beyond a Fixed-Length Context",
            authors="Dai et al.",
            year=2019,
            arxiv="1901.02860",
            place="section 3.3",
            code="kimiyoung/transformer-xl pytorch/mem_transformer.py; transformers 5.24.0 "
            "(Wav2Vec2-Conformer)",
        ),
    )
    formula: ClassVar[str] = (
        r"z_{mn} = \frac{q_m \cdot k_n + q_m \cdot W R_{m-n} + u \cdot k_n + "
        r"v \cdot W R_{m-n}}{\sqrt{D}}"
    )
    shows: ClassVar[str] = (
        "Four maps on one colour scale: q·k has no pattern, q·WR follows diagonals in strengths "
        "that the query sets, u·k is upright stripes, v·WR one value a diagonal."
    )
    limits: ClassVar[str] = (
        "The start of training, where the last three terms are small; the memory of earlier "
        "segments, which these distances were made for, is not drawn."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that u and v belong to positions. They stand for the query: u asks for "
        "keys and v for distances, whatever the query is.",
    )
    used_in: ClassVar[tuple[str, ...]] = ("Transformer-XL", "Conformer", "Wav2Vec2-Conformer")
    snippet: ClassVar[str] = FOUR_TERMS_SNIPPET
    snippet_gives: ClassVar[str] = "logits"

    causal: Annotated[
        bool,
        Parameter(help="Whether keys after the query are masked; the Conformer sees both ways."),
    ] = True
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"causal": True, "layout": "halves"},
        "Conformer": {"causal": False, "layout": "alternating"},
    }

    def terms(
        self, at: Array, queries: Array, keys: Array, parts: Mapping[str, Array]
    ) -> dict[str, Any]:
        return {"terms": self.four(at, queries, keys, parts), "is_causal_only": self.causal}
