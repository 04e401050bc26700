"""The state of a page with slots as an address, and back.

Only what differs from the first view is written, under the names of the parameters:
``?encoding=alibi&heads=16&head=3``, or ``?a=rope&b=xpos&b.scale_base=256``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from posviz.catalog import get
from posviz.parameters import Declaration, ParameterError, shortened
from posviz.ui.slots.choice import OFF, Slots, choice_key, own_key
from posviz.ui.slots.values import SlottedView

V = TypeVar("V", bound=SlottedView)


@dataclass(frozen=True)
class Page(Generic[V]):
    """What a page with slots says of itself."""

    slots: Slots
    defaults: Mapping[str, str]
    """Slot to the encoding that the page opens with; a slot that is not named opens empty."""
    reading: Mapping[str, Declaration]
    """The page's own parameters, which belong to no slot."""
    first: Callable[[Mapping[str, str]], V]
    """The view that a choice of encodings opens with, all else at its default."""
    changed: Callable[[V, Mapping[str, Any]], V]
    """The view with values that were sent; ParameterError when they cannot be used."""


def declared(page: Page[V], view: V) -> dict[str, Declaration]:
    """The declaration behind every value of a view but the choices of encodings."""
    found = dict(page.reading)
    for slot, encoding_id in view.chosen.items():
        for declaration in get(encoding_id).declarations():
            found[own_key(slot, declaration.name)] = declaration
    return found


def write_address(page: Page[V], view: V) -> dict[str, str]:
    """The parameters that restore a view exactly."""
    first = page.first(view.chosen)
    parameters = {}
    for slot in page.slots.names:
        chosen = view.values[choice_key(slot)]
        if chosen != page.defaults.get(slot, OFF):
            parameters[choice_key(slot)] = chosen
    for name, declaration in declared(page, view).items():
        if view.values[name] != first.values[name]:
            parameters[name] = declaration.format(view.values[name])
    return parameters


def read_address(page: Page[V], parameters: Mapping[str, str]) -> tuple[V, list[str]]:
    """The view that an address stands for, and a sentence for all that was not usable in it."""
    problems: list[str] = []
    view = page.first(_choices(page, parameters, problems))
    known = declared(page, view)
    choices = {choice_key(slot) for slot in page.slots.names}
    settings = {name: raw for name, raw in parameters.items() if name not in choices}
    for name in [name for name in settings if name not in known]:
        problems.append(
            f"From the address: this page knows no setting {shortened(name)}, so it was not used."
        )
        del settings[name]
    try:
        return page.changed(view, settings), problems
    except ParameterError:
        return _with_what_fits(page, view, settings, problems), problems


def _choices(page: Page[V], parameters: Mapping[str, str], problems: list[str]) -> dict[str, str]:
    """Which encodings stand in the slots; one that cannot is replaced by the page's own."""
    chosen = {}
    for slot in page.slots.names:
        default = page.defaults.get(slot, OFF)
        chosen[slot] = parameters.get(choice_key(slot), default)
        try:
            page.slots.check(slot, chosen[slot])
        except ParameterError as error:
            opened = "with none there" if default == OFF else "with another one"
            problems.append(f"From the address: {error} The page opened {opened}.")
            chosen[slot] = default
    return chosen


def _with_what_fits(page: Page[V], view: V, settings: Mapping[str, str], problems: list[str]) -> V:
    """One setting after the other; what does not fit is reported."""
    for name, raw in settings.items():
        try:
            view = page.changed(view, {name: raw})
        except ParameterError as error:
            problems.append(f"From the address: {error} It was not used.")
    return view
