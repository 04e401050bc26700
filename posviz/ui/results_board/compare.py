"""Two to four encodings on the same axes and colour scales."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from posviz.ui import exchange
from posviz.ui.results_board.desk import ResultsDesk
from posviz.ui.results_board.panels import several_panels
from posviz.ui.results_board.view import SEVERAL, View
from posviz.ui.slots.choice import Slots


class Compare(ResultsDesk):
    """Views of two to four encodings."""

    route: ClassVar[str] = "posviz/compare"
    slots: ClassVar[Slots] = SEVERAL
    defaults: ClassVar[Mapping[str, str]] = {"a": "alibi", "b": "kerple_log"}

    def panels(self, view: View) -> exchange.Panels:
        return several_panels(view)


DESK = Compare()
