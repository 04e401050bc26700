"""The page of one encoding: what it is, its figures, and what is known about it."""

from __future__ import annotations

import streamlit as st

from posviz.catalog import catalog, families, get
from posviz.encodings.base import Encoding
from posviz.encodings.rotary import RotaryEncoding
from posviz.measures import row_refusal
from posviz.ui import exchange
from posviz.ui.about import about, introduction
from posviz.ui.attention import carried
from posviz.ui.results_board.explore import DESK
from posviz.ui.results_board.view import ONE, View, first_view
from posviz.ui.slots.choice import ENCODING
from posviz.ui.slots.page import board, session_of

STATE = "explore"


def show() -> None:
    """Draw the page."""
    session = session_of(DESK, STATE)
    st.title("Explore")
    _choose(session)
    board(DESK, STATE, above=_above, below=_below)


def _above(view: View) -> None:
    introduction(get(view.values[ENCODING]))


def _below(view: View) -> None:
    spec = next(iter(view.specs.values()))
    if isinstance(spec, RotaryEncoding):
        st.page_link(
            "pages/context_extension.py",
            label=f"Tune {spec.title} on a released model",
            query_params={"b": spec.id},
            icon="➡️",
        )
    if not row_refusal(spec):
        st.page_link(
            "pages/attention.py",
            label=f"What {spec.title} does to attention at any length",
            query_params=carried.parameters([spec]),
            icon="➡️",
        )
    about(spec)


def _choose(session: exchange.Session[View]) -> None:
    current = get(session.view.values[ENCODING])
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    family = left.pills(
        "Family",
        families(),
        default=current.family,
        help="What kind of thing an encoding gives: a vector per position, a bias, a rotation, …",
    )
    if family and family != current.family:
        _open(session, _members(family)[0].id)
    members = [encoding.id for encoding in _members(current.family)]
    chosen = right.selectbox(
        "Encoding",
        members,
        index=members.index(current.id),
        format_func=lambda one: f"{get(one).title} · {get(one).year}",
        help="Type to search within the family.",
    )
    if chosen != current.id:
        _open(session, chosen)


def _members(family: str) -> list[type[Encoding]]:
    return [encoding for encoding in catalog() if encoding.family == family]


def _open(session: exchange.Session[View], encoding_id: str) -> None:
    """Show another encoding, and run the page again so that everything on it speaks of that one."""
    session.open(first_view({"": encoding_id}, ONE))
    st.rerun()
