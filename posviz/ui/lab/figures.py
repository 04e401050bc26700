"""Figures that change while a job runs, drawn into the page as it stands.

A native chart is taken away and made anew whenever its numbers change, which blinks and loses a
zoom. The board of the other pages, without its controls, stays and draws the new numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import streamlit as st

from posviz.ui.live import board, last_request, pack
from posviz.ui.panel import Panel, as_csv

STATE = "posviz-figures"
TIMES = 5
"""How often the numbers that a request wants are sent. While a job runs a reply comes every second,
and a newer one may take the place of one that the browser has not seen; it saves the first."""


def figures_in_place(key: str, panels: Sequence[Panel]) -> None:
    """Show figures, two beside each other where there is room; call it again with newer ones.

    ``key`` is the board's own on its page. A panel stays in place for as long as its id does. A
    panel may have a cursor (the name of what it reads, such as "length"): the panels of a board
    that name the same one share it.
    """
    request = last_request(key) or {}
    number = request.get("seq", 0)
    reply = {
        "display": True,
        "stamp": number,
        "epoch": key,
        "controls_key": "",
        "texts_key": "",
        "values": {},
        "problems": [],
        "panels": [_packed(panel) for panel in panels],
    }
    saved = _asked(key, request, {panel.id: panel for panel in panels})
    if saved is not None:
        reply["download"] = saved
    board(pack(reply), key=key)


def _packed(panel: Panel) -> dict[str, Any]:
    """The panel under a key that stands for all that it shows."""
    packed = panel.packed("")
    digest = hashlib.blake2b(pack(packed), digest_size=8).hexdigest()
    return {**packed, "key": digest}


def _asked(key: str, request: dict[str, Any], panels: dict[str, Panel]) -> dict[str, str] | None:
    """The numbers of a panel, in the first few replies to a request that wants them."""
    sent: dict[str, tuple[int, int]] = st.session_state.setdefault(STATE, {})
    number, action = request.get("seq", 0), request.get("action")
    before, times = sent.get(key, (0, 0))
    times = times + 1 if number == before else 1
    sent[key] = (number, times)
    if times > TIMES or not isinstance(action, dict) or action.get("csv") not in panels:
        return None
    panel = panels[action["csv"]]
    return {"name": f"posviz-{panel.id}.csv", "mime": "text/csv", "text": as_csv(panel)}
