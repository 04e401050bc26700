"""From a view to the panels of the board: which figure, from which trainings."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from posviz.figures import Series
from posviz.figures.lab.length_curves import length_curves
from posviz.figures.lab.position_curves import position_curves
from posviz.figures.lab.training_curves import training_curves
from posviz.lab.training.trained import Trained
from posviz.ui.exchange import Panels, key_of
from posviz.ui.panel import Panel, read_at
from posviz.ui.train_short import runs
from posviz.ui.train_short.curves import Curve, Swapped, curves_of, extension_of
from posviz.ui.train_short.expected import expected_seconds
from posviz.ui.train_short.ranked_panels import extended, extended_positions, recall
from posviz.ui.train_short.view import View

Points = tuple[Sequence[float], Sequence[float]]


def panels(view: View) -> Panels:
    """Every panel of the view, each under a key that changes with every new number."""
    curves = curves_of(view)
    base = (view.plan, [(c.item.label, _state(c.trained), _state(c.ghost)) for c in curves])
    swapped = extension_of(view)
    made: dict[str, tuple[str, Callable[[], Panel]]] = {
        "length": (key_of(("length", base)), lambda: length(view, curves)),
        "loss": (key_of(("loss", base)), lambda: loss(view, curves)),
        "position": (key_of(("position", base)), lambda: position(view, curves)),
    }
    if len(view.plan.about.variants) > 1:
        made["memory"] = (key_of(("memory", base)), lambda: recall(view, curves))
    if swapped.found is not None and swapped.found.loss:
        state = _state_of_extension(swapped)
        made["extension"] = (key_of(("extension", state)), lambda: extended(swapped))
        if swapped.found.curves:
            key = key_of(("extension_positions", state))
            made["extension_positions"] = (key, lambda: extended_positions(swapped))
    return made


def _state(one: Trained | None) -> object:
    """What tells one state of a training from another."""
    if one is None:
        return None
    known = (len(one.steps), one.scores, len(one.positions), one.seconds, one.notes, one.is_done)
    return one.link, sorted(one.plan.items()), known


def _state_of_extension(swapped: Swapped) -> object:
    one = swapped.found
    assert one is not None
    known = (sorted(one.loss.items()), sorted(one.curves.items()), one.seconds)
    return sorted(one.plan.items()), known, swapped.origin, swapped.remark


def length(view: View, curves: Sequence[Curve]) -> Panel:
    """Result against length of the test."""
    plan = view.plan
    lines, ghosts = _lines(curves, _lengths), _ghosts(curves, _lengths)
    return Panel(
        "length",
        length_curves,
        "test_length",
        length_curves.build(
            lines,
            trained=plan.length,
            longest=plan.longest,
            metric=plan.about.metric,
            best=plan.about.best,
            chance=plan.about.chance,
            ghosts=ghosts,
        ),
        _slots(view, "test_length", "score", [*lines, *ghosts]),
        [*_origins(curves), *_how_to(view, curves)],
        lead=_lead([*lines, *ghosts]),
        is_wide=True,
    )


def loss(view: View, curves: Sequence[Curve]) -> Panel:
    """Loss against step of training."""
    task = view.plan.about
    lines, ghosts = _lines(curves, _losses), _ghosts(curves, _losses)
    # An accuracy of 1 stands for answers without doubt; the source's floor is its own.
    floor = task.best if task.metric == "loss" else 0.0
    chance = task.chance if task.metric == "loss" else -math.log(task.chance)
    return Panel(
        "loss",
        training_curves,
        "step",
        training_curves.build(
            lines, steps=view.plan.steps, chance=chance, floor=floor, ghosts=ghosts
        ),
        _slots(view, "step", "loss", [*lines, *ghosts]),
        [],
        lead=_lead([*lines, *ghosts]),
    )


def position(view: View, curves: Sequence[Curve]) -> Panel:
    """Result against position in the longest test."""
    plan = view.plan
    lines, ghosts = _lines(curves, _positions), _ghosts(curves, _positions)
    return Panel(
        "position",
        position_curves,
        None,
        position_curves.build(
            lines,
            trained=plan.length,
            longest=plan.longest,
            metric=plan.about.metric,
            best=plan.about.best,
            chance=plan.about.chance,
            ghosts=ghosts,
        ),
        {},
        [],
    )


def _lengths(one: Trained) -> Points:
    return one.lengths[: len(one.score)], one.score


def _losses(one: Trained) -> Points:
    return one.steps, one.loss


def _positions(one: Trained) -> Points:
    return one.positions, one.by_position


def _lines(curves: Sequence[Curve], points: Callable[[Trained], Points]) -> list[Series[Points]]:
    """Trainings of this very plan, as far as they have come."""
    return [
        Series(c.line_name, c.item.color, points(c.trained))
        for c in curves
        if c.trained is not None and points(c.trained)[0]
    ]


def _ghosts(curves: Sequence[Curve], points: Callable[[Trained], Points]) -> list[Series[Points]]:
    """Stored trainings beside them, or in their place."""
    return [
        Series(c.ghost_name, c.item.color, points(c.ghost))
        for c in curves
        if c.ghost is not None and points(c.ghost)[0]
    ]


def _slots(view: View, cursor: str, name: str, series: Sequence[Series[Points]]) -> dict[str, Any]:
    """The numbers at the cursor of the first line that is drawn; none beyond its end."""
    x, y = series[0].measure if series else ((), ())
    if len(x) and getattr(view.cursors, cursor) > max(x):
        x, y = (), ()
    return {name: read_at(cursor, x, y), cursor: read_at(cursor, x, x)}


def _lead(series: Sequence[Series[Points]]) -> str:
    return series[0].label if len(series) > 1 else ""


def _origins(curves: Sequence[Curve]) -> list[str]:
    """Where the lines come from: in one note where all come from the same place."""
    origins = {_origin(c) for c in curves}
    if len(origins) == 1:
        return [f"all: {origins.pop()}"] if len(curves) > 1 else [origins.pop()]
    return [f"{c.item.label}: {_origin(c)}" for c in curves]


def _origin(curve: Curve) -> str:
    """Where a line comes from, and where the faint one beside it does."""
    beside = f"; faint: {curve.ghost_origin}" if curve.trained and curve.ghost else ""
    return f"{curve.origin}{beside}"


def _how_to(view: View, curves: Sequence[Curve]) -> list[str]:
    """What to do where a line of this plan is missing."""
    if all(c.trained for c in curves):
        return []
    if why := runs.absent():
        return [f"Curves of these settings are not stored. {why.replace('`', '')}"]
    seconds = expected_seconds(view.plan, curves)
    about = f", about {seconds:.0f} s of one core each" if seconds else ""
    return [f"“Train” above makes the curves of these settings{about}"]
