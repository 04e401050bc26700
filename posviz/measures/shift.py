"""How far a table of vectors is from being moved by one linear map."""

from __future__ import annotations

from typing import Any

import numpy as np

from posviz.parameters import ParameterError, sentence

_OWNER = "shift error"


def shift_error(vectors: Any, distance: int) -> float:
    """Share of a table's length that no single linear map explains: ‖P₊ - P M‖ / ‖P₊‖.

    P holds the vectors of positions t, P₊ those of t + Δ, and M is the best map by least squares:
    p(t + Δ) ≈ p(t) M for every t. For sinusoids M is exact, a rotation of every pair of sine and
    cosine by Δ·f_i, so that only rounding is left; a table without structure gives about
    √(1 - columns / rows).

    Parameters
    ----------
    vectors : (positions, model_dim) the vectors of consecutive positions, a NumPy array or a tensor
        without gradients.
    distance : Δ, tokens; may be negative.

    Returns
    -------
    A number from 0 (one map moves all) to 1.

    Raises
    ------
    ParameterError : a distance that is not a whole number, or too few positions: with no more pairs
        (t, t + Δ) than columns, some map fits any table.
    """
    table = np.asarray(vectors, dtype=float)
    if table.ndim != 2:
        raise ParameterError(
            f"{_OWNER}: vectors must have the axes (positions, model_dim); got {table.shape}."
        )
    if not isinstance(distance, int | np.integer) or isinstance(distance, bool):
        raise ParameterError(sentence(_OWNER, "distance", "a whole number", distance))
    steps = abs(int(distance))
    before, after = table[: max(0, len(table) - steps)], table[steps:]
    if len(before) <= table.shape[1]:
        raise ParameterError(
            f"{_OWNER}: vectors must hold more than {table.shape[1]} pairs of positions that are "
            f"distance {steps} apart, one more than columns; got {len(before)}."
        )
    if distance < 0:
        before, after = after, before
    moved, *_ = np.linalg.lstsq(before, after, rcond=None)
    size = float(np.linalg.norm(after))
    return float(np.linalg.norm(after - before @ moved)) / size if size else 0.0
