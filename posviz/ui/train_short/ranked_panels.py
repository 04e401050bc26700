"""Panels that set results side by side: tests of a memory, and methods of extension."""

from __future__ import annotations

import math
from collections.abc import Sequence

from posviz.figures import Series
from posviz.figures.lab.extension_ranking import extension_ranking
from posviz.figures.lab.memory import memory
from posviz.lab.training.plan import Plan
from posviz.lab.training.tasks import TASKS
from posviz.lab.training.trained import Extended, Trained
from posviz.ui.panel import Panel
from posviz.ui.train_short import extension
from posviz.ui.train_short.curves import Curve
from posviz.ui.train_short.view import View


def recall(view: View, curves: Sequence[Curve]) -> Panel:
    """The flip-flop's tests side by side: of this plan where there is one, else of the stored."""
    tests = memory_tests(view.plan)
    names = [test for test, _, _ in tests]
    series: list[Series[Sequence[float]]] = [
        Series(c.item.label, c.item.color, [_at(one, variant, size) for _, variant, size in tests])
        for c in curves
        if (one := c.trained or c.ghost) is not None
    ]
    return Panel(
        "memory",
        memory,
        None,
        memory.build(series, tests=names, chance=view.plan.about.chance),
        {},
        [f"{name}: {how}" for name, how in view.plan.about.variants.items()],
        is_wide=True,
    )


def memory_tests(plan: Plan) -> list[tuple[str, str, int]]:
    """What a test is called, its variant, and its length in tokens."""
    short = plan.length
    long = short * min(4, plan.test_up_to)
    kinds = [("as trained", short), ("longer", long), ("denser", long)]
    kinds += [("sparser", short), ("sparser", long)]
    names = {"longer": "as trained"}
    return [(f"{kind}, {size}", names.get(kind, kind), size) for kind, size in dict.fromkeys(kinds)]


def _at(one: Trained, variant: str, size: int) -> float:
    row = dict(zip(one.lengths, one.scores.get(variant, ()), strict=False))
    return row.get(size, math.nan)


def extended(found: Extended, is_own: bool) -> Panel:
    """Swapped frequencies: the ranking of the methods."""
    plan = found.plan
    origin = f"trained here in {found.seconds:.0f} s" if is_own else "stored"
    return Panel(
        "extension",
        extension_ranking,
        None,
        extension_ranking.build(
            {name: found.loss[name] for name in extension.ranking(found)},
            factors=found.factors,
            trained=int(plan["length"]),
            floor=found.best,
            chance=found.chance,
        ),
        {},
        [f"{TASKS[plan['task']].title}, {origin}, seed {plan['seed']}"],
        is_wide=True,
    )
