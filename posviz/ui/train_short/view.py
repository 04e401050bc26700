"""The state of the page: up to six encodings, one plan of training, and what is known of them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from posviz.catalog import link
from posviz.encodings.base import Encoding
from posviz.lab.training.plan import FOLLOW_TASK, Plan
from posviz.lab.training.tasks import TASKS
from posviz.lab.training.trainable import refusal
from posviz.lab.training.trained import Extended, Trained
from posviz.parameters import ParameterError
from posviz.ui.controls import as_typed
from posviz.ui.slots.choice import Slots, slot_title
from posviz.ui.slots.values import SlottedView, first_values, take_slots
from posviz.ui.train_short.reading import PLANNED, POINTED, READING, Cursors


@functools.cache
def _misfit(encoding: type[Encoding]) -> str:
    return refusal(encoding())


SLOTS = Slots(
    ("a", "b", "c", "d", "e", "f"), may_be_empty=("b", "c", "d", "e", "f"), misfit=_misfit
)
DEFAULTS = {
    "a": "sinusoidal",
    "b": "rope",
    "c": "alibi",
    "d": "t5",
    "e": "kerple_log",
    "f": "nope",
}


@dataclass(frozen=True)
class Shown:
    """One encoding with its place on the board."""

    slot: str
    spec: Encoding

    @property
    def label(self) -> str:
        """As legends and notes name it."""
        return slot_title(self.slot, self.spec.title)

    @property
    def link(self) -> str:
        return link(self.spec)

    @property
    def color(self) -> int:
        """Place in the palette."""
        return SLOTS.names.index(self.slot)


@dataclass(frozen=True)
class View(SlottedView):
    """Values for all controls of the board, and the trainings of this session, newest last."""

    trained: tuple[Trained, ...] = ()
    extended: tuple[Extended, ...] = ()

    @functools.cached_property
    def plan(self) -> Plan:
        """The plan of training; ParameterError where a value is out of its domain."""
        return Plan(**{name: self.values[name] for name in PLANNED})

    @functools.cached_property
    def cursors(self) -> Cursors:
        """Where the curves are read; ParameterError where that is out of its domain."""
        return Cursors(**{name: self.values[name] for name in POINTED})

    @functools.cached_property
    def shown(self) -> tuple[Shown, ...]:
        """Everything that stands on the board."""
        return tuple(Shown(slot, spec) for slot, spec in self.specs.items())


def first_view(chosen: Mapping[str, str], task: Any = None) -> View:
    """The view that encodings open with: the plan that a task opens with, all else at its default.

    Anything that names no task leaves the usual one.
    """
    plan = Plan.for_task(task) if isinstance(task, str) and task in TASKS else Plan()
    given = {name: value for name, value in plan.model_dump().items() if name in PLANNED}
    return View(SLOTS, given | Cursors().model_dump() | first_values(SLOTS, chosen))


def changed(view: View, sent: Mapping[str, Any]) -> View:
    """The view with values that came from the board or an address.

    Raises ParameterError with the first sentence that says what is wrong.
    """
    values = take_slots(view.values, view.slots, sent)
    for name, declaration in READING.items():
        if name in sent:
            owner = Plan.title if name in PLANNED else Cursors.title
            values[name] = as_typed(declaration, owner, sent[name])
    _follow_task(values, view.values)
    new = replace(view, values=values)
    assert new.plan  # refuses, in words, what cannot be used
    assert new.cursors  # so does this
    for spec in new.specs.values():
        if why := refusal(spec):
            raise ParameterError(why)
    return new


def _follow_task(values: dict[str, Any], before: Mapping[str, Any]) -> None:
    """Another task brings what it needs, where that of the task before stood."""
    task = before["task"]
    if values["task"] == task or values["task"] not in TASKS:
        return
    usual, new = Plan.for_task(task).model_dump(), Plan.for_task(values["task"]).model_dump()
    for name in FOLLOW_TASK:
        if values[name] == before[name] == usual[name]:
            values[name] = new[name]
