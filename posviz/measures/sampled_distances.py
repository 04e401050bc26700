"""Distances at which an error is looked at, and the largest error among them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from posviz.measures.split_angle import Floats
from posviz.parameters import ParameterError, sentence

_SHOWN = 256


@dataclass(frozen=True, kw_only=True)
class LargestError:
    """Largest size of an error, infinite where a number is none, the distance that has it, in
    tokens, and at how many of the distances 0 … length-1 it was measured."""

    size: float
    distance: int
    measured: int


def sampled_distances(
    owner: str, length: int, distances: ArrayLike | None, worst: int = 0
) -> Floats:
    """The caller's distances, checked, or 0, the worst and up to 256 more on a log axis."""
    if distances is None:
        shown = np.rint(np.geomspace(1, max(length - 1, 1), _SHOWN))
        return np.unique(np.append(shown[shown < length], [0.0, worst]))
    at = np.array(distances, dtype=np.float64)
    whole = at.ndim == 1 and at.size and bool((at == np.rint(at)).all())
    if not whole or at.min() < 0 or at.max() > length - 1:
        raise ParameterError(
            sentence(owner, "distances", f"whole numbers from 0 to {length - 1}", distances)
        )
    return at


def largest_size(errors: Floats) -> tuple[int, float]:
    """Index and size of the largest error; infinite at the first that is not a number."""
    size = np.nan_to_num(np.abs(errors), nan=math.inf, posinf=math.inf)
    worst = int(np.argmax(size))
    return worst, float(size[worst])
