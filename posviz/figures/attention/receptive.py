"""How far a stack of layers looks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from posviz.figures.spec import FigureSpec, Series, axis, curve, figure, layout, log_axis
from posviz.measures.split_angle import Floats


@dataclass(frozen=True)
class Stack:
    """Reach of 1, 2, … layers: all (layers,)."""

    layers: Floats
    reach: Floats
    half: Floats


@figure(
    title="Receptive field of stacked layers",
    formula=r"w^{(k)} = w * w * \dots * w,\quad \text{reach of } w^{(k)} = \text{⟨reach⟩},\quad "
    r"k = \text{⟨layers⟩}",
    help="If every layer mixes with the same weights, the output of layer k looks as far as k "
    "steps drawn with them: the weights convolved with themselves. The line holds 99 % of it, the "
    "thin dotted one half. A sliding window of w tokens grows to k·(w − 1) + 1 at most; averages "
    "reach less, since few paths go the whole way.",
    limits="Weights alone, all layers and heads alike, far from the start of the context; what a "
    "trained stack passes on through its residual stream is not here.",
)
def receptive(series: Sequence[Series[Stack]]) -> FigureSpec:
    """Tokens per number of layers, on a log axis."""
    traces = []
    for item in series:
        line = curve(
            item.label,
            item.slot,
            item.measure.layers.astype(np.int32),
            item.measure.reach,
            hover="%{x} layers<br>99 % within %{y:,.0f} tokens",
        )
        half = {
            **line,
            "name": f"{item.label}: half",
            "y": item.measure.half,
            "showlegend": False,
            "line": {**line["line"], "width": 1, "dash": "dot"},
            "hovertemplate": "%{x} layers<br>half within %{y:,.0f} tokens<extra></extra>",
        }
        traces += [line, half]
    joined = np.concatenate([trace["y"] for trace in traces])
    last = max(float(trace["x"][-1]) for trace in traces)
    return FigureSpec(
        traces,
        layout(
            axis("layers", range=[0.5, last + 0.5]),
            log_axis("tokens", float(joined.min()) / 1.3, float(joined.max()) * 1.3),
        ),
    )
