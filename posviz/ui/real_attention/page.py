"""The page: its sections, of which only the one that is shown computes."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from posviz.ui.literal import literal
from posviz.ui.real_attention import address
from posviz.ui.real_attention.wish import SECTIONS, Wish

_TABS = "real_attention_tabs"


def show() -> None:
    """Draw the page."""
    known = address.kept()
    st.title("Real attention")
    st.caption(
        "What the other pages compute, measured: attention through torch on this machine, the "
        "heads of a released language model, and its loss beyond the window of its training."
    )
    for problem in known.problems:
        st.warning(literal(problem))
    if _TABS not in st.session_state:
        st.session_state[_TABS] = SECTIONS[known.wish.section]
    tabs = st.tabs(list(SECTIONS.values()), key=_TABS, on_change=_turned)
    for section, tab in zip(SECTIONS, tabs, strict=True):
        if tab.open:
            with tab:
                _section(section)(known.wish)
    address.show_in_browser(known)


def _turned() -> None:
    """Another tab was opened."""
    titles = {title: section for section, title in SECTIONS.items()}
    address.choose(section=titles[st.session_state[_TABS]])


def _section(name: str) -> Callable[[Wish], None]:
    # Each is imported when it is first shown, so that the page opens as fast as the others.
    match name:
        case "kernels":
            from posviz.ui.real_attention import kernels

            return lambda wish: kernels.show()
        case "model":
            from posviz.ui.real_attention import model_section

            return model_section.show
        case "extension":
            from posviz.ui.real_attention import extension_section

            return extension_section.show
        case _:
            from posviz.ui.real_attention import bert_section

            return bert_section.show
