"""One exchange with the live board: what the browser asked, what it gets."""

from __future__ import annotations

import csv
import hashlib
import io
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import numpy as np

from posviz.configs import Model
from posviz.figures import theme
from posviz.parameters import ParameterError
from posviz.ui.context_extension.address import write_address
from posviz.ui.context_extension.groups import autos, groups
from posviz.ui.context_extension.panels import Panel, Scene, board_panels, named, scene
from posviz.ui.context_extension.texts import texts
from posviz.ui.context_extension.view import (
    NO_PROFILES,
    OFF,
    PROFILE,
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
from posviz.ui.controls import as_sent

ROUTE = "posviz/context_extension"
"""Where the app's own server answers a moving control; see :mod:`posviz.ui.server`."""


@dataclass
class Session:
    """What one browser tab has on its page."""

    view: View
    problems: list[str] = field(default_factory=list)
    """Sentences about the address, shown until something is changed."""
    answered: int = 0
    """Number of the last request that was answered."""
    epoch: int = 0
    """Grows whenever the page, and not the person, changes values of controls."""
    described: tuple[Any, ...] = ()
    """Epoch and methods for which the controls were last described."""
    addresses: deque[dict[str, str]] = field(default_factory=lambda: deque(maxlen=64))
    """Addresses that this page wrote lately. The browser shows the newest one when it comes to
    rest, so a rerun may still carry an older one; any other address was opened by the person."""
    unread: str = ""
    """Why the text that was pasted is no configuration."""
    rejected: tuple[Model, str] | None = None
    """A configuration that was read but cannot be drawn, and why."""
    refused: str = ""
    """Why the last values could not be used; the plots then show the ones before."""


def answer(session: Session, request: Mapping[str, Any] | None) -> dict[str, Any]:
    """The reply to a request, and the session brought up to date."""
    request = request or {}
    number = request.get("seq", 0)
    if isinstance(number, int) and number > session.answered:
        session.answered = number
        session.problems = []
        _apply(session, request)
    return _reply(session, request)


def _apply(session: Session, request: Mapping[str, Any]) -> None:
    session.refused = ""
    if request.get("action") == "reset":
        session.view = first_view(session.view.source, session.view.model, session.view.layer_type)
        session.epoch += 1
        return
    before = session.view
    try:
        sent = _still_meant(before, request.get("values") or {})
        view, errors = changed(before, sent)
        if errors:
            raise errors[0]
        session.view = checked(cursor_kept(view))
    except ParameterError as error:
        session.refused = str(error)
        return
    now = sent_values(session.view)
    if any(now[name] != value for name, value in sent.items() if name in now):
        session.epoch += 1


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


def _reply(session: Session, request: Mapping[str, Any]) -> dict[str, Any]:
    view = session.view
    at = scene(view)
    address = write_address(view)
    if address not in session.addresses:
        session.addresses.append(address)
    reply: dict[str, Any] = {
        "stamp": session.answered,
        "epoch": f"{session.epoch}:{_key((view.source, view.layer_type))}",
        "problems": _problems(session),
        "address": urlencode(address),
        "direct": {"path": ROUTE, "question": {"source": view.source, "layer": view.layer_type}},
        **picture(view, at, request.get("have") or {}),
        **_slow_parts(session, request),
    }
    action = request.get("action")
    if isinstance(action, dict) and request.get("seq") == session.answered:
        reply["download"] = _download(at, str(action.get("csv")))
    return reply


def picture(view: View, at: Scene, have: Mapping[str, str]) -> dict[str, Any]:
    """What the panels show; one whose key the browser has is named only."""
    return {
        "values": sent_values(view),
        "legend": [
            {"name": item.label, "title": item.label, **theme.line(item.slot)}
            for item in at.methods
        ],
        "panels": [
            {"id": panel_id, "key": key}
            if have.get(panel_id) == key
            else named(make(at), at).packed(key)
            for panel_id, (key, make) in board_panels(at).items()
        ],
    }


def _slow_parts(session: Session, request: Mapping[str, Any]) -> dict[str, Any]:
    """Controls and texts: brought up to date at rest, and at once where the methods changed.

    While a slider moves they are left as they are, and ``later`` has the browser ask again.
    """
    standing = (session.epoch, tuple(session.view.methods.items()))
    hasty = not request.get("rest") and standing == session.described
    held = {"controls_key": request.get("controls_key"), "texts_key": request.get("texts_key")}
    if hasty and all(held.values()):
        return {**held, "later": True, "autos": autos(session.view)}
    session.described = standing
    controls, blocks = groups(session.view), texts(session.view)
    keys = {"controls_key": _key(controls), "texts_key": _key(blocks)}
    fresh = {"controls": controls, "texts": blocks}
    return keys | {
        name: part for name, part in fresh.items() if held[f"{name}_key"] != keys[f"{name}_key"]
    }


def sent_values(view: View) -> dict[str, Any]:
    """All values of the controls, as the board holds them."""
    values: dict[str, Any] = {slot: view.values[slot] for slot in SLOTS}
    for name, value in view.values.items():
        found = declaration_of(name, view.values)
        if found is not None:
            values[name] = as_sent(found[0], value)
    for slot in view.methods:
        values[f"{slot}.{PROFILE}"] = profile_of(view.spec(slot))
    values.update({name: view.values[name] for name in NO_PROFILES})
    return values


def refusal(sentence: str) -> dict[str, Any]:
    """What the board says of values that could not be used."""
    text = f"{sentence} The plots still show the settings before."
    return {"control": None, "severity": "error", "text": text}


def _problems(session: Session) -> list[dict[str, Any]]:
    problems = [{"control": None, "severity": "warn", "text": text} for text in session.problems]
    if session.refused:
        problems.append(refusal(session.refused))
    return problems


def _key(value: Any) -> str:
    return hashlib.blake2b(repr(value).encode(), digest_size=8).hexdigest()


def _download(at: Any, panel_id: str) -> dict[str, str]:
    known = board_panels(at)
    if panel_id not in known:
        raise ParameterError(f"There is no panel {panel_id!r}; known: {', '.join(known)}.")
    panel = known[panel_id][1](at)
    return {"name": f"posviz-{panel_id}.csv", "mime": "text/csv", "text": as_csv(panel)}


def _write_map(writer: Any, trace: Mapping[str, Any], axes: list[str]) -> None:
    """A map as a table: keys across, queries down, blank where there is no score."""
    writer.writerow([f"{axes[1]} \\ {axes[0]}", *(x.item() for x in np.asarray(trace["x"]))])
    for y, row in zip(np.asarray(trace["y"]), np.asarray(trace["z"]), strict=True):
        writer.writerow([y.item(), *("" if np.isnan(z) else z.item() for z in row)])


def as_csv(panel: Panel) -> str:
    """The numbers that a panel draws, in full precision, one row per point."""
    axes = [panel.figure.layout[name]["title"]["text"] for name in ("xaxis", "yaxis")]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    if "z" in panel.figure.data[0]:
        _write_map(writer, panel.figure.data[0], axes)
        return out.getvalue()
    writer.writerow(["series", axes[0] or "x", axes[1] or "y"])
    for trace in panel.figure.data:
        for x, y in zip(np.asarray(trace["x"]), np.asarray(trace["y"]), strict=True):
            writer.writerow([trace["name"], x.item(), y.item()])
    return out.getvalue()
