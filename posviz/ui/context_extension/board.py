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
from posviz.ui.context_extension.groups import groups
from posviz.ui.context_extension.panels import Panel, board_panels, scene
from posviz.ui.context_extension.texts import texts
from posviz.ui.context_extension.view import (
    SLOTS,
    View,
    changed,
    checked,
    declaration_of,
    first_view,
)
from posviz.ui.controls import as_sent


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
    addresses: deque[dict[str, str]] = field(default_factory=lambda: deque(maxlen=64))
    """Addresses that this page wrote lately. The browser shows the newest one when it comes to
    rest, so a rerun may still carry an older one; any other address was opened by the person."""
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
    view, errors = changed(before, request.get("values") or {})
    try:
        if errors:
            raise errors[0]
        session.view = checked(_cursor_kept(view))
    except ParameterError as error:
        session.refused = str(error)
        return
    if session.view.methods != before.methods or session.view.values["pair"] != view.values["pair"]:
        session.epoch += 1


def _cursor_kept(view: View) -> View:
    """The cursor on the last pair when the pairs have become fewer."""
    pairs = min(spec.pairs for spec in (view.unscaled, *view.specs().values()))
    return view if view.values["pair"] < pairs else view.with_value("pair", pairs - 1)


def _reply(session: Session, request: Mapping[str, Any]) -> dict[str, Any]:
    view = session.view
    have = request.get("have") or {}
    at = scene(view)
    panels = [
        {"id": panel_id, "key": key} if have.get(panel_id) == key else make(at).packed(key)
        for panel_id, (key, make) in board_panels(at).items()
    ]
    address = write_address(view)
    if address not in session.addresses:
        session.addresses.append(address)
    controls = groups(view)
    blocks = texts(view)
    reply: dict[str, Any] = {
        "stamp": session.answered,
        "epoch": f"{session.epoch}:{view.source}:{view.layer_type}",
        "values": sent_values(view),
        "problems": _problems(session),
        "panels": panels,
        "controls_key": _key(controls),
        "texts_key": _key(blocks),
        "legend": _legend(at),
        "address": "?" + urlencode(address),
    }
    if request.get("controls_key") != reply["controls_key"]:
        reply["controls"] = controls
    if request.get("texts_key") != reply["texts_key"]:
        reply["texts"] = blocks
    action = request.get("action")
    if isinstance(action, dict) and request.get("seq") == session.answered:
        reply["download"] = _download(at, str(action.get("csv")))
    return reply


def sent_values(view: View) -> dict[str, Any]:
    """All values of the controls, as the board holds them."""
    values: dict[str, Any] = {slot: view.values[slot] for slot in SLOTS}
    for name, value in view.values.items():
        found = declaration_of(name, view.values)
        if found is not None:
            values[name] = as_sent(found[0], value)
    profiles = view.profiles()
    if profiles is not None:
        values.update(profile_a=profiles.first[0], profile_b=profiles.second[0])
    return values


def _problems(session: Session) -> list[dict[str, Any]]:
    problems = [{"control": None, "severity": "warn", "text": text} for text in session.problems]
    if session.refused:
        kept = "The plots still show the settings before."
        problems.append({"control": None, "severity": "error", "text": f"{session.refused} {kept}"})
    return problems


def _legend(at: Any) -> list[dict[str, Any]]:
    return [
        {"name": item.label, "title": item.label, **theme.line(item.slot)} for item in at.methods
    ]


def _key(value: Any) -> str:
    return hashlib.blake2b(repr(value).encode(), digest_size=8).hexdigest()


def _download(at: Any, panel_id: str) -> dict[str, str]:
    known = board_panels(at)
    if panel_id not in known:
        raise ParameterError(f"There is no panel {panel_id!r}; known: {', '.join(known)}.")
    panel = known[panel_id][1](at)
    return {"name": f"posviz-{panel_id}.csv", "mime": "text/csv", "text": as_csv(panel)}


def as_csv(panel: Panel) -> str:
    """The numbers that a panel draws, in full precision, one row per point."""
    axes = [panel.figure.layout[name]["title"]["text"] for name in ("xaxis", "yaxis")]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["series", axes[0] or "x", axes[1] or "y"])
    for trace in panel.figure.data:
        for x, y in zip(np.asarray(trace["x"]), np.asarray(trace["y"]), strict=True):
            writer.writerow([trace["name"], x.item(), y.item()])
    return out.getvalue()
