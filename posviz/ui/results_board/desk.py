"""A board of results as the exchange sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from posviz.figures import theme
from posviz.parameters import ParameterError
from posviz.ui import exchange
from posviz.ui.controls import PROFILE, as_sent
from posviz.ui.results_board.address import declared, write_address
from posviz.ui.results_board.groups import groups
from posviz.ui.results_board.panels import shown
from posviz.ui.results_board.texts import texts
from posviz.ui.results_board.view import (
    View,
    changed,
    choice_key,
    first_view,
    own_key,
    profile_of,
)


class ResultsDesk(exchange.Desk[View]):
    """Views of one or several encodings."""

    slots: ClassVar[tuple[str, ...]]
    defaults: ClassVar[Mapping[str, str]]
    """Slot to the encoding that the page opens with."""

    def first(self, view: View) -> View:
        """The view with its encodings and all else at its default."""
        return first_view(view.chosen, self.slots)

    def identity(self, view: View) -> object:
        return tuple(view.chosen.items()) if self.slots == ("",) else self.slots

    def reset(self, view: View) -> View:
        return self.first(view)

    def take(self, view: View, sent: Mapping[str, Any]) -> View:
        return changed(view, sent)

    def values(self, view: View) -> dict[str, Any]:
        values: dict[str, Any] = {
            choice_key(slot): view.values[choice_key(slot)] for slot in self.slots
        }
        for name, declaration in declared(view).items():
            values[name] = as_sent(declaration, view.values[name])
        for slot, spec in view.specs.items():
            if spec.profiles:
                values[own_key(slot, PROFILE)] = profile_of(spec)
        return values

    def address(self, view: View) -> dict[str, str]:
        return write_address(view, self.defaults)

    def question(self, view: View) -> dict[str, str]:
        chosen = ",".join(f"{slot}:{encoding}" for slot, encoding in view.chosen.items())
        return {"source": chosen, "layer": ""}

    def opened(self, question: Mapping[str, Any]) -> View:
        parts = [part.partition(":") for part in str(question.get("source")).split(",")]
        chosen = {slot: encoding for slot, colon, encoding in parts if colon}
        if not chosen or not set(chosen) <= set(self.slots):
            raise ParameterError(f"{question.get('source')!r} names no encodings of this page")
        return first_view(chosen, self.slots)

    def legend(self, view: View) -> list[dict[str, Any]]:
        return [
            {"name": item.label, "title": item.label, **theme.line(item.color)}
            for item in shown(view)
        ]

    def controls(self, view: View) -> list[dict[str, Any]]:
        return groups(view, self.first(view))

    def texts(self, view: View) -> list[dict[str, Any]]:
        return texts(view)

    def standing(self, view: View) -> object:
        return tuple(view.chosen.items()), view.count
