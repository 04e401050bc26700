"""The state of a board of results as an address, and back.

Only what differs from the first view is written, under the names of the parameters:
``?encoding=alibi&heads=16&head=3``, or ``?a=rope&b=xpos&b.scale_base=256``.
"""

from __future__ import annotations

from collections.abc import Mapping

from posviz.catalog import get
from posviz.parameters import Declaration, ParameterError, shortened
from posviz.ui.results_board.view import (
    OFF,
    READING,
    View,
    changed,
    choice_key,
    first_view,
    own_key,
)


def declared(view: View) -> dict[str, Declaration]:
    """The declaration behind every value of a view but the choices of encodings."""
    found = dict(READING)
    for slot, encoding_id in view.chosen.items():
        for declaration in get(encoding_id).declarations():
            found[own_key(slot, declaration.name)] = declaration
    return found


def write_address(view: View, defaults: Mapping[str, str]) -> dict[str, str]:
    """The parameters that restore a view exactly; ``defaults`` is what the page opens with."""
    first = first_view(view.chosen, view.slots)
    parameters = {}
    for slot in view.slots:
        chosen = view.values[choice_key(slot)]
        if chosen != defaults.get(slot, OFF):
            parameters[choice_key(slot)] = chosen
    for name, declaration in declared(view).items():
        if view.values[name] != first.values[name]:
            parameters[name] = declaration.format(view.values[name])
    return parameters


def read_address(
    parameters: Mapping[str, str], defaults: Mapping[str, str], slots: tuple[str, ...]
) -> tuple[View, list[str]]:
    """The view that an address stands for, and a sentence for all that was not usable in it."""
    problems: list[str] = []
    chosen = {slot: parameters.get(choice_key(slot), defaults.get(slot, OFF)) for slot in slots}
    for slot, encoding_id in chosen.items():
        try:
            # Only the slots beyond the first two can stand empty.
            if encoding_id != OFF or slot not in ("c", "d"):
                get(encoding_id)
        except ParameterError as error:
            problems.append(f"From the address: {error} The page opened with another one.")
            chosen[slot] = defaults.get(slot, OFF)
    view = first_view(chosen, slots)
    known = declared(view)
    choices = {choice_key(slot) for slot in slots}
    settings = {name: raw for name, raw in parameters.items() if name not in choices}
    for name in [name for name in settings if name not in known]:
        problems.append(
            f"From the address: this page knows no setting {shortened(name)}, so it was not used."
        )
        del settings[name]
    try:
        return changed(view, settings), problems
    except ParameterError:
        return _with_what_fits(view, settings, problems), problems


def _with_what_fits(view: View, settings: Mapping[str, str], problems: list[str]) -> View:
    """One setting after the other; what does not fit is reported."""
    for name, raw in settings.items():
        try:
            view = changed(view, {name: raw})
        except ParameterError as error:
            problems.append(f"From the address: {error} It was not used.")
    return view
