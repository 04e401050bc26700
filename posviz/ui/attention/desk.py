"""The page as its board sees it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from posviz.figures import theme
from posviz.ui import exchange
from posviz.ui.attention import panels
from posviz.ui.attention.groups import groups
from posviz.ui.attention.reading import READING
from posviz.ui.attention.texts import texts
from posviz.ui.attention.view import DEFAULTS, SLOTS, View, changed, first_view
from posviz.ui.slots.address import Page
from posviz.ui.slots.desk import SlotsDesk

_LEAD = ("heads", "matrix", "key_share", "query_entropy", "precision", "bases", "bounds")
SLOW = ("resolution", "receptive", *_LEAD)
"""Panels that follow when a control comes to rest: each takes as long as all the others."""


class Attention(SlotsDesk[View]):
    """Views of up to six encodings at one context length."""

    route: ClassVar[str] = "posviz/attention"

    @property
    def page(self) -> Page[View]:
        return Page(
            slots=SLOTS, defaults=DEFAULTS, reading=READING, first=first_view, changed=changed
        )

    def zoomed(self, view: View, zoom: Mapping[str, tuple[float, float]]) -> View:
        known = {name: zoom[name] for name in ("decay", "weights") if name in zoom}
        return replace(view, zooms=known)

    def legend(self, view: View) -> list[dict[str, Any]]:
        return [
            {"name": item.label, "title": item.label, **theme.line(item.color)}
            for item in view.shown
        ]

    def panels(self, view: View) -> exchange.Panels:
        return panels.panels(view)

    def slow(self, view: View) -> Collection[str]:
        return SLOW

    def controls(self, view: View) -> list[dict[str, Any]]:
        return groups(view, self.first(view))

    def texts(self, view: View) -> list[dict[str, Any]]:
        return texts(view)

    def standing(self, view: View) -> object:
        at = view.reading
        return tuple(view.chosen.items()), at.content, at.question, at.lead


DESK = Attention()
