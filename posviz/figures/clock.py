"""One pair as clock hands at one position."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posviz.figures import theme
from posviz.figures.spec import FigureSpec, Series, axis, curve, figure, layout
from posviz.measures import Clock

_CIRCLE = np.linspace(0, 2 * np.pi, 91)


@figure(
    title="The rotating pair",
    formula=r"\varphi = p'\, f'_i = \text{⟨position⟩} \times \text{⟨inv_freq⟩} = \text{⟨turns⟩}"
    r"\ \text{turns} \equiv \text{⟨angle⟩}\ \text{rad},\quad i = \text{⟨pair⟩}",
    help="The hand of each method shows where the chosen pair points at the chosen position p; the "
    "grey hand is unscaled RoPE. The thick arc is what the pair covered in the trained window: a "
    "hand outside it points where the model never was. p′ is p as the rotation sees it from "
    "position 0: p itself, or less where a method remaps distances.",
    limits="One pair of many: the model sees all of them at once, and only differences of angles.",
)
def clock(series: Sequence[Series[Clock]]) -> FigureSpec:
    """Clock hands on the unit circle; the trained arc drawn thick."""
    arc = _CIRCLE * min(1.0, series[0].measure.trained_arc)
    traces = [
        _ring("circle", _CIRCLE, width=1, ink=theme.GHOST),
        _ring("trained arc", arc, width=6, ink=theme.TRAINED_ARC),
    ]
    traces += [
        curve(
            item.label,
            item.slot,
            np.array([0.0, item.measure.x]),
            np.array([0.0, item.measure.y]),
            hover=f"{item.measure.angle:.4f} rad, {item.measure.turns:,.4g} turns",
        )
        for item in series
    ]
    frame = {"visible": False, "fixedrange": True}
    return FigureSpec(
        traces,
        layout(
            axis("", range=[-1.25, 1.25], scaleanchor="y", **frame),
            axis("", range=[-1.15, 1.15], **frame),
        ),
    )


def _ring(label: str, angles: np.ndarray, *, width: float, ink: theme.Ink) -> dict[str, object]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": label,
        "x": np.cos(angles),
        "y": np.sin(angles),
        "line": {"color": ink, "width": width},
        "hoverinfo": "skip",
        "showlegend": False,
    }
