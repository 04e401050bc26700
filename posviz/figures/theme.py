"""Looks that every figure shares: one colour and one dash per series, readable by everybody.

The palette is Okabe and Ito's (2008), which keeps its differences under the common forms of colour
blindness, with a lighter twin of each for dark pages; its yellow and its black stand fifth and
sixth. Every colour has a contrast of at least 4.5 to the page's ground. A dash always repeats what
the colour says.
"""

from __future__ import annotations

from typing import Any, Final

Ink = dict[str, str]
"""A colour for light pages and one for dark pages."""

SERIES: Final[tuple[Ink, ...]] = (
    {"light": "#0072B2", "dark": "#56B4E9"},
    {"light": "#C25100", "dark": "#F0A04B"},
    {"light": "#00795A", "dark": "#3FCFA4"},
    {"light": "#A23E7D", "dark": "#E59AC8"},
    {"light": "#5E5200", "dark": "#F0E442"},
    {"light": "#14171C", "dark": "#FFFFFF"},
)
DASHES: Final[tuple[str, ...]] = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
GHOST: Final[Ink] = {"light": "#8A8F98", "dark": "#8D94A0"}
DIVERGING: Final[list[list[Any]]] = [
    [0.0, {"light": "#A50026", "dark": "#FFB08A"}],
    [0.25, {"light": "#F08B62", "dark": "#BF4A2A"}],
    [0.5, {"light": "#FFFFFF", "dark": "#1A1E26"}],
    [0.75, {"light": "#62A8D6", "dark": "#2E75B0"}],
    [1.0, {"light": "#08519C", "dark": "#A5D8FF"}],
]
"""Red below zero, blue above, the page's own ground at zero. On either side the luminance goes one
way: away from the ground."""
SIZE: Final[list[list[Any]]] = [
    [0.0, {"light": "#FFFFFF", "dark": "#1A1E26"}],
    [0.35, {"light": "#7FB7DB", "dark": "#2C5F96"}],
    [0.7, {"light": "#2C6FA8", "dark": "#6BAEDD"}],
    [1.0, {"light": "#08264D", "dark": "#D9ECFF"}],
]
"""From the page's own ground to full ink: ever darker on a light page, ever lighter on a dark
one."""
COST: Final[list[list[Any]]] = [
    [0.0, {"light": "#E9F2F8", "dark": "#1F2A38"}],
    [1.0, {"light": "#7FB3D8", "dark": "#2F6496"}],
]
"""Part of the scale of sizes: lines and marks stand out everywhere, and blank cells are the only
ones with the page's own ground."""
CYCLIC: Final[list[list[Any]]] = [
    [0.0, "#3B2F5C"],
    [0.25, "#3F8FB8"],
    [0.5, "#E8E2D0"],
    [0.75, "#C96A4B"],
    [1.0, "#3B2F5C"],
]
"""The same ink at both ends: an angle of -π is one of π."""
COLOURS: Final[dict[str, list[list[Any]]]] = {
    "signed": DIVERGING,
    "size": SIZE,
    "cyclic": CYCLIC,
}
TRAINED_ARC: Final[Ink] = {"light": "rgba(0,121,90,0.45)", "dark": "rgba(63,207,164,0.45)"}
WORDS: Final[Ink] = {"light": "#4A4F59", "dark": "#C5CAD3"}
"""Ticks, titles of axes and names in legends."""
GROUND: Final[Ink] = {"light": "rgba(255,255,255,0.75)", "dark": "rgba(14,17,23,0.75)"}
"""The page's ground, let through a little: behind a label that curves or bars may reach."""
REFERENCE: Final[Ink] = {"light": "#3C4149", "dark": "#D5D9E0"}
BANDS: Final[dict[str, Ink]] = {
    "kept": {"light": "rgba(0,121,90,0.10)", "dark": "rgba(63,207,164,0.14)"},
    "blended": {"light": "rgba(194,130,0,0.12)", "dark": "rgba(240,180,75,0.14)"},
    "divided": {"light": "rgba(162,62,125,0.10)", "dark": "rgba(229,154,200,0.14)"},
}


def line(slot: int | None) -> dict[str, Any]:
    """Line style of a series; None is the unscaled baseline, drawn as a ghost."""
    if slot is None:
        return {"color": GHOST, "dash": "solid", "width": 1.5}
    return {"color": SERIES[slot], "dash": DASHES[slot], "width": 2}


def in_mode(value: Any, mode: str) -> Any:
    """A figure's plain dictionaries with every ink replaced by its colour for this mode."""
    if isinstance(value, dict):
        if value.keys() == {"light", "dark"}:
            return value[mode]
        return {key: in_mode(part, mode) for key, part in value.items()}
    if isinstance(value, list):
        return [in_mode(part, mode) for part in value]
    return value
