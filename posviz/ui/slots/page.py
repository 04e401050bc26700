"""What the pages with slots share: the tab's session, and the board itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import streamlit as st

from posviz.ui import exchange, live
from posviz.ui.slots.desk import SlotsDesk
from posviz.ui.slots.values import SlottedView

V = TypeVar("V", bound=SlottedView)


def session_of(desk: SlotsDesk[V], key: str) -> exchange.Session[V]:
    """This tab's session; an address that was opened or edited starts a new one."""
    address = dict(st.query_params)
    known: exchange.Session[V] | None = st.session_state.get(key)
    if known is not None and address in known.addresses:
        return known
    view, problems = desk.read_address(address)
    session = exchange.Session(view, problems)
    session.addresses.append(address)
    if known is not None:
        session.answered, session.epoch = known.answered, known.epoch + 1
    st.session_state[key] = session
    return session


@st.fragment
def board(
    desk: SlotsDesk[V],
    key: str,
    *,
    above: Callable[[V], None] | None = None,
    below: Callable[[V], None],
) -> None:
    """The board, and what stands around it and follows its values when they come to rest."""
    session: exchange.Session[V] = st.session_state[key]
    request = live.last_request(f"{key}_board") or {}
    reply = exchange.answer(desk, session, request)
    for spec in session.view.specs.values():
        if caution := spec.caution():
            st.caption(f"⚠ {spec.title}: {caution}")
    if above is not None:
        above(session.view)
    live.board(live.pack(reply, known=request.get("known", ())), key=f"{key}_board")
    below(session.view)
