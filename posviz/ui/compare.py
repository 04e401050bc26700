"""The page of several encodings on the same axes."""

from __future__ import annotations

from itertools import combinations

import streamlit as st

from posviz.measures import relation
from posviz.ui.results_board.compare import DESK
from posviz.ui.results_board.panels import shown
from posviz.ui.results_board.view import View
from posviz.ui.slots.page import board, session_of

STATE = "compare"


def show() -> None:
    """Draw the page."""
    session_of(DESK, STATE)
    st.title("Compare")
    st.caption(
        "Two to four encodings on the same axes and colour scales, and the difference of the "
        "first two. Figures that only some of them have are drawn for those."
    )
    board(DESK, STATE, above=_relations, below=_sources)


def _relations(view: View) -> None:
    """Which of the encodings are the same thing in another form."""
    sentences = []
    for first, second in combinations(shown(view), 2):
        found = relation(first.result, second.result)
        sentences.append(f"**{first.label}** and **{second.label}**: {found.sentence}")
    st.markdown("  \n".join(sentences))


def _sources(view: View) -> None:
    """Where each of them comes from."""
    for item in shown(view):
        st.caption(f"{item.label}: {item.spec.sources[0].text}")
