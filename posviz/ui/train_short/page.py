"""The page: a plan, the curves while they come, and what extension makes of a trained model."""

from __future__ import annotations

import streamlit as st


def show() -> None:
    """Draw the page."""
    st.title("Train short, test long")
