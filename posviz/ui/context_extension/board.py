"""The page as its board sees it: views, panels, controls and texts."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from posviz.configs import Model
from posviz.figures import theme
from posviz.ui import exchange
from posviz.ui.context_extension.address import model_of, write_address
from posviz.ui.context_extension.groups import autos, groups
from posviz.ui.context_extension.pad import is_at_hand, pad_of
from posviz.ui.context_extension.panels import board_panels, named, scene
from posviz.ui.context_extension.texts import texts
from posviz.ui.context_extension.view import (
    NO_PROFILES,
    OFF,
    SLOTS,
    View,
    changed,
    checked,
    cursor_kept,
    declaration_of,
    first_view,
    methods_on_offer,
    own_declarations,
    profile_of,
)
from posviz.ui.controls import PROFILE, as_sent


@dataclass
class Session(exchange.Session[View]):
    """What one browser tab has on its page."""

    unread: str = ""
    """Why the text that was pasted is no configuration."""
    rejected: tuple[Model, str] | None = None
    """A configuration that was read but cannot be drawn, and why."""
    changes: list[tuple[str, View, tuple[Model, str] | None]] = field(default_factory=list)
    """Changes that were made by a click, oldest first: the code of the diagnosis, and the view and
    the rejected configuration before it."""
    read_text: str = ""
    """The text that was read last, so that a new one beside a file is noticed."""
    uploads: int = 0
    """How many files were read; each empties the place for the next."""
    unread_second: str = ""
    """Why the text that was pasted as the second configuration is none."""

    def open(self, view: View) -> None:
        """Show another model; the second configuration and the report's question stay beside it."""
        super().open(view.beside(self.view))


class ContextExtension(exchange.Desk[View]):
    """Views of one model with up to four methods."""

    route: ClassVar[str] = "posviz/context_extension"

    def identity(self, view: View) -> object:
        return view.source, view.layer_type

    def reset(self, view: View) -> View:
        first = first_view(view.source, view.model, view.layer_type)
        return first.beside(view)

    def take(self, view: View, sent: Mapping[str, Any]) -> View:
        return _taken(view, _still_meant(view, sent))

    def take_moving(self, view: View, sent: Mapping[str, Any]) -> View:
        # Methods stay as they are while a number moves, so all that was sent is meant.
        return _taken(view, exchange.without_profiles(sent))

    def values(self, view: View) -> dict[str, Any]:
        values: dict[str, Any] = {slot: view.values[slot] for slot in SLOTS}
        for name, value in view.values.items():
            found = declaration_of(name, view.values)
            if found is not None:
                values[name] = as_sent(found[0], value)
        for slot in view.methods:
            values[f"{slot}.{PROFILE}"] = profile_of(view.spec(slot))
        values.update({name: view.values[name] for name in NO_PROFILES})
        return values

    def address(self, view: View) -> dict[str, str]:
        return write_address(view)

    def question(self, view: View) -> dict[str, str]:
        return {
            "source": view.source,
            "layer": view.layer_type,
            "compared": view.compared,
            "runtime": view.runtime,
            "wanted": "" if view.wanted is None else str(view.wanted),
        }

    def opened(self, question: Mapping[str, Any]) -> View:
        view = _opened(str(question.get("source")), str(question.get("layer")))
        texts = {name: str(question.get(name, "")) for name in ("compared", "runtime", "wanted")}
        wanted = int(texts["wanted"]) if texts["wanted"].isdecimal() else None
        return replace(view, compared=texts["compared"], runtime=texts["runtime"], wanted=wanted)

    def legend(self, view: View) -> list[dict[str, Any]]:
        return [
            {"name": item.label, "title": item.label, **theme.line(item.slot)}
            for item in scene(view).methods
        ]

    def panels(self, view: View) -> exchange.Panels:
        at = scene(view)
        return {
            panel_id: (key, lambda make=make: named(make(at), at))  # type: ignore[misc]
            for panel_id, (key, make) in board_panels(at).items()
        }

    def slow(self, view: View) -> tuple[str, ...]:
        """A map of some thousand specs waits for rest; a point on a map that is there does not."""
        pad = pad_of(view)
        return () if pad is None or is_at_hand(pad) else ("cost_pad",)

    def controls(self, view: View) -> list[dict[str, Any]]:
        return groups(view)

    def texts(self, view: View) -> list[dict[str, Any]]:
        return texts(view)

    def autos(self, view: View) -> dict[str, str]:
        return autos(view)

    def standing(self, view: View) -> object:
        return tuple(view.methods.items())


DESK = ContextExtension()


@functools.lru_cache(maxsize=64)
def _opened(source: str, layer_type: str) -> View:
    return first_view(source, model_of(source), layer_type)


def answer(session: Session, request: Mapping[str, Any] | None) -> dict[str, Any]:
    """The reply to a request, and the session brought up to date."""
    return exchange.answer(DESK, session, request)


def _taken(view: View, sent: Mapping[str, Any]) -> View:
    view, errors = changed(view, sent)
    if errors:
        raise errors[0]
    return checked(cursor_kept(view))


def _still_meant(view: View, sent: Mapping[str, Any]) -> dict[str, Any]:
    """What was sent, less the values that belong to a method which is being replaced.

    A value stays where the new method declares the same parameter: beta_fast moves along from
    NTK-by-parts to YaRN.
    """
    kept = dict(sent)
    for slot in SLOTS:
        old, new = view.values[slot], sent.get(slot, view.values[slot])
        if old in (new, OFF) or new not in methods_on_offer():
            continue
        common = set(own_declarations(old)) & set(own_declarations(new))
        names = {declaration.name for declaration in common}
        for name in sent:
            if name.startswith(f"{slot}.") and name.partition(".")[2] not in names:
                del kept[name]
    return kept
