"""The live board: one packaged Streamlit component that draws a page's controls and panels.

A native slider is silent while it is dragged, and a native Plotly chart is made anew on every
change. The board stays in place: it asks for numbers with one request in flight, newest value
first, and draws what :func:`pack` sends. All numbers come from Python.

Use, inside one ``@st.fragment``::

    request = last_request("board")
    ...
    board(pack(header, known=request.get("known", ()) if request else ()), key="board")
"""

from __future__ import annotations

import functools
from typing import Any

import streamlit as st
from streamlit.components.v2.types import ComponentRenderer

from posviz.ui.live.packet import pack

__all__ = ["board", "last_request", "pack"]


def board(packet: bytes, key: str) -> None:
    """Mount the board, or hand the mounted one its next packet; ``key`` must stay the same."""
    _component()(key=key, data=packet, on_request_change=_nothing)


@functools.cache
def _component() -> ComponentRenderer:
    # At the first use, not at import: the manifest is known once a Streamlit server runs.
    # Plotly puts its style rules into the document's head, out of reach of a shadow root.
    return st.components.v2.component(
        "posviz.live_board", js="board.js", css="board.css", isolate_styles=False
    )


def last_request(key: str) -> dict[str, Any] | None:
    """What the board of this key asked for, before it is mounted in this run; None at first."""
    state = st.session_state.get(key)
    request = state.get("request") if isinstance(state, dict) else None
    return request if isinstance(request, dict) else None


def _nothing() -> None:
    """Declare the state ``request``; the page reads it through :func:`last_request`."""
