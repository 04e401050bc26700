"""Biases: a number per head and distance, added to the logits.

The law of the family: a bias is Toeplitz, that is, depends on the distance only, unless the
encoding says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.base import PLAIN, Encoding
from posviz.parameters import Parameter, ParameterError
from posviz.results import (
    Array,
    AttentionBias,
    LogitRow,
    MatrixBias,
    ToeplitzBias,
    distances_of,
    frozen,
)

Heads = Annotated[
    int,
    Ge(1),
    Le(512),
    Parameter(help="Number of attention heads.", symbol="H", slider=(1, 32), step=1),
]


class BiasEncoding(Encoding):
    """Base of the family. A subclass gives :meth:`bias`, or :meth:`matrix` where it is not
    :attr:`is_toeplitz`."""

    family: ClassVar[str] = "bias"

    heads: Heads = 8

    @property
    def is_toeplitz(self) -> bool:
        """Whether the bias depends on the distance only."""
        return True

    @property
    def is_causal_only(self) -> bool:
        """Whether keys after their query must be masked."""
        return False

    def matrix_numbers(self, count: int) -> int:
        return 0 if self.is_toeplitz else self.heads * count**2

    def bias(self, distance: Array, parts: Mapping[str, Array]) -> Array:
        """The bias at distances query - key of any shape: (heads, *shape)."""
        raise NotImplementedError

    def matrix(self, query: Array, key: Array, parts: Mapping[str, Array]) -> Array:
        """The bias for queries (queries, 1) and keys (1, keys): (heads, queries, keys)."""
        raise NotImplementedError

    def facts(self, result: AttentionBias, parts: Mapping[str, Array]) -> Mapping[str, Any]:
        """More fields for the result: slopes, staircase, maps, divides_logits, …"""
        return {}

    def parts(self, parameters: Mapping[str, Any] | None, like: Array) -> dict[str, Array]:
        """The learned parameters; none here."""
        if parameters:
            raise ParameterError(f"{self.title}: there are no learned parameters.")
        return {}

    def encode(self, positions: Any, *, parameters: Mapping[str, Any] | None = None) -> Any:
        """The bias between all positions.

        Parameters
        ----------
        positions : (positions,) tokens; NumPy, torch, or a list of numbers.
        parameters : learned numbers by name, where the encoding has some; by default the
            initialisation drawn with ``seed``.

        Returns
        -------
        ToeplitzBias, or MatrixBias where the bias depends on more than the distance.

        Raises
        ------
        ParameterError : positions that are not finite numbers in one row, or parameters of other
            names or shapes than the spec has.
        """
        at = self.position_row(positions)
        return self.built(at, self.parts(parameters, at))

    def logit_row(self, length: int, *, like: Array = PLAIN) -> LogitRow | None:
        parts = self.parts(None, like)

        def bias(distances: Array) -> Array:
            if self.is_toeplitz:
                return self.bias(distances, parts)
            query = array_namespace(distances).full_like(distances[:1], length - 1)
            key = length - 1 - distances
            return self.matrix(query[:, None], key[None, :], parts)[:, 0, :]

        return LogitRow(
            length=length,
            heads=self.heads,
            bias=bias,
            head_bias=self.head_bias(parts),
            divides_logits=self.row_divides,
            varies=self.row_varies(length),
        )

    @property
    def row_divides(self) -> bool:
        """Whether q·k is divided by √head_dim before the bias is added."""
        return True

    def head_bias(self, parts: Mapping[str, Array]) -> Callable[[Array, int], Array] | None:
        """The bias of one head at some distances, where there is a quicker way than all heads."""
        return None

    def row_varies(self, length: int) -> bool:
        """Whether the bias of a key at one distance differs from that in shorter contexts."""
        return not self.is_toeplitz

    def built(self, at: Array, parts: Mapping[str, Array]) -> Any:
        """The result for positions and learned parameters that are ready."""
        xp = array_namespace(at)
        shared: dict[str, Any] = {
            "positions": frozen(xp.asarray(at, copy=True)),
            "heads": self.heads,
            "is_causal_only": self.is_causal_only,
        }
        result: AttentionBias
        if self.is_toeplitz:
            distances = distances_of(at)
            by_distance = self.bias(distances, parts)
            shared |= {"distances": frozen(distances), "by_distance": frozen(by_distance)}
            result = ToeplitzBias(**shared)
        else:
            shared["values"] = frozen(self.matrix(at[:, None], at[None, :], parts))
            result = MatrixBias(**shared)
        facts = self.facts(result, parts)
        return type(result)(**{**shared, **facts}) if facts else result


class CountedDistanceBias(BiasEncoding):
    """Base of biases of how far a key is behind the query, or of |δ| in both directions."""

    bidirectional: Annotated[
        bool,
        Parameter(
            help="Whether keys after the query get the bias of |δ|, as in an encoder; else they "
            "are masked, and the numbers there are those of distance 0."
        ),
    ] = False

    def suited(self, length: int, longest: int) -> dict[str, Any]:
        return {**super().suited(length, longest), "bidirectional": False}

    @property
    def is_causal_only(self) -> bool:
        return not self.bidirectional

    def counted(self, distance: Array) -> Array:
        """|δ| in both directions, else δ from 0 on."""
        xp = array_namespace(distance)
        if self.bidirectional:
            return xp.abs(distance)
        return xp.where(distance > 0, distance, xp.zeros_like(distance))


def per_head(numbers: Array, distance: Array) -> Array:
    """(heads,) numbers with an axis of length 1 for each axis of the distances."""
    return array_namespace(numbers).reshape(numbers, (-1,) + (1,) * len(distance.shape))


def looked_up(table: Array, index: Array) -> Array:
    """Rows of a table (rows, heads) at whole numbers of any shape: (heads, *shape)."""
    xp = array_namespace(table)
    rows = xp.take(table, xp.reshape(index, (-1,)), axis=0)
    return xp.reshape(xp.matrix_transpose(rows), (table.shape[1], *index.shape))
