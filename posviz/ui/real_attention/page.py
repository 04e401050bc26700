"""The page: its sections, one below the other."""

from __future__ import annotations

import streamlit as st


def show() -> None:
    """Draw the page."""
    st.title("Real attention")
