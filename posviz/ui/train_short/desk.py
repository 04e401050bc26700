"""The page as its board sees it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from posviz.figures import theme
from posviz.lab.training.plan import Plan
from posviz.ui import exchange
from posviz.ui.slots.address import Page, read_address, write_address
from posviz.ui.slots.desk import SlotsDesk
from posviz.ui.train_short import panels
from posviz.ui.train_short.groups import groups
from posviz.ui.train_short.reading import READING
from posviz.ui.train_short.texts import texts
from posviz.ui.train_short.view import DEFAULTS, SLOTS, View, changed, first_view


class TrainShort(SlotsDesk[View]):
    """Views of up to six encodings under one plan of training."""

    route: ClassVar[str] = "posviz/train_short"

    @property
    def page(self) -> Page[View]:
        return _page(None)

    def read_address(self, parameters: Mapping[str, str]) -> tuple[View, list[str]]:
        return read_address(_page(parameters.get("task")), parameters)

    def address(self, view: View) -> dict[str, str]:
        """Only what differs from the view that the task opens with, and the task itself where it
        is not the usual one: it brings its own number of steps."""
        task = view.values["task"]
        named = {} if task == Plan().task else {"task": task}
        return named | write_address(_page(task), view)

    def reset(self, view: View) -> View:
        """All at its default; trainings of this session are not forgotten."""
        return replace(self.first(view), trained=view.trained, extended=view.extended)

    def legend(self, view: View) -> list[dict[str, Any]]:
        return [
            {"name": item.label, "title": item.link, **theme.line(item.color)}
            for item in view.shown
        ]

    def panels(self, view: View) -> exchange.Panels:
        return panels.panels(view)

    def controls(self, view: View) -> list[dict[str, Any]]:
        return groups(view, _page(view.values["task"]).first(view.chosen))

    def texts(self, view: View) -> list[dict[str, Any]]:
        return texts(view)

    def standing(self, view: View) -> object:
        return tuple(view.chosen.items()), view.values["task"]


def _page(task: Any) -> Page[View]:
    """The page whose first view is that of a task."""
    return Page(
        slots=SLOTS,
        defaults=DEFAULTS,
        reading=READING,
        first=functools.partial(first_view, task=task),
        changed=changed,
    )


DESK = TrainShort()
