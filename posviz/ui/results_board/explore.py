"""One encoding: every figure that accepts its result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from posviz.ui import exchange
from posviz.ui.results_board.desk import ResultsDesk
from posviz.ui.results_board.panels import one_panels
from posviz.ui.results_board.view import ONE, View
from posviz.ui.slots.choice import Slots


class Explore(ResultsDesk):
    """Views of one encoding."""

    route: ClassVar[str] = "posviz/explore"
    slots: ClassVar[Slots] = ONE
    defaults: ClassVar[Mapping[str, str]] = {"": "sinusoidal"}

    def identity(self, view: View) -> object:
        # The page, and not a control of the board, chooses the encoding.
        return tuple(view.chosen.items())

    def legend(self, view: View) -> list[dict[str, Any]]:
        # Every figure names its own lines; there is nothing that all of them share.
        return []

    def panels(self, view: View) -> exchange.Panels:
        return one_panels(view)


DESK = Explore()
