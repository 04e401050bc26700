"""The state of the attention page: up to six encodings, one context, one model of the content."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from posviz.catalog import link
from posviz.encodings.base import Encoding
from posviz.measures import HEAD_DIM, Content, logit_row, row_refusal
from posviz.parameters import ParameterError
from posviz.ui.attention.lengths import heads_of, longest_of
from posviz.ui.attention.reading import READING, Reading
from posviz.ui.controls import as_typed
from posviz.ui.slots.choice import Slots, slot_title
from posviz.ui.slots.values import SlottedView, first_values, take_slots

CONTENT = tuple(Content.model_fields)


@functools.cache
def _misfit(encoding: type[Encoding]) -> str:
    return row_refusal(encoding())


SLOTS = Slots(
    ("a", "b", "c", "d", "e", "f"), may_be_empty=("b", "c", "d", "e", "f"), misfit=_misfit
)
DEFAULTS = {"a": "rope", "b": "yarn", "c": "alibi", "d": "xpos"}
Range = tuple[float, float]


@dataclass(frozen=True)
class Shown:
    """One encoding with its place on the board."""

    slot: str
    spec: Encoding
    head: int | None = None
    """Which head is shown; None where the encoding has only one."""

    @property
    def label(self) -> str:
        """As legends and notes name it."""
        title = slot_title(self.slot, self.spec.title)
        return title if self.head is None else f"{title}, head {self.head}"

    @property
    def color(self) -> int:
        """Place in the palette."""
        return SLOTS.names.index(self.slot)

    def within(self, length: int) -> int:
        """The length, or the longest context that this encoding gives a row for."""
        return min(length, longest_of(link(self.spec)))


@dataclass(frozen=True)
class View(SlottedView):
    """Values for all controls of the board, and the x ranges that the reader zoomed into."""

    zooms: Mapping[str, Range] = field(default_factory=dict)

    @functools.cached_property
    def reading(self) -> Reading:
        """The page's own parameters; ParameterError where one is out of its domain."""
        return Reading(**{name: self.values[name] for name in READING})

    @functools.cached_property
    def content(self) -> Content:
        """The model of the content alone."""
        return Content(**{name: self.values[name] for name in CONTENT})

    @functools.cached_property
    def shown(self) -> tuple[Shown, ...]:
        """Everything that stands on the board."""
        return tuple(Shown(slot, spec, self._head_of(spec)) for slot, spec in self.specs.items())

    def _head_of(self, spec: Encoding) -> int | None:
        """The head of an encoding that is shown: the last one where it has fewer."""
        count = heads_of(link(spec))
        return min(int(self.values["head"]), count - 1) if count > 1 else None

    @property
    def lead(self) -> Shown:
        """Whom the views of one encoding show."""
        chosen = [item for item in self.shown if item.slot == self.reading.lead]
        return chosen[0] if chosen else self.shown[0]


def first_view(chosen: Mapping[str, str]) -> View:
    """The view that encodings open with, all values at their defaults."""
    reading = Reading(content="same")
    return View(SLOTS, reading.model_dump() | first_values(SLOTS, chosen))


def changed(view: View, sent: Mapping[str, Any]) -> View:
    """The view with values that came from the board or an address.

    Raises ParameterError with the first sentence that says what is wrong.
    """
    values = take_slots(view.values, view.slots, sent)
    for name, declaration in READING.items():
        if name in sent:
            values[name] = as_typed(declaration, Reading.title, sent[name])
    return _checked(replace(view, values=values))


def _checked(view: View) -> View:
    """The view, once its specs and readings are known to be usable; cursors inside the context,
    and the lead in a slot that holds an encoding."""
    last = view.reading.length - 1
    kept = {name: min(view.values[name], last) for name in ("distance", "place")}
    for item in view.shown:
        item.within(1)  # refuses, in words, what has no row of logits
        for name in ("typed_query", "typed_key"):
            if count := len(view.values[name]):
                _check_typed(item, name, count)
    return replace(view, values={**view.values, **kept, "lead": view.lead.slot})


def _check_typed(item: Shown, name: str, count: int) -> None:
    """ParameterError for more typed numbers than a head has dimensions: some would not count."""
    size = logit_row(item.spec, 1).head_dim or HEAD_DIM
    if count > size:
        raise ParameterError(
            f"{Reading.title}: {name} must have at most {size} numbers, one for each dimension of "
            f"the head of {item.spec.title}; got {count}."
        )
