"""Masks: which keys a query may see.

The law of the family: whether a key is seen depends on its distance only, and a token always sees
itself.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.base import PLAIN, Encoding
from posviz.parameters import Parameter
from posviz.results import Array, AttentionMask, LogitRow, device_of, distances_of, frozen

SLIDING, FULL = "sliding_attention", "full_attention"


class MaskEncoding(Encoding):
    """Base of the family. A subclass gives :attr:`seen`."""

    family: ClassVar[str] = "mask"

    layers: Annotated[
        int,
        Ge(1),
        Le(1024),
        Parameter(
            help="Number of layers, for how far the output of the last one can look back.",
            slider=(1, 48),
            step=1,
        ),
    ] = 32

    @property
    def seen(self) -> tuple[float, float]:
        """The least and the largest distance, query - key, at which a key is seen."""
        raise NotImplementedError

    def layer_types(self) -> tuple[str, ...]:
        """What each layer does, in the words of model configurations."""
        sees_all = math.isinf(self.seen[1])
        return (FULL if sees_all else SLIDING,) * self.layers

    def reach(self) -> list[float]:
        """Tokens that the output of layer 1, 2, … can depend on, its own included.

        A layer adds the other keys of its window to what the layer below could see; after one that
        sees everything there is no limit.
        """
        others, reached = sum(abs(end) for end in self.seen), [1.0]
        for kind in self.layer_types():
            reached.append(reached[-1] + (math.inf if kind == FULL else others))
        return reached[1:]

    def encode(self, positions: Any) -> AttentionMask:
        """Which distances are seen, and how far a stack of layers sees.

        ``keys seen`` counts the keys that a query sees, itself included; attention that weighs
        them alike gives each the ``uniform weight`` and has the ``entropy`` ln t.

        Parameters
        ----------
        positions : (positions,) tokens; NumPy, torch, or a list of numbers.

        Returns
        -------
        AttentionMask for the layers that have this mask; ``layers`` names what each layer does.

        Raises
        ------
        ParameterError : positions that are not finite numbers in one row.
        """
        at = self.position_row(positions)
        xp = array_namespace(at)
        least, largest = self.seen
        distances = distances_of(at)
        ordered = xp.sort(at)
        first = xp.searchsorted(ordered, at - largest, side="left")
        after = xp.searchsorted(ordered, at - least, side="right")
        count = xp.astype(after - first, at.dtype)
        curves = {"keys seen": count, "uniform weight": 1 / count, "entropy": xp.log(count)}
        return AttentionMask(
            positions=frozen(xp.asarray(at, copy=True)),
            distances=frozen(distances),
            visible=frozen((distances >= least) & (distances <= largest)),
            reach=frozen(xp.asarray(self.reach(), dtype=at.dtype, device=device_of(at))),
            curves={name: frozen(values) for name, values in curves.items()},
            layers=self.layer_types(),
        )

    def logit_row(self, length: int, *, like: Array = PLAIN) -> LogitRow:
        kinds = self.layer_types()
        full = kinds.count(FULL) if SLIDING in kinds else 0
        note = f"a layer with the window; {full} of {len(kinds)} layers see all" if full else ""
        return LogitRow(length=length, window=self.seen[1], note=note)
