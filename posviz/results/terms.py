"""Logits taken apart: one matrix per term of the formula."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from dataclasses import dataclass

from array_api_compat import array_namespace

from posviz.results.arrays import EVERY, Array, Result, Rows, frozen


@dataclass(frozen=True, kw_only=True)
class AttentionTerms(Result):
    """What each term of the formula adds to the logits, for given queries and keys.

    Attributes
    ----------
    terms : name to (heads, queries, keys), every factor of the formula included.
    is_causal_only : True where keys after their query are masked.
    value_rows : (rows, head_dim) vectors that are added to the values, or None.
    value_index : (queries, keys) which of those rows, or None.
    """

    terms: Mapping[str, Array]
    is_causal_only: bool = False
    value_rows: Array | None = None
    value_index: Array | None = None

    @property
    def logits(self) -> Array:
        """(heads, queries, keys), the sum of the terms, not masked."""
        return frozen(functools.reduce(operator.add, self.terms.values()))

    def mix(self, weights: Array, values: Array, rows: Rows = EVERY) -> Array:
        """Σ_n a_mn (v_n + row_c): (..., queries, head_dim)."""
        mixed = super().mix(weights, values, rows)
        if self.value_rows is None or self.value_index is None:
            return mixed
        xp = array_namespace(weights)
        index = self.value_index[rows]
        flat = xp.take(self.value_rows, xp.reshape(index, (-1,)), axis=0)
        added = xp.reshape(flat, (*index.shape, flat.shape[-1]))
        return mixed + xp.sum(weights[..., None] * added, axis=-2)
