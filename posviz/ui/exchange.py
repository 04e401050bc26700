"""One exchange with a live board, whatever page it stands on: what was asked, what is sent.

A page describes itself as a :class:`Desk`: how its view follows from values, and what there is to
show of a view. Sessions, stale parts, refusals, downloads and addresses are the same for all.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar
from urllib.parse import urlencode

from posviz.parameters import ParameterError, is_finite_number, shortened
from posviz.ui.controls import PROFILE
from posviz.ui.panel import Panel, as_csv

V = TypeVar("V")
Panels = Mapping[str, tuple[str, Callable[[], Panel]]]
"""Panel id to the key of its inputs and what makes it. Equal keys stand for equal pictures, so a
panel whose key the browser has is not made."""
Zoom = dict[str, tuple[float, float]]
"""Panel id to the range of x, in the unit of the data, to which its reader has zoomed."""


class Desk(ABC, Generic[V]):
    """What a page with a live board can do with its views."""

    route: ClassVar[str]
    """Where the app's own server answers a moving control; see :mod:`posviz.ui.server`."""

    @abstractmethod
    def identity(self, view: V) -> object:
        """What the page, and not a control, chooses; a change of it makes all controls new."""

    @abstractmethod
    def reset(self, view: V) -> V:
        """The view that the page would have opened with."""

    @abstractmethod
    def take(self, view: V, sent: Mapping[str, Any]) -> V:
        """The view with values that were sent; ParameterError when they cannot be used."""

    def take_moving(self, view: V, sent: Mapping[str, Any]) -> V:
        """The same while a control moves, when nothing but numbers changes: the names of
        implementations are left out, since the switches that they set are all among the values."""
        return self.take(view, without_profiles(sent))

    @abstractmethod
    def values(self, view: V) -> dict[str, Any]:
        """All values of the controls, as the board holds them."""

    @abstractmethod
    def address(self, view: V) -> dict[str, str]:
        """The parameters of an address that restores the view exactly."""

    @abstractmethod
    def question(self, view: V) -> dict[str, str]:
        """What the server needs beside the values to make this view anew."""

    @abstractmethod
    def opened(self, question: Mapping[str, Any]) -> V:
        """The view that a question starts from, before its values are taken."""

    @abstractmethod
    def legend(self, view: V) -> list[dict[str, Any]]:
        """Name and line of every series."""

    @abstractmethod
    def panels(self, view: V) -> Panels:
        """What there is to draw."""

    @abstractmethod
    def controls(self, view: V) -> list[dict[str, Any]]:
        """The groups of controls."""

    @abstractmethod
    def texts(self, view: V) -> list[dict[str, Any]]:
        """Texts to take away."""

    def zoomed(self, view: V, zoom: Mapping[str, tuple[float, float]]) -> V:
        """The view with the finer points of the ranges of x to which a reader has zoomed.

        ``zoom`` holds a range in the unit of the data for each panel that says ``zooms`` and does
        not show its whole range; it may name panels that are gone, which is no error. The key of
        a panel must tell its range, or the browser keeps the points that it has. Panels that are
        not named show all again.
        """
        return view

    def slow(self, view: V) -> Collection[str]:
        """Ids of panels that stay as they are while a control moves, and follow when it rests."""
        return ()

    def autos(self, view: V) -> dict[str, str]:
        """What the parameters that are left out amount to, by the names of their controls."""
        return {}

    @abstractmethod
    def standing(self, view: V) -> object:
        """What decides which controls there are; while it stays, they may lag behind."""


@dataclass
class Session(Generic[V]):
    """What one browser tab has on its page."""

    view: V
    problems: list[str] = field(default_factory=list)
    """Sentences about the address, shown until something is changed."""
    answered: int = 0
    """Number of the last request that was answered."""
    epoch: int = 0
    """Grows whenever the page, and not the person, changes values of controls."""
    described: tuple[Any, ...] = ()
    """Epoch and standing for which the controls were last described."""
    addresses: deque[dict[str, str]] = field(default_factory=lambda: deque(maxlen=64))
    """Addresses that this page wrote lately. The browser shows the newest one when it comes to
    rest, so a rerun may still carry an older one; any other address was opened by the person."""
    refused: str = ""
    """Why the last values could not be used; the plots then show the ones before."""
    zoom: Zoom = field(default_factory=dict)
    """The ranges of x to which the reader has zoomed, as the view has them."""
    focus: str = ""
    """The panel that the page, and not the board, has just pointed at."""
    pointed: int = 0
    """How often the page has pointed at a panel, so that the same one can be pointed at again."""

    def point(self, panel_id: str) -> None:
        """Have the board bring a panel into sight."""
        self.focus = panel_id
        self.pointed += 1

    def open(self, view: V) -> None:
        """Show another view that the page, and not a control, chose."""
        self.view = view
        self.epoch += 1
        self.problems = []
        self.refused = ""
        self.zoom = {}


def answer(desk: Desk[V], session: Session[V], request: Mapping[str, Any] | None) -> dict[str, Any]:
    """The reply to a request, and the session brought up to date."""
    request = request or {}
    number = request.get("seq", 0)
    if isinstance(number, int) and number > session.answered:
        session.answered = number
        session.problems = []
        _apply(desk, session, request)
    return _reply(desk, session, request)


def _apply(desk: Desk[V], session: Session[V], request: Mapping[str, Any]) -> None:
    session.refused = ""
    if request.get("action") == "reset":
        session.view = desk.reset(session.view)
        session.zoom = {}
        session.epoch += 1
        return
    sent = request.get("values") or {}
    try:
        if not isinstance(sent, Mapping):
            raise ParameterError(f"values must be an object; got {shortened(sent)}.")
        zoom = checked_zoom(request.get("zoom", {}))
        session.view = desk.zoomed(desk.take(session.view, sent), zoom)
    except ParameterError as error:
        session.refused = str(error)
        return
    session.zoom = zoom
    now = desk.values(session.view)
    if any(now[name] != value for name, value in sent.items() if name in now):
        session.epoch += 1


def _reply(desk: Desk[V], session: Session[V], request: Mapping[str, Any]) -> dict[str, Any]:
    view = session.view
    panels = desk.panels(view)
    address = desk.address(view)
    if address not in session.addresses:
        session.addresses.append(address)
    reply: dict[str, Any] = {
        "stamp": session.answered,
        "epoch": f"{session.epoch}:{key_of(desk.identity(view))}",
        "problems": _problems(session),
        "address": urlencode(address),
        "direct": {"path": desk.route, "question": desk.question(view)},
        **_picture(desk, view, panels, _held(request)),
        **_slow_parts(desk, session, request),
    }
    if session.zoom:
        reply["zoom"] = session.zoom
    if session.focus:
        reply["focus"] = {"panel": session.focus, "time": session.pointed}
    action = request.get("action")
    if isinstance(action, dict) and request.get("seq") == session.answered:
        try:
            reply["download"] = _download(panels, str(action.get("csv")))
        except ParameterError as error:
            reply["problems"] = [*reply["problems"], _warning(str(error))]
    return reply


def _held(request: Mapping[str, Any]) -> Mapping[str, str]:
    """The panels that the browser has; a request that says nothing usable of them has none."""
    have = request.get("have")
    return have if isinstance(have, Mapping) else {}


def _warning(text: str) -> dict[str, Any]:
    return {"control": None, "severity": "warn", "text": text}


def live_answer(desk: Desk[V], question: Mapping[str, Any]) -> dict[str, Any]:
    """Panels for the values that a board holds now: a pure function of the question.

    Descriptions of controls and texts to take away are left to the page, which is asked at rest
    (``later``). Values that cannot be used are named, and the board keeps its pictures.

    Raises
    ------
    ValueError : the question names nothing that the page can open, or no ranges as its zoom.
    """
    have = question.get("have") or {}
    values = question.get("values") or {}
    reply = {
        "stamp": question.get("seq", 0),
        "epoch": question.get("epoch", ""),
        "controls_key": question.get("controls_key", ""),
        "texts_key": question.get("texts_key", ""),
        "later": True,
    }
    zoom = checked_zoom(question.get("zoom", {}))
    opened = desk.opened(question)
    try:
        view = desk.zoomed(desk.take_moving(opened, values), zoom)
    except ParameterError as error:
        unchanged = [{"id": panel_id, "key": key} for panel_id, key in have.items()]
        return reply | {"problems": [_refusal(str(error))], "panels": unchanged, "values": values}
    return reply | {
        "problems": [],
        "address": urlencode(desk.address(view)),
        "autos": desk.autos(view),
        **_picture(desk, view, desk.panels(view), have, waiting=desk.slow(view)),
    }


def _picture(
    desk: Desk[V],
    view: V,
    panels: Panels,
    have: Mapping[str, str],
    waiting: Collection[str] = (),
) -> dict[str, Any]:
    """What the panels show; one whose key the browser has is named only, and so is one that waits
    and was drawn before: its old key has the browser ask for it at rest."""
    return {
        "values": desk.values(view),
        "legend": desk.legend(view),
        "panels": [
            {"id": panel_id, "key": have[panel_id]}
            if panel_id in have and (have[panel_id] == key or panel_id in waiting)
            else make().packed(key)
            for panel_id, (key, make) in panels.items()
        ],
    }


def _slow_parts(desk: Desk[V], session: Session[V], request: Mapping[str, Any]) -> dict[str, Any]:
    """Controls and texts: brought up to date at rest, and at once where the methods changed.

    While a slider moves they are left as they are, and ``later`` has the browser ask again.
    """
    standing = (session.epoch, desk.standing(session.view))
    hasty = not request.get("rest") and standing == session.described
    held = {"controls_key": request.get("controls_key"), "texts_key": request.get("texts_key")}
    if hasty and all(held.values()):
        return {**held, "later": True, "autos": desk.autos(session.view)}
    session.described = standing
    controls, blocks = desk.controls(session.view), desk.texts(session.view)
    keys = {"controls_key": key_of(controls), "texts_key": key_of(blocks)}
    fresh = {"controls": controls, "texts": blocks}
    return keys | {
        name: part for name, part in fresh.items() if held[f"{name}_key"] != keys[f"{name}_key"]
    }


def _refusal(sentence: str) -> dict[str, Any]:
    """What the board says of values that could not be used."""
    text = f"{sentence} The plots still show the settings before."
    return {"control": None, "severity": "error", "text": text}


def _problems(session: Session[V]) -> list[dict[str, Any]]:
    problems = [_warning(text) for text in session.problems]
    if session.refused:
        problems.append(_refusal(session.refused))
    return problems


def checked_zoom(sent: object) -> Zoom:
    """Ranges of x by panel, as they were sent.

    Raises
    ------
    ParameterError : not an object of two finite numbers each, the smaller one first.
    """
    if not isinstance(sent, Mapping):
        raise ParameterError(f"zoom must be an object of ranges, got {shortened(sent)}.")
    return {str(panel_id): _range(str(panel_id), ends) for panel_id, ends in sent.items()}


def _range(panel_id: str, ends: object) -> tuple[float, float]:
    if isinstance(ends, list | tuple) and len(ends) == 2 and all(map(is_finite_number, ends)):
        low, high = map(float, ends)
        if low < high:
            return low, high
    raise ParameterError(
        f"zoom of {shortened(panel_id)} must be two finite numbers, the smaller one first, "
        f"got {shortened(ends)}."
    )


def without_profiles(sent: Mapping[str, Any]) -> dict[str, Any]:
    """What was sent, less the names of implementations."""
    return {name: raw for name, raw in sent.items() if name.rpartition(".")[2] != PROFILE}


def key_of(value: object) -> str:
    """A short name for anything that ``repr`` writes out."""
    return hashlib.blake2b(repr(value).encode(), digest_size=8).hexdigest()


def _download(panels: Panels, panel_id: str) -> dict[str, str]:
    if panel_id not in panels:
        raise ParameterError(
            f"There is no panel {shortened(panel_id)} now; known: {', '.join(panels)}."
        )
    return {
        "name": f"posviz-{panel_id}.csv",
        "mime": "text/csv",
        "text": as_csv(panels[panel_id][1]()),
    }
