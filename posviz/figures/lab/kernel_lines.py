"""What the three figures of a kernel comparison share: lines by length, refusals, guides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from posviz.figures import theme
from posviz.figures.spec import FigureSpec, Series, axis, curve, layout, log_axis
from posviz.measures.split_angle import Floats

Lines = Sequence[Series[tuple[Floats, Floats]]]
"""One for each kernel: lengths, ascending, and values; NaN where there is none."""

_SMALLEST, _WIDER = 8, 6
"""Pixels of the first triangle on the floor, and by how much each further one is wider: those of
several kernels lie around each other, and all of them are seen."""


@dataclass(frozen=True)
class Refused:
    """A point that was not run: whose, at which length, and why."""

    label: str
    slot: int | None
    length: int
    reason: str


def kernel_figure(
    lines: Lines,
    refused: Sequence[Refused],
    *,
    title: str,
    hover: str,
    guides: Sequence[tuple[str, int]] = (),
    more: Sequence[dict[str, Any]] = (),
    floor: float = 0.0,
    floor_hover: str = "",
) -> FigureSpec:
    """Lines with markers over length on two log axes; a cross at the top for what was refused.

    A value below ``floor`` is no number worth reading: it is drawn as an open triangle on the
    floor, and the line has no point there. ``guides`` are names and powers of the length, drawn
    from the first point of the line that ends highest, so that a slope can be read.
    """
    low_ones: list[dict[str, Any]] = []
    for item in lines:
        low_ones += _below(item, floor, floor_hover, _SMALLEST + _WIDER * len(low_ones))
    traces = [_line(item, hover, floor) for item in lines]
    values = np.concatenate([np.empty(0), *(trace["y"] for trace in [*traces, *low_ones, *more])])
    shown = values[np.isfinite(values) & (values > 0)]
    low, high = (shown.min() / 1.6, shown.max() * 2.5) if shown.size else (0.1, 1.0)
    lengths = [float(x) for trace in traces for x in trace["x"]]
    lengths += [float(one.length) for one in refused]
    ends = (min(lengths) / 1.15, max(lengths) * 1.15) if lengths else (100.0, 1000.0)
    crosses = [_cross(one, float(high) / 1.35) for one in refused]
    spec = [*_guides(traces, guides, ends), *more, *traces, *low_ones, *crosses]
    return FigureSpec(
        spec,
        layout(
            _length_axis(lengths, ends),
            log_axis(title, float(low), float(high), exponentformat="power"),
            showlegend=True,
            legend={"orientation": "h", "x": 0, "y": -0.2, "yanchor": "top"},
        ),
    )


def _length_axis(lengths: Sequence[float], ends: tuple[float, float]) -> dict[str, Any]:
    """Labelled at the lengths themselves, every second one where there are many."""
    every = sorted(set(lengths))
    shown = every[:: 1 + len(every) // 9]
    return axis(
        "length (tokens)",
        type="log",
        range=[float(np.log10(end)) for end in ends],
        tickvals=shown,
        ticktext=[f"{one:,.0f}" for one in shown],
    )


def _line(item: Series[tuple[Floats, Floats]], hover: str, floor: float) -> dict[str, Any]:
    lengths, values = item.measure
    numbers = np.asarray(values, dtype=float)
    positive = np.where((numbers > 0) & (numbers >= floor), numbers, np.nan)
    return curve(
        item.label,
        item.slot,
        np.asarray(lengths).astype(np.int32),
        positive,
        hover=f"%{{x:,}} tokens<br>{hover}",
        mode="lines+markers",
        marker={"size": 6, "color": theme.line(item.slot)["color"]},
    )


def _below(
    item: Series[tuple[Floats, Floats]], floor: float, hover: str, size: int
) -> list[dict[str, Any]]:
    lengths, values = item.measure
    places = np.asarray(lengths)[np.asarray(values, dtype=float) < floor]
    if not len(places):
        return []
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": item.label,
            "showlegend": False,
            "x": places.astype(np.int32),
            "y": np.full(len(places), floor),
            "marker": {
                "symbol": "triangle-down-open",
                "size": size,
                "color": theme.line(item.slot)["color"],
            },
            "hovertemplate": f"%{{x:,}} tokens<br>{hover}<extra>%{{fullData.name}}</extra>",
        }
    ]


def _cross(one: Refused, height: float) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": f"{one.label}: not run",
        "showlegend": False,
        "x": np.asarray([one.length], dtype=np.int32),
        "y": np.asarray([height]),
        "marker": {"symbol": "x", "size": 9, "color": theme.line(one.slot)["color"]},
        "text": [one.reason],
        "hovertemplate": "%{text}<extra>%{fullData.name}</extra>",
    }


def _guides(
    traces: list[dict[str, Any]], guides: Sequence[tuple[str, int]], ends: tuple[float, float]
) -> list[dict[str, Any]]:
    points = [
        (float(y), float(x))
        for trace in traces
        for x, y in zip(trace["x"][-1:], trace["y"][-1:], strict=True)
        if np.isfinite(y)
    ]
    if not points:
        return []
    top, at = max(points)
    lengths = np.asarray([ends[0], at])
    found = []
    for name, power in guides:
        trace = curve(name, None, lengths, top * (lengths / at) ** power, hover=name)
        found.append({**trace, "line": {**theme.line(None), "dash": "dot", "width": 1}})
    return found
