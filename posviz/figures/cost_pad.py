"""Two costs of an extension over two of its parameters, with the points that people know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from posviz.figures import theme
from posviz.figures.spec import FigureSpec, figure, layout, log_axis
from posviz.measures import CostPad, Proposal
from posviz.measures.split_angle import Floats

_LEVELS = 10
_CHANGE, _UNSEEN = theme.SERIES[1], theme.SERIES[3]
_BLANK_ENOUGH = 0.02
"""Share of an axis within which two marks count as one place."""


@dataclass(frozen=True)
class Mark:
    """A point with a name: someone's default, or what a configuration says."""

    label: str
    point: tuple[float, float]


@figure(
    title="Two costs over two parameters",
    formula=r"J = w\,\hat a + (1 - w)\,\hat u,\quad "
    r"a = \frac{1}{64}\sum_{\delta=1}^{64} |c'(\delta) - c(\delta)| = \text{⟨change⟩},\quad "
    r"u = \frac{1}{P}\sum_{r_i < 1} [\min(1, r'_i) - r_i]_+ = \text{⟨unseen⟩},\quad "
    r"G = \text{⟨gain⟩}",
    help="Every cell is a choice of the two parameters; the stronger its colour, the higher the "
    "weighted cost J. One cost is a, how much the frequencies change the q = k score at distances "
    "1 to 64 on average (dashed iso-lines); c is the mean of cos(δ f) over all pairs as trained, "
    "c′ the same with the extension. The other is u, the arc in turns that a pair reaches within "
    "L′ and never reached in training, averaged over all pairs (dotted iso-lines); r counts the "
    "turns of a pair within L, r′ those within L′. Beyond one turn nothing new can be reached. A "
    "hat counts a cost from 0 at its lowest to 1 at its highest on the map. The factor G on all "
    "scores (m², and what the attention layer adds) is told beside both costs and is in neither: "
    "frequencies that lower the curve would seem to undo it. Small diamonds are the Pareto front: "
    "no other cell is as low in both costs and lower in one. Drag the point, or move it with the "
    "arrow keys; the star is a proposal for the weight w. How many pairs go beyond their trained "
    "arc is told for the point.",
    limits="Both costs are counts, not quality: neither knows what fine-tuning repairs, neither "
    "sees the pairs between kept and divided, for which published values leave room. Neither "
    "grows much with a factor that is larger than needed, while G does: of points with nearly the "
    "same J the smaller factor is the better one. A low J is no reason to leave the values that a "
    "model was trained with. Where a runtime rounds the bounds of its ramp to whole pairs, the "
    "costs are a staircase.",
)
def cost_pad(
    pad: CostPad,
    *,
    weight: float,
    units: tuple[str, str] = ("", ""),
    point: tuple[float, float] | None = None,
    marks: Sequence[Mark] = (),
    proposal: Proposal | None = None,
) -> FigureSpec:
    """The weighted cost as a map, iso-lines of both costs, the Pareto front, and named points.

    Points outside the map are left out.
    """
    traces = [_map(pad, weight)]
    traces += _iso_lines(pad, pad.change, "a, change at short range", _CHANGE, "dash")
    traces += _iso_lines(pad, pad.unseen, "u, unseen arc", _UNSEEN, "dot")
    traces += _front(pad)
    inside = [mark for mark in merged(marks, pad) if pad.contains(mark.point)]
    traces += [_mark(pad, mark) for mark in inside]
    if proposal is not None:
        traces.append(_proposal(pad, proposal))
    if point is not None and pad.contains(point):
        traces.append(_point(point))
    across, up = (
        _axis(f"{name} ({unit})" if unit else name, values)
        for name, unit, values in zip(pad.names, units, (pad.x, pad.y), strict=True)
    )
    return FigureSpec(traces, layout(across, up, height=400))


def merged(marks: Sequence[Mark], pad: CostPad) -> list[Mark]:
    """Marks at one place joined, so that their labels do not lie over each other."""
    found: list[Mark] = []
    for mark in marks:
        twin = next((i for i, one in enumerate(found) if _near(one.point, mark.point, pad)), None)
        if twin is None:
            found.append(mark)
        else:
            found[twin] = Mark(f"{found[twin].label}<br>{mark.label}", found[twin].point)
    return found


def _near(one: tuple[float, float], other: tuple[float, float], pad: CostPad) -> bool:
    return all(
        abs(np.log(a / b)) < _BLANK_ENOUGH * np.log(values[-1] / values[0])
        for a, b, values in zip(one, other, (pad.x, pad.y), strict=True)
    )


def _map(pad: CostPad, weight: float) -> dict[str, Any]:
    return {
        "type": "heatmap",
        "name": "J, weighted cost",
        "x": pad.x,
        "y": pad.y,
        "z": pad.objective(weight),
        "zmin": 0.0,
        "zmax": 1.0,
        "colorscale": theme.COST,
        "colorbar": {"thickness": 10, "title": {"text": f"J at w = {weight:g}"}},
        "hovertemplate": f"{pad.names[0]} %{{x:.4~g}}<br>{pad.names[1]} %{{y:.4~g}}<br>"
        "J %{z:.3f}<extra></extra>",
    }


def _iso_lines(
    pad: CostPad, cost: Floats, name: str, ink: theme.Ink, dash: str
) -> list[dict[str, Any]]:
    """Lines of equal cost; none where it is the same everywhere, since there is no line then."""
    low, high = float(np.nanmin(cost)), float(np.nanmax(cost))
    if not high > low:
        return []
    step = _round_step((high - low) / _LEVELS)
    first = step * (np.floor(low / step) + 1)
    return [
        {
            "type": "contour",
            "name": name,
            "x": pad.x,
            "y": pad.y,
            "z": cost,
            "autocontour": False,
            "contours": {
                "coloring": "none",
                "start": float(first),
                "end": high,
                "size": step,
                "showlabels": True,
                "labelfont": {"size": 10, "color": ink},
            },
            "line": {"color": ink, "dash": dash, "width": 1.5, "smoothing": 0},
            "showscale": False,
            "hoverinfo": "skip",
        }
    ]


def _round_step(step: float) -> float:
    """1, 2 or 5 times a power of ten, at least the step."""
    power = 10.0 ** np.floor(np.log10(step))
    return float(next(many * power for many in (1, 2, 5, 10) if many * power >= step))


def _front(pad: CostPad) -> list[dict[str, Any]]:
    rows, columns = np.nonzero(pad.front)
    if not rows.size:
        return []
    return [
        {
            **_markers("Pareto front", pad.x[columns], pad.y[rows]),
            "marker": {"symbol": "diamond", "size": 5, "color": theme.REFERENCE},
            "hovertemplate": "on the Pareto front<br>%{x:.4~g}, %{y:.4~g}<extra></extra>",
        }
    ]


def _mark(pad: CostPad, mark: Mark) -> dict[str, Any]:
    return {
        **_markers(mark.label.replace("<br>", "; "), *([value] for value in mark.point)),
        **_labelled(pad, mark.point, mark.label),
        "marker": {
            "symbol": "square-open",
            "size": 18,
            "color": theme.REFERENCE,
            "line": {"color": theme.REFERENCE, "width": 2},
        },
        "showlegend": False,
        "hovertemplate": "%{text}<br>%{x:.4~g}, %{y:.4~g}<extra></extra>",
    }


def _proposal(pad: CostPad, proposal: Proposal) -> dict[str, Any]:
    label = f"proposal, w = {proposal.weight:g}"
    return {
        **_markers(label, *([value] for value in proposal.point)),
        **_labelled(pad, proposal.point, label, over="top"),
        "marker": {"symbol": "star", "size": 14, "color": theme.SERIES[2]},
        "showlegend": False,
        "hovertemplate": f"proposal: J = {proposal.objective:.3f}<br>%{{x:.4~g}}, %{{y:.4~g}}"
        "<extra></extra>",
    }


def _point(point: tuple[float, float]) -> dict[str, Any]:
    return {
        **_markers("current point", *([value] for value in point)),
        "marker": {
            "symbol": "circle",
            "size": 14,
            "color": theme.SERIES[0],
            "line": {"color": {"light": "#FFFFFF", "dark": "#1A1E26"}, "width": 2},
        },
        "hovertemplate": "current point<br>%{x:.4~g}, %{y:.4~g}<extra></extra>",
    }


def _markers(name: str, x: Any, y: Any) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": np.asarray(x, dtype=float),
        "y": np.asarray(y, dtype=float),
    }


def _labelled(
    pad: CostPad, point: tuple[float, float], label: str, over: str = "bottom"
) -> dict[str, Any]:
    """Text beside a point, on the side where the plot has room for it."""
    across, up = (
        np.log(value / values[0]) / np.log(values[-1] / values[0])
        for value, values in zip(point, (pad.x, pad.y), strict=True)
    )
    side = "right" if across < 0.5 else "left"
    place = {"bottom": "bottom" if up > 0.12 else "top", "top": "top" if up < 0.9 else "bottom"}
    return {
        "mode": "markers+text",
        "text": [label],
        "textposition": f"{place[over]} {side}",
        "textfont": {"size": 11, "color": theme.REFERENCE},
    }


def _axis(title: str, values: Floats) -> dict[str, Any]:
    """A log axis over the cells, with labels at 1, 2 and 5 in every decade where these are few."""
    edge = (values[1] / values[0]) ** 0.5
    low, high = float(values[0] / edge), float(values[-1] * edge)
    decades = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)))
    many = (1, 2, 5) if len(decades) <= 4 else (1,)
    ticks = [m * 10.0**power for power in decades for m in many]
    shown = [tick for tick in ticks if low <= tick <= high]
    return {
        **log_axis(title, low, high),
        "tickvals": shown,
        "ticktext": [_short(tick) for tick in shown],
    }


def _short(tick: float) -> str:
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if tick >= size:
            return f"{tick / size:g}{letter}"
    return f"{tick:g}"
