"""Weights of every head as small multiples on the same axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from posviz.figures import theme
from posviz.figures.spec import FigureSpec, curve, figure, layout, log_axis
from posviz.measures import HeadProfiles

MOST_HEADS = 16
_COLUMNS = 4
_GAP = 0.03
_LEAST = 1e-9


@figure(
    title="Weights of each head",
    formula=r"w_h(\delta) = \frac{e^{z_h(\delta)}}{\sum_{\delta'} e^{z_h(\delta')}}",
    help="The weights of the last query in every head, on the same two logarithmic axes; heads are "
    "counted from 0, and named with the distance at which the logit has fallen by ln 2 and with "
    "their entropy. With more than sixteen heads, sixteen are shown, evenly chosen.",
    limits="A rotation has the same angles in every head, so only biases and terms of content "
    "tell heads apart. Where keys are draws, a half-life would be that of the draw and is left "
    "out.",
)
def head_weights(
    measure: HeadProfiles, *, label: str, slot: int, is_drawn: bool = False
) -> FigureSpec:
    """One small plot per head, row by row."""
    heads = shown_heads(len(measure.weights))
    columns = min(_COLUMNS, len(heads))
    rows = -(-len(heads) // columns)
    x = np.maximum(measure.distances, 0.5)
    shown = measure.weights[heads]
    positive = shown[shown >= _LEAST]
    low = float(positive.min()) if positive.size else _LEAST
    traces: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    notes: list[dict[str, Any]] = []
    for place, head in enumerate(heads):
        row, column = divmod(place, columns)
        number = "" if place == 0 else str(place + 1)
        traces.append(
            {
                **curve(
                    f"head {head}",
                    slot,
                    x,
                    np.where(shown[place] > 0, shown[place], np.nan),
                    hover=f"head {head}<br>distance %{{x:,.0f}}<br>weight %{{y:.3g}}",
                    showlegend=False,
                ),
                # One line in each plot: nothing to tell apart by a dash.
                "line": {**theme.line(slot), "dash": "solid"},
                "xaxis": f"x{number}",
                "yaxis": f"y{number}",
            }
        )
        domain_x, domain_y = _domain(column, columns), _domain(rows - 1 - row, rows)
        axes[f"xaxis{number}"] = {
            **log_axis("distance" if row == rows - 1 else "", 0.45, max(2.0, float(x[-1]))),
            "domain": domain_x,
            "anchor": f"y{number}",
            "showticklabels": row == rows - 1,
            "dtick": 2,
            "tickangle": 0,
        }
        axes[f"yaxis{number}"] = {
            **log_axis("weight" if column == 0 else "", low / 1.5, 1.5),
            "domain": domain_y,
            "anchor": f"x{number}",
            "showticklabels": column == 0,
            "dtick": 3,
        }
        notes.append(_named(head, measure, domain_x, domain_y, is_drawn))
    whole = layout(axes.pop("xaxis"), axes.pop("yaxis"))
    return FigureSpec(
        traces,
        {**whole, **axes, "annotations": notes, "height": max(280, 60 + 110 * rows)},
    )


def shown_heads(count: int) -> list[int]:
    """All heads, or sixteen of them, evenly chosen with the first and the last."""
    if count <= MOST_HEADS:
        return list(range(count))
    return [int(head) for head in np.linspace(0, count - 1, MOST_HEADS).round()]


def _domain(place: int, count: int) -> list[float]:
    size = (1 - _GAP * (count - 1)) / count
    start = place * (size + _GAP)
    return [start, min(1.0, start + size)]


def _named(
    head: int, measure: HeadProfiles, x: list[float], y: list[float], is_drawn: bool
) -> dict[str, Any]:
    """A head's name, half-life and entropy, in the upper right corner of its plot."""
    half = float(measure.half_life[head])
    falls = f"½ at {half:,.0f}" if np.isfinite(half) else "no ½"
    lines = [f"head {head}", *([] if is_drawn else [falls])]
    return {
        "text": "<br>".join([*lines, f"{float(measure.entropy[head]):.2f} nats"]),
        "align": "right",
        "x": x[1] - 0.005,
        "y": y[1],
        "xref": "paper",
        "yref": "paper",
        "xanchor": "right",
        "yanchor": "top",
        "showarrow": False,
        "font": {"size": 10},
    }
