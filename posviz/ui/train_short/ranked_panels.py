"""Panels that set results side by side: tests of a memory, and methods of extension."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from posviz.figures import Series
from posviz.figures.lab.extension_ranking import extension_positions, extension_ranking
from posviz.figures.lab.ghosts import Points
from posviz.figures.lab.memory import Recall, memory
from posviz.lab.training.plan import Plan
from posviz.lab.training.tasks import TASKS
from posviz.lab.training.trained import Extended, Trained
from posviz.ui.panel import Panel
from posviz.ui.train_short import extension
from posviz.ui.train_short.curves import Curve, Swapped
from posviz.ui.train_short.view import View

LONGER = 4
"""Lengths of training of the longer tests that stand side by side, at most."""


def recall(view: View, curves: Sequence[Curve]) -> Panel:
    """The kinds of test of a task side by side: of this plan where there is one, else stored."""
    task = view.plan.about
    tests = memory_tests(view.plan)
    series = [
        Series(name, c.item.color, _recall(one, tests))
        for c in curves
        for name, one in [c.result]
        if one is not None and one.scores
    ]
    return Panel(
        "memory",
        memory,
        None,
        memory.build(series, tests=[name for name, _, _ in tests], chance=task.chance),
        {},
        [f"{name}: {how}" for name, how in task.variants.items()],
        title=f"{task.title}: tests that differ from the training",
        is_wide=True,
    )


def memory_tests(plan: Plan) -> list[tuple[str, str, int]]:
    """What a test is called, its variant, and its length in tokens: each kind at L and longer."""
    usual, *others = plan.about.variants
    short, long = plan.length, plan.length * min(LONGER, plan.test_up_to)
    kinds = [(usual, usual, short), ("longer", usual, long)]
    kinds += [(other, other, size) for other in others for size in (short, long)]
    found = {(variant, size): f"{kind}, {size}" for kind, variant, size in reversed(kinds)}
    return [(name, variant, size) for (variant, size), name in reversed(found.items())]


def _recall(one: Trained, tests: Sequence[tuple[str, str, int]]) -> Recall:
    def row(table: Mapping[str, Sequence[float]]) -> list[float]:
        return [_at(one, table, variant, size) for _, variant, size in tests]

    if not one.answers or not one.low:
        return Recall(row(one.scores))
    return Recall(row(one.scores), row(one.answers), row(one.low), row(one.high))


def _at(one: Trained, table: Mapping[str, Sequence[float]], variant: str, size: int) -> float:
    found = dict(zip(one.lengths, table.get(variant, ()), strict=False))
    return found.get(size, math.nan)


def extended(swapped: Swapped) -> Panel:
    """Swapped frequencies: the ranking of the methods, in both counts."""
    found = _of(swapped)
    return Panel(
        "extension",
        extension_ranking,
        None,
        extension_ranking.build(
            {name: found.loss[name] for name in extension.ranking(found)},
            factors=found.factors,
            trained=int(found.plan["length"]),
            floor=found.best,
            chance=found.chance,
            at_end=extension.at_end(found),
        ),
        {},
        _notes(swapped),
        is_wide=True,
    )


def extended_positions(swapped: Swapped) -> Panel:
    """Swapped frequencies: where in the longest test each method fails."""
    found = _of(swapped)
    length = int(found.plan["length"])
    series: list[Series[Points]] = [
        Series(name, place, (found.positions, found.curves[name]))
        for place, name in enumerate(found.loss)
        if name in found.curves
    ]
    return Panel(
        "extension_positions",
        extension_positions,
        None,
        extension_positions.build(
            series,
            trained=length,
            longest=round(found.factors[-1] * length),
            floor=found.best,
            chance=found.chance,
        ),
        {},
        _notes(swapped),
        is_wide=True,
    )


def _of(swapped: Swapped) -> Extended:
    assert swapped.found is not None
    return swapped.found


def _notes(swapped: Swapped) -> list[str]:
    found = _of(swapped)
    title = TASKS[found.plan["task"]].title
    notes = [f"{title}, {swapped.origin}"]
    notes += [swapped.remark] if swapped.remark else []
    return notes if extension.has_learned(found) else [*notes, "the model has not learned the task"]
