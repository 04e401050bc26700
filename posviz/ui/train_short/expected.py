"""How long a training will take, by the stored ones."""

from __future__ import annotations

from collections.abc import Iterable

from posviz.lab.training.plan import Plan
from posviz.lab.training.trained import Trained
from posviz.ui.train_short.curves import Curve, changed_values

_SCALES = {"steps", "seed"}
"""Values of a plan that change the time of a training in proportion, or not at all."""


def expected_seconds(plan: Plan, curves: Iterable[Curve]) -> float:
    """Seconds of one core that the slowest of some encodings takes; 0 where no stored one tells."""
    known = (_seconds(c.ghost or c.trained, plan) for c in curves)
    return max(known, default=0.0)


def _seconds(one: Trained | None, plan: Plan) -> float:
    if one is None or not one.is_done or set(changed_values(one, plan)) - _SCALES:
        return 0.0
    reached = one.steps[-1] if one.steps else 0
    return one.seconds * plan.steps / reached if reached else 0.0
