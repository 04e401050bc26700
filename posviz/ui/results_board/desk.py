"""A board of results as the exchange sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from posviz.figures import theme
from posviz.ui.results_board.groups import groups
from posviz.ui.results_board.panels import shown
from posviz.ui.results_board.texts import texts
from posviz.ui.results_board.view import READING, View, changed, first_view
from posviz.ui.slots.address import Page
from posviz.ui.slots.choice import Slots
from posviz.ui.slots.desk import SlotsDesk


class ResultsDesk(SlotsDesk[View]):
    """Views of one or several encodings."""

    slots: ClassVar[Slots]
    defaults: ClassVar[Mapping[str, str]]
    """Slot to the encoding that the page opens with."""

    @property
    def page(self) -> Page[View]:
        return Page(
            slots=self.slots,
            defaults=self.defaults,
            reading=READING,
            first=lambda chosen: first_view(chosen, self.slots),
            changed=changed,
        )

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
