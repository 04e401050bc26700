"""Learned positions and a learned vector for the segment that a token belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.base import Source
from posviz.encodings.learned_parts import NumpyParts
from posviz.encodings.learned_table import INITIAL_DEVIATION, LearnedTable, rows_taken
from posviz.parameters import AcceptsList, Parameter, ParameterError
from posviz.results import Array, PositionTable, device_of, frozen


class BertSegments(LearnedTable):
    """Row t of a table P and row seg(t) of a table S are added to token t.

    ``position_embeddings.weight`` is (rows, model_dim), ``token_type_embeddings.weight`` is
    (segments, model_dim), as in the released models.
    """

    title: ClassVar[str] = "BERT segments"
    year: ClassVar[int] = 2018
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="BERT: Pre-training of Deep Bidirectional Transformers for Language "
            "Understanding",
            authors="Devlin et al.",
            year=2018,
            arxiv="1810.04805",
            place="section 3, figure 2",
            code="transformers 5.24.0 (BertEmbeddings)",
        ),
    )
    formula: ClassVar[str] = r"x_t \mapsto x_t + P[t + o] + S[\mathrm{seg}(t)]"
    shows: ClassVar[str] = (
        "Two indices per token: the position counts on through both sentences, the segment stays "
        "the same within one and steps at the border."
    )
    limits: ClassVar[str] = (
        "The sum is a random start, not a trained model's. BERT normalises the sum of word, "
        "position and segment, so none of the three keeps its own length."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that positions start anew with the second sentence. In BERT they count "
        "on; only the segment vector tells the sentences apart.",
        "You may have read that RoBERTa has segments too. Its table of segments has a single row, "
        "the same for every token.",
    )
    used_in: ClassVar[tuple[str, ...]] = ("BERT", "ALBERT", "ELECTRA")
    # The whole table, with its end in sight.
    opens_with: ClassVar[int] = 512
    snippet: ClassVar[str] = """
import numpy as np
positions = np.arange(16.0)
rng = np.random.default_rng($seed)
P = rng.normal(0, 0.02, ($rows, $model_dim))
S = rng.normal(0, 0.02, ($segments, $model_dim))
starts = np.array($segment_starts)
segment = (positions[:, None] >= starts).sum(axis=1)
vectors = P[positions.astype(int) + $offset] + S[segment]
"""
    snippet_gives: ClassVar[str] = "vectors"

    segments: Annotated[
        int,
        Ge(1),
        Le(64),
        Parameter(
            help="Rows of the table of segments; BERT has two, for a pair of sentences.",
            unit="segments",
            slider=(1, 8),
            step=1,
        ),
    ] = 2
    segment_starts: Annotated[
        tuple[Annotated[float, Ge(0), Le(1e9)], ...],
        AcceptsList,
        Parameter(
            help="First position of each segment after the first one, ascending. In BERT the "
            "second starts behind the first [SEP].",
            unit="tokens",
        ),
    ] = (8.0,)

    def check_rules(self) -> None:
        super().check_rules()
        if len(self.segment_starts) >= self.segments:
            raise ParameterError(
                f"{self.title}: segment_starts must be fewer than segments, which is "
                f"{self.segments}; got {len(self.segment_starts)} starts."
            )
        if list(self.segment_starts) != sorted(self.segment_starts):
            raise ParameterError(
                f"{self.title}: segment_starts must ascend; got {list(self.segment_starts)}."
            )

    def initial(self, rng: np.random.Generator) -> NumpyParts:
        """Normal with deviation 0.02, as BERT draws both tables."""
        return {
            name: rng.normal(0, INITIAL_DEVIATION, (rows, self.model_dim))
            for name, rows in (
                ("position_embeddings.weight", self.rows),
                ("token_type_embeddings.weight", self.segments),
            )
        }

    def segment_of(self, at: Array) -> Array:
        """Segment of each position, int64: how many starts lie at or before it."""
        xp = array_namespace(at)
        starts = xp.asarray(self.segment_starts, dtype=at.dtype, device=device_of(at))
        return xp.sum(xp.astype(at[:, None] >= starts[None, :], xp.int64), axis=1)

    def encode(
        self, positions: Any, *, parameters: Mapping[str, Any] | None = None
    ) -> PositionTable:
        """The sum of both rows for the given positions.

        Parameters
        ----------
        positions : (positions,) whole tokens from -offset to the end of the table.
        parameters : both tables; by default the initialisation drawn with ``seed``.

        Returns
        -------
        PositionTable with vectors (positions, model_dim).

        Raises
        ------
        ParameterError : a position without a row, or a parameter of another name or shape.
        """
        at = self.position_row(positions)
        index, segment = self.row_of(at), self.segment_of(at)
        parts = self.parts(parameters, at)
        vectors = rows_taken(parts["position_embeddings.weight"], index)
        vectors = vectors + rows_taken(parts["token_type_embeddings.weight"], segment)
        return PositionTable(
            positions=frozen(array_namespace(at).asarray(at, copy=True)),
            vectors=frozen(vectors),
            strips={"row of the table": frozen(index), "segment": frozen(segment)},
            undefined_from=self.undefined_from,
        )
