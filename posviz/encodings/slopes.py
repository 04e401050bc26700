"""Slopes of linear biases, one per head."""

from __future__ import annotations

import numpy as np


def alibi_slopes(heads: int, largest: float = 8.0) -> np.ndarray:
    """2^(-largest·h/n) for h = 1 … n, when n is a power of two: (heads,).

    Else, as the authors' code has it, the n heads take the slopes of the next lower power of two
    first, then every other slope of its double. Press et al., arXiv:2108.12409, get_slopes.
    """
    lower = 1 << (heads.bit_length() - 1)
    steps = np.arange(1, lower + 1) / lower
    if heads > lower:
        steps = np.concatenate((steps, np.arange(1, 2 * (heads - lower), 2) / (2 * lower)))
    return np.asarray(2.0 ** (-largest * steps))
