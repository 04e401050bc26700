"""Numbers that follow from base and window alone."""

from __future__ import annotations

import math
from typing import Any

from posviz.measures.interpolation_bounds import extrapolation_bound
from posviz.measures.lengths import at_least
from posviz.parameters import ParameterError, sentence
from posviz.results import Array, frozen


def critical_dimension(rotary_dim: int, base: float, trained_length: int) -> int:
    """2·⌈(d/2)·log_b(L/2π)⌉: dimensions whose pairs finish a turn in training.

    Never below 0 nor above d. Liu et al., arXiv:2310.05209, equation 6: 92 for Llama 2.
    """
    at_least("critical dimension", "rotary_dim", rotary_dim, 2)
    at_least("critical dimension", "trained_length", trained_length, 1)
    if not base > 1:
        raise ParameterError(sentence("critical dimension", "base", "a number above 1", base))
    turning = rotary_dim / 2 * math.log(trained_length / (2 * math.pi)) / math.log(base)
    return 2 * min(max(math.ceil(turning), 0), rotary_dim // 2)


def covering_base(trained_length: int, arc: float) -> float:
    """L / arc: the base whose slowest possible pair, 1/b, covers ``arc`` radians in training.

    Liu et al., arXiv:2310.05209, section 3.3, name π/2, π and 2π: 2608, 1304 and 652 for L = 4096.
    """
    at_least("covering base", "trained_length", trained_length, 1)
    if not (math.isfinite(arc) and arc > 0):
        raise ParameterError(sentence("covering base", "arc", "a number above 0", arc))
    return trained_length / arc


def decay_bound(distances: Any, inv_freq: Any) -> Array:
    """(1/P)·Σ_j |S_j| with S_j the sum of the first j of e^(i·d·f), j = 1 … P: (distances,).

    The relative upper bound of RoFormer, arXiv:2104.09864, section 3.4.3; P is the number of pairs.
    It is :func:`~posviz.measures.extrapolation_bound` with h of 1/2 over the pairs.
    """
    bound = extrapolation_bound(distances, inv_freq, largest_h=0.5)
    return frozen(bound / len(inv_freq))
