"""What the methods that remap the distance itself have in common."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Le

from posviz.encodings.extension import Extension, log_length_scale
from posviz.parameters import Parameter, ParameterError
from posviz.results import Array

Window = Annotated[
    int,
    Ge(1),
    Le(1 << 40),
    Parameter(
        help="Distances below this stay as they are.",
        symbol="w",
        unit="tokens",
        slider=(16, 8192),
        scale="log",
    ),
]
QueryScaling = Annotated[
    bool,
    Parameter(
        help="Multiply the query at position i by max(1, ln(i+1) / ln L), as the authors' code can."
    ),
]

REMAP_SNIPPET = """
import numpy as np
positions = 512 * np.arange(16.0)
m, n = positions[:, None], positions[None, :]
"""
"""How a snippet starts: query and key positions that reach beyond a usual window."""


class Remapping(Extension):
    """Distances below a window as they are, farther ones brought closer; frequencies untouched.

    Defined for keys at or before the query (distance ≥ 0); later keys keep their plain distance
    where the method says nothing about them.
    """

    remaps_distance: ClassVar[bool] = True

    query_scaling: QueryScaling = False

    def check_rules(self) -> None:
        super().check_rules()
        if self.query_scaling and self.original_max_position_embeddings < 2:
            raise ParameterError(
                f"{self.title}: original_max_position_embeddings must be at least 2 where "
                "query_scaling is true, because it is divided by ln L; got "
                f"original_max_position_embeddings {self.original_max_position_embeddings}."
            )

    def query_scale(self, query: Array, length: int) -> Array | None:
        if not self.query_scaling:
            return None
        return log_length_scale(query, self.original_max_position_embeddings)

    def matrix_numbers(self, count: int) -> int:
        return count**2

    def example_positions(self, count: int) -> Array:
        """Evenly over the trained window: next to each other they would all be within reach."""
        step = max(1, math.ceil(self.original_max_position_embeddings / max(1, count)))
        return np.arange(float(count)) * step


class WindowRemapping(Remapping):
    """A remapping with one window w."""

    window: Window = 1024

    def suited(self, length: int, longest: int) -> dict[str, Any]:
        return {**super().suited(length, longest), "window": length // 4}

    @classmethod
    def starting_values(cls, **known: Any) -> dict[str, Any]:
        """A quarter of the trained window, the lower end of what ReRoPE's author advises."""
        trained = known.get("original_max_position_embeddings")
        return {} if trained is None else {"window": max(1, trained // 4)}

    @property
    def stretch(self) -> float:
        """Tokens that one step of distance beyond the window stands for."""
        raise NotImplementedError

    @property
    def reach(self) -> float:
        """Tokens up to which no distance leaves the trained window: (L - w)·k + w."""
        trained = self.original_max_position_embeddings
        if self.window >= trained:
            return trained
        return (trained - self.window) * self.stretch + self.window

    def beyond(self, distance: Array, farther: Array, *, xp: Any) -> Array:
        """The distance itself inside the window, ``farther`` from the window on."""
        return xp.where(distance < self.window, distance, farther)
