"""What a query may see, and what a training recipe does over time."""

from __future__ import annotations

import math
from dataclasses import dataclass

from array_api_compat import array_namespace

from posviz.results.arrays import EVERY, Array, Result, Rows, frozen
from posviz.results.bias import places_of


@dataclass(frozen=True, kw_only=True)
class AttentionMask(Result):
    """Which distances a query sees, and how far a stack of layers sees.

    Attributes
    ----------
    distances : (distances,) tokens, query - key, ascending.
    visible : (distances,) True where a key at this distance is seen.
    reach : (layers,) tokens that the output of layer 1, 2, … can depend on, its own included.
    """

    distances: Array
    visible: Array
    reach: Array

    @property
    def matrix(self) -> Array:
        """(queries, keys): 0 where a key is seen, minus infinity where it is not."""
        return self.block(EVERY)

    def block(self, rows: Rows) -> Array:
        """:attr:`matrix` for some queries only, without making all of it."""
        xp = array_namespace(self.positions)
        pairs = self.positions[rows][:, None] - self.positions[None, :]
        place = places_of(self.distances, xp.reshape(pairs, (-1,)), self.positions.shape[0])
        seen = xp.reshape(xp.take(self.visible, place), pairs.shape)
        return frozen(xp.where(seen, xp.zeros_like(pairs), xp.full_like(pairs, -math.inf)))


@dataclass(frozen=True, kw_only=True)
class Schedule(Result):
    """A training recipe over time; the positions are training steps, its curves the recipe."""

    @property
    def window(self) -> Array:
        """(positions,) the curve of that name: tokens in a training sequence at each step."""
        return self.curves["window"]
