"""The results of trainings as rows: for the table on the page, and as CSV in full precision."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable

from posviz.lab.training.plan import Plan
from posviz.lab.training.trained import Extended, Trained
from posviz.ui.train_short.curves import Curve, changed_values
from posviz.ui.train_short.reading_numbers import shown


def titles(plan: Plan) -> list[str]:
    """The heads of the table's columns."""
    metric = plan.about.metric
    marks = [f"{metric} at {times:g} L" for times in (1, 2, 4, 8) if times <= plan.test_up_to]
    return ["encoding", "from", *marks, "seconds", "different from this plan"]


def row(curve: Curve, plan: Plan) -> list[str]:
    """One encoding of the board; dashes where nothing is known yet."""
    one = curve.trained or curve.ghost
    wanted = [times for times in (1, 2, 4, 8) if times <= plan.test_up_to]
    if one is None:
        return [curve.item.label, "not trained yet", *("–" for _ in wanted), "–", ""]
    scores = dict(zip(one.lengths, one.score, strict=False))
    reached = [scores.get(one.length * times, float("nan")) for times in wanted]
    other = "" if curve.trained else _different(one, plan)
    return [
        curve.item.label,
        curve.origin,
        *map(shown, reached),
        f"{one.seconds:.1f}" if one.is_done else "–",
        other,
    ]


def _different(one: Trained, plan: Plan) -> str:
    found = changed_values(one, plan)
    return ", ".join(
        f"{name} {before:g}" if isinstance(before, float) else f"{name} {before}"
        for name, (before, _) in found.items()
    )


def as_csv(trainings: Iterable[Trained], extensions: Iterable[Extended] = ()) -> str:
    """Every curve, one number per row: the encoding, its seed and steps, what x is, x, value."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["encoding", "task", "seed", "steps", "curve", "x", "value"])
    for one in trainings:
        facts = [one.link, one.plan["task"], one.plan["seed"], one.plan["steps"]]
        for step, y in zip(one.steps, one.loss, strict=True):
            writer.writerow([*facts, "training loss against step", step, y])
        for variant, scores in one.scores.items():
            for length, y in zip(one.lengths, scores, strict=True):
                writer.writerow([*facts, f"{one.metric} against length: {variant}", length, y])
        for x, y in zip(one.positions, one.by_position, strict=True):
            writer.writerow([*facts, f"{one.metric} against position", x, y])
    for found in extensions:
        facts = [found.plan["task"], found.plan["seed"], found.plan["steps"]]
        for name, losses in found.loss.items():
            for x, y in zip(found.factors, losses, strict=True):
                writer.writerow([found.links[name], *facts, f"{name}: loss against factor", x, y])
    return out.getvalue()
