"""What an encoding gives for some positions: arrays with named axes.

Arrays come back in the kind they were asked in: NumPy positions give read-only NumPy arrays, torch
positions give torch tensors on the same device. Nothing here knows which encoding it came from.
"""

from posviz.results.arrays import (
    EVERY,
    Array,
    Result,
    Rows,
    Staircase,
    as_positions,
    device_of,
    frozen,
)
from posviz.results.bias import AttentionBias, MatrixBias, ToeplitzBias, distances_of
from posviz.results.mask import AttentionMask, Schedule
from posviz.results.rotary import (
    AxialRotation,
    Layout,
    RelativeRotation,
    RotaryResult,
    Rotation,
    ScaledRotation,
    ValueRotation,
    join_pairs,
    rotate_pairs,
    split_pairs,
    wavelengths,
)
from posviz.results.row import LogitRow
from posviz.results.table import PositionTable
from posviz.results.terms import AttentionTerms

__all__ = [
    "EVERY",
    "Array",
    "AttentionBias",
    "AttentionMask",
    "AttentionTerms",
    "AxialRotation",
    "Layout",
    "LogitRow",
    "MatrixBias",
    "PositionTable",
    "RelativeRotation",
    "Result",
    "RotaryResult",
    "Rotation",
    "Rows",
    "ScaledRotation",
    "Schedule",
    "Staircase",
    "ToeplitzBias",
    "ValueRotation",
    "as_positions",
    "device_of",
    "distances_of",
    "frozen",
    "join_pairs",
    "rotate_pairs",
    "split_pairs",
    "wavelengths",
]
