"""What every page does first: page settings, navigation, and a settled garbage collector.

A direct address to a page runs that page's script alone, so none of this may live in app.py only.
"""

from __future__ import annotations

import gc

import numpy as np
import streamlit as st

PAGES = {
    "app.py": "Home",
    "pages/explore.py": "Explore",
    "pages/compare.py": "Compare",
    "pages/attention.py": "Attention",
    "pages/catalog.py": "Catalog",
    "pages/context_extension.py": "Context extension",
    "pages/real_attention.py": "Real attention",
    "pages/train_short.py": "Train short",
}


# Streamlit leaves six lines of air above a wide page and one between every two elements. It fades
# what a run has not reached yet; a board says itself when it waits, and stays readable.
# Its captions (on white) and the white text of a primary button and of a chosen chip (on the light
# blue that suits links on a dark page) have less contrast than the 4.5 that text needs, the white
# knob of a toggle less than the 3 that controls need; these colours have enough in both themes.
# What scrolls sideways fades at an edge behind which there is more, where the browser can tell.
# Its "less than" is escaped: Streamlit drops a style in which a tag seems to begin.
_TIGHTER = r"""<style>
[data-testid="stMainBlockContainer"] { padding-top: 2.2rem; padding-bottom: 2rem; }
[data-testid="stMainBlockContainer"] h1 { font-size: 1.9rem; padding: 0.2rem 0; }
[data-testid="stMainBlockContainer"] > [data-testid="stVerticalBlock"] { gap: 0.6rem; }
[data-testid="stElementContainer"][data-stale="true"]:has(.pv-board) { opacity: 1 !important; }
[data-testid="stCaptionContainer"] {
  color: color-mix(in srgb, currentColor 78%, transparent); opacity: 1;
}
button[data-testid="stBaseButton-primary"]:enabled {
  background-color: #1B6FB8; border-color: #1B6FB8; color: #FFFFFF;
}
button[data-testid="stBaseButton-primary"]:enabled:hover { background-color: #155A96; }
[data-testid="stMultiSelect"] [data-tag] { background-color: #1B6FB8; color: #FFFFFF; }
[data-testid="stCheckbox"][data-selected="true"] label > div:first-of-type {
  background-color: #1B6FB8;
}
/* Slanted letters reach a pixel or two beyond their box: without room it would scroll, and fade. */
.katex-display { padding-right: 4px; }
@property --pv-left { syntax: "\3c number>"; inherits: false; initial-value: 1; }
@property --pv-right { syntax: "\3c number>"; inherits: false; initial-value: 1; }
@keyframes pv-scrolled {
  from { --pv-left: 1; --pv-right: 0.15; }
  10% { --pv-left: 0.15; --pv-right: 0.15; }
  90% { --pv-left: 0.15; --pv-right: 0.15; }
  to { --pv-left: 0.15; --pv-right: 1; }
}
@supports (animation-timeline: scroll(self inline)) {
  .katex-display, [class*="st-key-box-"], .st-key-catalog-tree-box, .posviz-scroll, .posviz-wide,
  [data-testid="stHtml"] > [style*="overflow-x"] {
    animation: pv-scrolled linear both; animation-timeline: scroll(self inline);
    mask-image: linear-gradient(to right, rgb(0 0 0 / var(--pv-left)), black 36px,
      black calc(100% - 36px), rgb(0 0 0 / var(--pv-right)));
  }
}
.posviz-scroll:focus-visible, .posviz-wide:focus-visible { outline-offset: -2px; }
</style>"""


def open_page(title: str) -> None:
    """Set the page up; must be the first statement of a page."""
    st.set_page_config(
        page_title=f"{title} · PosViz",
        page_icon="🌀",
        layout="wide",
        initial_sidebar_state="collapsed",
    )
    _settle_collector()
    st.html(_TIGHTER)
    with st.container(horizontal=True, vertical_alignment="center", key="posviz-navigation"):
        st.markdown("**PosViz**", width="content")
        for path, label in PAGES.items():
            st.page_link(path, label=label, width="content")


@st.cache_resource(show_spinner=False)
def _settle_collector() -> None:
    """Move what the imports left behind out of the collector's sight, once per server.

    Streamlit collects after every run; walking the modules of pandas and plotly each time costs
    about a tenth of a second, during which no plot is sent.
    """
    gc.collect()
    gc.freeze()
    # Freed once, a block of 24 MB teaches glibc to keep memory of that size: without it the arrays
    # of every answer, 1 MB each, go back to the system and are faulted in again for the next one.
    np.empty(3 << 20)
