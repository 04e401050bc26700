"""A number per head, query and key, added to the logits."""

from __future__ import annotations

from dataclasses import dataclass

from array_api_compat import array_namespace

from posviz.results.arrays import EVERY, Array, Result, Rows, frozen


@dataclass(frozen=True, kw_only=True)
class AttentionBias(Result):
    """A bias on the logits; :attr:`matrix` is made when it is asked for.

    Attributes
    ----------
    heads : number of heads.
    is_causal_only : True where keys after their query are masked; the numbers there mean nothing.
    divides_logits : False where q·k is not divided by √head_dim before the bias is added (T5).
    slopes : (heads,) where the bias has one slope per head.
    """

    heads: int
    is_causal_only: bool = False
    divides_logits: bool = True
    slopes: Array | None = None

    @property
    def matrix(self) -> Array:
        """(heads, queries, keys), not masked."""
        return self.block(EVERY)

    def block(self, rows: Rows) -> Array:
        """:attr:`matrix` for some queries only, without making all of it."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class ToeplitzBias(AttentionBias):
    """A bias that depends on the distance only.

    Attributes
    ----------
    distances : (distances,) tokens, query - key, ascending; all that occur among the positions.
    by_distance : (heads, distances).
    """

    distances: Array
    by_distance: Array

    def block(self, rows: Rows) -> Array:
        xp = array_namespace(self.positions)
        pairs = self.positions[rows][:, None] - self.positions[None, :]
        place = places_of(self.distances, xp.reshape(pairs, (-1,)), self.positions.shape[0])
        flat = xp.take(self.by_distance, place, axis=1)
        return frozen(xp.reshape(flat, (self.heads, *pairs.shape)))


@dataclass(frozen=True, kw_only=True)
class MatrixBias(AttentionBias):
    """A bias that depends on more than the distance.

    Attributes
    ----------
    values : (heads, queries, keys).
    """

    values: Array

    @property
    def matrix(self) -> Array:
        """(heads, queries, keys), not masked."""
        return self.values

    def block(self, rows: Rows) -> Array:
        return frozen(self.values[:, rows, :])


def places_of(distances: Array, pairs: Array, count: int) -> Array:
    """Where each of some distances stands among all that occur between ``count`` positions.

    Only evenly spaced positions have as few as 2·count - 1 distances (and those are evenly spaced
    too), so the place is then a division; else it is searched for.
    """
    xp = array_namespace(distances)
    if count < 2 or distances.shape[0] != 2 * count - 1:
        return xp.searchsorted(distances, pairs)
    step = (distances[-1] - distances[0]) / (2 * count - 2)
    return xp.astype(xp.round((pairs - distances[0]) / step), xp.int64)


def distances_of(positions: Array) -> Array:
    """All distances that occur among positions, ascending: (distances,) tokens.

    Evenly spaced positions, the usual case, are answered without forming every pair.
    """
    xp = array_namespace(positions)
    count = positions.shape[0]
    if count > 1:
        steps = positions[1:] - positions[:-1]
        if bool(xp.all(steps == steps[0])) and float(steps[0]) > 0:
            after = positions - positions[0]
            return xp.concat((-xp.flip(after[1:]), after))
    return xp.unique_values(xp.reshape(positions[:, None] - positions[None, :], (-1,)))
