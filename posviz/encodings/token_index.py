"""Positions as whole numbers that name a token or a row of a table."""

from __future__ import annotations

from typing import Any

from array_api_compat import array_namespace

from posviz.parameters import ParameterError, number_text
from posviz.results import Array


def token_index(owner: str, at: Array, *, first: int = 0, end: int, why: str) -> Array:
    """Positions as int64, each at least ``first`` and below ``end``.

    Raises ParameterError for any other position; ``why`` says in words where the end comes from.
    """
    xp = array_namespace(at)
    outside = (at != xp.floor(at)) | (at < first) | (at >= end)
    if bool(xp.any(outside)):
        came: Any = float(at[outside][0])
        raise ParameterError(
            f"{owner}: positions must be whole numbers from {first} to {end - 1}, since {why}; "
            f"got {number_text(came)}."
        )
    return xp.astype(at, xp.int64)
