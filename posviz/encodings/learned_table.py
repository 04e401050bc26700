"""Tables of learned rows, one per position."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.absolute import AbsoluteEncoding
from posviz.encodings.learned_parts import LearnedParts
from posviz.encodings.sinusoids import ModelDim
from posviz.encodings.token_index import token_index
from posviz.parameters import Parameter, ParameterError
from posviz.results import Array

INITIAL_DEVIATION = 0.02
"""Deviation of the normal distribution that BERT, GPT-2 and BART draw their tables from."""


class LearnedTable(LearnedParts, AbsoluteEncoding):
    """Base of encodings that look a position up in a table of learned rows."""

    rows: Annotated[
        int,
        Ge(1),
        Le(32768),
        Parameter(
            help="Rows of the table; a position beyond the last one has no vector.",
            symbol="L",
            unit="rows",
            slider=(8, 2048),
            step=8,
        ),
    ] = 512
    # BERT base has 768 columns; 384 are those of the released table that can be shown.
    model_dim: ModelDim = 384
    offset: Annotated[
        int,
        Ge(0),
        Le(1024),
        Parameter(
            help="Row of position 0. RoBERTa, BART and OPT start at 2: the rows before it belong "
            "to padding, or to nothing.",
            unit="rows",
            slider=(0, 8),
            step=1,
        ),
    ] = 0

    def suited(self, length: int, longest: int) -> dict[str, Any]:
        return {**super().suited(length, longest), "rows": longest + self.offset}

    def untrained_from(self, length: int, longest: int) -> int | None:
        return length if self.rows >= longest > length else None

    def check_rules(self) -> None:
        super().check_rules()
        if self.offset >= self.rows:
            raise ParameterError(
                f"{self.title}: offset must be below rows, which is {self.rows}; got {self.offset}."
            )

    @property
    def undefined_from(self) -> int:
        """The first position that has no row."""
        return self.rows - self.offset

    def example_positions(self, count: int) -> Array:
        """0 … count-1, as far as the table goes."""
        return np.arange(float(min(count, self.undefined_from)))

    def row_of(self, at: Array) -> Array:
        """Row of each position, int64. ParameterError where the table has none."""
        why = f"the table ends after {self.rows} rows"
        why += f", and position 0 has row {self.offset}" if self.offset else ""
        index = token_index(self.title, at, first=-self.offset, end=self.undefined_from, why=why)
        return index + self.offset


def rows_taken(table: Array, index: Array) -> Array:
    """Rows (positions, model_dim) of a table (rows, model_dim)."""
    return array_namespace(table).take(table, index, axis=0)
