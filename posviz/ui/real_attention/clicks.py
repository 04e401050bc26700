"""A click on a mark of a figure chooses a head."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from posviz.ui.real_attention import address


def clicked(key: str, layer: str = "layer", head: str = "head") -> Callable[[], None]:
    """What a click on a figure with this key does: its marks carry ``customdata`` [layer, head]."""

    def take() -> None:
        points = st.session_state[key].selection.points
        named = next((point["customdata"] for point in points if "customdata" in point), None)
        if named is not None:
            address.choose(**{layer: int(named[0]), head: int(named[1])})

    return take
