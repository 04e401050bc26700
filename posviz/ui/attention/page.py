"""The page: what it answers, the board, and where each encoding comes from."""

from __future__ import annotations

import streamlit as st

from posviz.ui.attention.desk import DESK
from posviz.ui.attention.lessons import LESSONS
from posviz.ui.attention.view import View
from posviz.ui.slots.page import board, session_of

STATE = "attention"


def show() -> None:
    """Draw the page."""
    session_of(DESK, STATE)
    st.title("Attention")
    st.caption(
        "What positions do to attention, from 8 to 4,194,304 tokens: how the score falls with "
        "distance, how far a head sees, how its entropy grows, where it breaks past the trained "
        "window, and what a temperature repairs. The content is a model that you choose."
    )
    _lessons()
    board(DESK, STATE, below=_below)


def _lessons() -> None:
    """Views to start from, each for one question."""
    with st.container(horizontal=True, key="posviz-lessons"):
        st.markdown("Start from", width="content")
        for title, address in LESSONS.items():
            st.page_link("pages/attention.py", label=title, query_params=address, width="content")


def _below(view: View) -> None:
    """Where each of them comes from, with a way to all that is known of it.

    One element: the board's answer at rest carries a message for every one around it.
    """
    lines = [
        f"{item.label}: {item.spec.sources[0].text} · [explore](explore?encoding={item.spec.id})"
        for item in view.shown
    ]
    st.caption("\n\n".join(lines))
