"""What figures of trainings share: faint lines of earlier results, the level of the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from posviz.figures.spec import level

Points = tuple[Sequence[float], Sequence[float]]
"""What stands along the axis, and a result at each of it."""
UNITS: Mapping[str, str] = {"loss": "nats per token", "accuracy": "share of answers"}
"""Metric of a test to its unit."""

_OPACITY = 0.4
_WIDTH = 1.5


def ghost(trace: dict[str, Any]) -> dict[str, Any]:
    """The line as a ghost."""
    return {**trace, "opacity": _OPACITY, "line": {**trace["line"], "width": _WIDTH}}


def floor_level(
    value: float, text: str, *, is_below: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The level of the best model; of a loss its label stands below, away from the curves."""
    shape, label = level(value, text, across="y", log=False)
    return shape, {**label, "yanchor": "top" if is_below else "bottom"}
