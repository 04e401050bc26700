"""Checks of the whole numbers that measures take, and the largest distance within a length."""

from __future__ import annotations

import numpy as np

from posviz.encodings.rotary import RotaryEncoding
from posviz.measures.split_angle import Floats
from posviz.parameters import ParameterError, sentence

BEYOND = 1e-9
"""Relative. A method that fills the trained arc exactly must not count as leaving it by a rounding
error."""
_KEYS_AT_ONCE = 8192


def at_least(owner: str, name: str, value: float, lowest: int, highest: int | None = None) -> int:
    """The value as an int; ParameterError when it is no whole number in the range."""
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not whole or value < lowest or (highest is not None and value > highest):
        allowed = f"a whole number of at least {lowest}"
        allowed += "" if highest is None else f" and at most {highest}"
        raise ParameterError(sentence(owner, name, allowed, value))
    return int(value)


def largest_distance(spec: RotaryEncoding, length: int) -> float:
    """The largest distance that the rotation sees across ``length`` tokens, in tokens.

    Distances are taken from position ``length`` to all before it, so that a method which leaves
    them alone gives ``length`` itself, the same count as in L·f/2π of the trained window.
    """
    if not spec.remaps_distance:
        return float(length)
    seen = seen_distances(spec, float(length), np.arange(length + 1, dtype=np.float64))
    return max(float(seen.max()), -float(seen.min()))


def seen_distances(spec: RotaryEncoding, query: float, distances: Floats) -> Floats:
    """What the rotation sees at these distances from a query at this position: (distances,)."""
    at = np.asarray([query])
    seen = np.empty_like(distances)
    # In parts: the many small steps of a formula are much faster on arrays that fit a cache.
    for first in range(0, distances.size, _KEYS_AT_ONCE):
        part = slice(first, first + _KEYS_AT_ONCE)
        seen[part] = spec.relative_distance(at, at - distances[part])
    return seen
