"""What the two kernels of KERPLE share."""

from __future__ import annotations

from array_api_compat import array_namespace

from posviz.encodings.base import Source
from posviz.results import Array

KERPLE = Source(
    title="KERPLE: Kernelized Relative Positional Embedding for Length Extrapolation",
    authors="Chi, Fan, Ramadge, Rudnicky",
    year=2022,
    arxiv="2205.09921",
    place="section 4",
    code="chijames/KERPLE 25be3d71, megatron/mpu/layers.py; nemo_toolkit 1.23.0",
)
LEAST = 0.01
"""The authors' code keeps learned numbers from here on before it uses them."""


def at_least(numbers: Array, least: float) -> Array:
    """Numbers, none below ``least``."""
    xp = array_namespace(numbers)
    return xp.where(numbers > least, numbers, xp.full_like(numbers, least))


def distance_power(distance: Array, power: Array) -> Array:
    """distance^power for distances from 0 on, with 0 at 0 and a gradient there too."""
    xp = array_namespace(power)
    is_apart = distance > 0
    safe = xp.where(is_apart, distance, xp.ones_like(distance))
    raised = safe**power
    return xp.where(is_apart, raised, xp.zeros_like(raised))
