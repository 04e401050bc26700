"""Letters around a plotly Figure, as the live board sets its own.

Streamlit's own grey for titles and ticks has the contrast 3.7 on white, where text needs 4.5, and
plotly's own place for a title lies on the tick labels where the margin is fixed.
"""

from __future__ import annotations

import re
from typing import Any

from posviz.figures import theme

_AXIS = re.compile(r"[xy]axis\d*")
_TITLE_SIZE = 12
_STANDOFF, _TICK = 8, 4
"""Pixels between the tick labels of an x axis and its title, and from the axis to its labels."""


def lettered(layout: dict[str, Any]) -> dict[str, Any]:
    """The layout with sizes, inks and places of its letters; what it says itself stays."""
    axes = {name: _axis(name, value) for name, value in layout.items() if _AXIS.fullmatch(name)}
    legend = layout.get("legend", {})
    # On a ground of its own: plotly's is the colour of the line.
    hover = {"bgcolor": theme.GROUND, **layout.get("hoverlabel", {})}
    notes = [
        {**note, "font": _font(note.get("font", {}))} for note in layout.get("annotations", ())
    ]
    return {
        **layout,
        **axes,
        "annotations": notes,
        # Streamlit moves tick labels 12 pixels away, to where the title of a fixed margin stands.
        "margin": {"pad": 0, **layout.get("margin", {})},
        "hoverlabel": {**hover, "font": _font(hover.get("font", {}))},
        "legend": {**legend, "font": _font(legend.get("font", {}))},
    }


def with_readable_bar(trace: dict[str, Any]) -> dict[str, Any]:
    """The trace with ink for the numbers and the title of its colour bar, if it has one."""
    if "colorbar" not in trace:
        return trace
    bar = trace["colorbar"]
    title = bar.get("title", {})
    return {
        **trace,
        "colorbar": {
            **bar,
            "tickfont": _font(bar.get("tickfont", {})),
            "title": {**title, "font": {"size": _TITLE_SIZE, **_font(title.get("font", {}))}},
        },
    }


def _axis(name: str, axis: dict[str, Any]) -> dict[str, Any]:
    title = axis.get("title", {})
    place = {"standoff": _STANDOFF} if name.startswith("x") else {}
    font = {"size": _TITLE_SIZE, **_font(title.get("font", {}))}
    return {
        "ticklen": _TICK,
        **axis,
        "tickfont": _font(axis.get("tickfont", {})),
        "title": {**place, **title, "font": font},
    }


def _font(given: dict[str, Any]) -> dict[str, Any]:
    return {"color": theme.WORDS, **given}
