"""What the pages with a board of results share: the tab's session, and the board itself."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from posviz.ui import exchange, live
from posviz.ui.results_board.address import read_address
from posviz.ui.results_board.desk import ResultsDesk
from posviz.ui.results_board.view import View

Session = exchange.Session[View]


def session_of(desk: ResultsDesk, key: str) -> Session:
    """This tab's session; an address that was opened or edited starts a new one."""
    address = dict(st.query_params)
    known: Session | None = st.session_state.get(key)
    if known is not None and address in known.addresses:
        return known
    view, problems = read_address(address, desk.defaults, desk.slots)
    session = Session(view, problems)
    session.addresses.append(address)
    if known is not None:
        session.answered, session.epoch = known.answered, known.epoch + 1
    st.session_state[key] = session
    return session


@st.fragment
def board(
    desk: ResultsDesk, key: str, *, above: Callable[[View], None], below: Callable[[View], None]
) -> None:
    """The board, and what stands around it and follows its values when they come to rest."""
    session: Session = st.session_state[key]
    request = live.last_request(f"{key}_board") or {}
    reply = exchange.answer(desk, session, request)
    for spec in session.view.specs.values():
        if caution := spec.caution():
            st.caption(f"⚠ {spec.title}: {caution}")
    above(session.view)
    live.board(live.pack(reply, known=request.get("known", ())), key=f"{key}_board")
    below(session.view)
