"""What the boards of all pages with slots do alike."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, TypeVar

from posviz.parameters import ParameterError, shortened
from posviz.ui import exchange
from posviz.ui.controls import PROFILE, as_sent
from posviz.ui.slots.address import Page, declared, read_address, write_address
from posviz.ui.slots.choice import OFF, choice_key, own_key
from posviz.ui.slots.values import SlottedView, profile_of

V = TypeVar("V", bound=SlottedView)


class SlotsDesk(exchange.Desk[V]):
    """Views of the encodings in the slots of a page."""

    @property
    @abstractmethod
    def page(self) -> Page[V]:
        """The slots, the page's own parameters, and how its views are made."""

    def read_address(self, parameters: Mapping[str, str]) -> tuple[V, list[str]]:
        """The view that an address stands for, and a sentence for all that was not usable in it."""
        return read_address(self.page, parameters)

    def first(self, view: V) -> V:
        """The view with its encodings and all else at its default."""
        return self.page.first(view.chosen)

    def identity(self, view: V) -> object:
        return self.page.slots.names

    def reset(self, view: V) -> V:
        return self.first(view)

    def take(self, view: V, sent: Mapping[str, Any]) -> V:
        return self.page.changed(view, sent)

    def values(self, view: V) -> dict[str, Any]:
        names = [choice_key(slot) for slot in self.page.slots.names]
        values: dict[str, Any] = {name: view.values[name] for name in names}
        for name, declaration in declared(self.page, view).items():
            values[name] = as_sent(declaration, view.values[name])
        for slot, spec in view.specs.items():
            if spec.profiles:
                values[own_key(slot, PROFILE)] = profile_of(spec)
        return values

    def address(self, view: V) -> dict[str, str]:
        return write_address(self.page, view)

    def question(self, view: V) -> dict[str, str]:
        chosen = ",".join(f"{slot}:{encoding}" for slot, encoding in view.chosen.items())
        return {"source": chosen, "layer": ""}

    def opened(self, question: Mapping[str, Any]) -> V:
        source, slots = question.get("source"), self.page.slots
        parts = [part.partition(":") for part in str(source).split(",")]
        named = [(slot, encoding_id) for slot, colon, encoding_id in parts if colon]
        chosen = dict(named)
        if not chosen or not set(chosen) <= set(slots.names):
            raise ParameterError(f"{shortened(source)} names no encodings of this page")
        if len(chosen) < len(named):
            raise ParameterError(f"{shortened(source)} names a slot twice")
        for slot in slots.names:
            slots.check(slot, chosen.get(slot, OFF))
        return self.page.first(chosen)
