"""A number per head, query and key, added to the logits."""

from __future__ import annotations

from dataclasses import dataclass

from array_api_compat import array_namespace

from posviz.results.arrays import Array, Result, frozen


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

    @property
    def matrix(self) -> Array:
        """(heads, queries, keys), not masked."""
        xp = array_namespace(self.positions)
        pairs = self.positions[:, None] - self.positions[None, :]
        place = xp.searchsorted(self.distances, xp.reshape(pairs, (-1,)))
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
