"""The results of trainings as rows: for the table on the page, and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from posviz.lab.training.plan import Plan
from posviz.lab.training.trained import Extended, Trained
from posviz.ui.train_short.curves import Curve
from posviz.ui.train_short.fitting import fitted_in_words, is_scaled_from_the_start
from posviz.ui.train_short.reading_numbers import shown

_MARKS = (1, 2, 4, 8)
"""Test lengths of the table, in lengths of training."""
_FACTS = ("encoding", "trained as", "task", "seed", "steps", "seconds")


def titles(plan: Plan) -> list[str]:
    """The heads of the table's columns."""
    metric = plan.about.metric
    marks = [f"{metric} at {times:g} L" for times in _marks(plan)]
    return ["encoding", "from", *marks, "seconds of one core", "trained as"]


def _marks(plan: Plan) -> list[int]:
    return [times for times in _MARKS if times <= plan.test_up_to]


def rows(curve: Curve, plan: Plan) -> list[list[str]]:
    """One encoding of the board; two rows where a whole stored training stands beside a cut one,
    dashes where nothing is known yet."""
    name, one = curve.item.label, curve.trained or curve.ghost
    if one is None:
        return [[name, curve.origin, *("–" for _ in _marks(plan)), "–", "–"]]
    found = [_row(name, curve.origin, one, plan)]
    if curve.trained is not None and curve.result[1] is not curve.trained and curve.ghost:
        found.append(_row(name, curve.ghost_origin, curve.ghost, plan))
    return found


def _row(name: str, origin: str, one: Trained, plan: Plan) -> list[str]:
    scores = dict(zip(one.lengths, one.score, strict=False))
    reached = [scores.get(one.length * times, float("nan")) for times in _marks(plan)]
    seconds = f"{one.seconds:.1f}" if one.is_done else "–"
    return [name, origin, *map(shown, reached), seconds, one.fitted]


def notes(curve: Curve) -> list[str]:
    """What a reader must know of one encoding: whole sentences."""
    one = curve.trained or curve.ghost
    if one is None:
        return []
    told = list(one.notes)
    if fitted := fitted_in_words(curve.item.spec, one):
        told.append(f"{fitted[0].upper()}{fitted[1:]}.")
    if (factor := is_scaled_from_the_start(one)) > 1:
        told.append(
            f"Trained with its scaled frequencies (s = {factor:g}) from the first step on; this is "
            "no extension of a trained model, which follows below."
        )
    return [f"{curve.item.label}: {note}" for note in told]


def as_csv(trainings: Iterable[Trained], extensions: Iterable[Extended] = ()) -> str:
    """Every curve, one number per row: the encoding as asked for and as trained, the task, seed,
    steps and seconds, what x is, x, value.

    Numbers are as exact as the results are: those of stored ones have five digits.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*_FACTS, "curve", "x", "value"])
    for one in trainings:
        facts = [one.link, one.fitted, *_of_plan(one)]
        writer.writerows([*facts, *point] for point in _points(one))
    for found in extensions:
        facts = _of_plan(found)
        for name, *point in _points_of_extension(found):
            link = found.links[name]
            writer.writerow([link, link, *facts, *point])
    return out.getvalue()


def _of_plan(one: Trained | Extended) -> list[Any]:
    return [one.plan["task"], one.plan["seed"], one.plan["steps"], one.seconds]


def _points(one: Trained) -> Iterator[tuple[str, float, float]]:
    for step, y in zip(one.steps, one.loss, strict=True):
        yield "training loss against step", step, y
    tables: Mapping[str, Mapping[str, Sequence[float]]] = {
        f"{one.metric} against length": one.scores,
        "answers counted against length": one.answers,
        "low end of the 95 % interval against length": one.low,
        "high end of the 95 % interval against length": one.high,
    }
    for what, table in tables.items():
        for variant, row in table.items():
            for length, y in zip(one.lengths, row, strict=True):
                yield f"{what}: {variant}", length, y
    for x, y in zip(one.positions, one.by_position, strict=True):
        yield f"{one.metric} against position", x, y


def _points_of_extension(found: Extended) -> Iterator[tuple[str, str, float, float]]:
    tables = {
        "loss against factor": found.loss,
        "loss over the last L tokens against factor": found.at_end,
        "share right against factor": found.right,
        "loss at L against factor": found.at_training_length,
    }
    for what, table in tables.items():
        for name, row in table.items():
            for x, y in zip(found.factors, row, strict=True):
                yield name, f"{name}: {what}", x, y
    for name, row in found.curves.items():
        for x, y in zip(found.positions, row, strict=True):
            yield name, f"{name}: loss against position at the largest factor", x, y
