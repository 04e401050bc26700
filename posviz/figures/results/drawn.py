"""What a figure of a result is made of, and how lines and maps are drawn.

A figure of a result only says what stands on its axes; the drawing is shared, so that one result,
several on the same axes, and the difference of two come from the same few numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from posviz.figures import theme
from posviz.figures.spec import FigureSpec, axis, curve, layout, level, log_axis
from posviz.results import Result

Cursor = Literal["position", "distance", "dimension"]
Colours = Literal["signed", "size", "cyclic"]
_USUAL, _FAR = 0.99, 4.0
"""Where the largest cell is this many times what all but a hundredth stay below, the colours end
there."""
MOST_CELLS = 512
"""Cells of a map along one axis; beyond that they are averaged in blocks."""


@dataclass(frozen=True)
class At:
    """Where the reader looks: places in the arrays of a result, clipped to them by the figure."""

    position: int = 0
    distance: int = 1
    dimension: int = 0
    head: int = 0
    part: str = ""


@dataclass(frozen=True)
class Line:
    """One line: its name within the figure, and its points."""

    name: str
    x: Any
    y: Any
    is_step: bool = False
    is_mark: bool = False
    """Drawn as marks, without a line between them."""


@dataclass(frozen=True)
class Lines:
    """Lines on shared axes; the first one stands for the result where several are compared."""

    lines: Sequence[Line]
    x_title: str
    y_title: str
    log_x: bool = False
    log_y: bool = False
    y_range: tuple[float, float] | None = None
    is_square: bool = False
    """Both axes have one scale: a path in a plane."""
    levels: Sequence[tuple[float, str]] = ()
    """Values on the x axis that are marked, each with its words."""


@dataclass(frozen=True)
class Map:
    """A matrix on two axes; NaN stands for a cell without a value.

    ``x`` and ``y`` are the middles of the cells, ``z`` is (len(y), len(x)).
    """

    x: Any
    y: Any
    z: Any
    x_title: str
    y_title: str
    z_title: str
    colours: Colours = "signed"
    limits: tuple[float, float] | None = None
    """Ends of the colours, where several maps share them; else what the cells need."""
    block: int = 1
    """How many rows and columns of the true matrix a cell is the mean of, at most."""


@dataclass(frozen=True)
class ResultFigure:
    """A figure that is drawn of every result that it accepts."""

    id: str
    title: str
    formula: str
    """LaTeX; ⟨x⟩ and ⟨y⟩ inside \\text are the numbers of the first line at the cursor, other
    names are filled in by ``slots``."""
    help: str
    limits: str
    accepts: Callable[[Result], bool]
    content: Callable[[Result, At], Lines | Map]
    cursor: Cursor | None = None
    slots: Callable[[Result, At], Mapping[str, str]] = field(default=lambda result, at: {})
    order: int = 50
    """Place among the figures of a result, small first."""
    uses: frozenset[str] = frozenset({"position", "distance", "dimension", "head"})
    """What of the cursor its content and slots depend on; the rest does not draw it anew."""
    is_map: bool = False
    """Whether its content is a map, for every result that it accepts."""
    parts: Callable[[Result], Sequence[str]] | None = None
    """Names of the parts of a result that are drawn one by one, each as ``at.part``."""

    def __call__(self, result: Result, at: At | None = None) -> Any:
        """A plotly Figure of this result."""
        return drawn(self.content(result, at or At())).figure()


def pair_at(count: int, at: At) -> tuple[int, int]:
    """The query under the cursor, among ``count`` positions, and the key at its distance before."""
    query = min(at.position, count - 1)
    return query, max(0, query - at.distance)


def pair_slots(pair: tuple[int, int], value: float) -> dict[str, str]:
    """The query, the key and their number, as formulas name them."""
    return {"query": str(pair[0]), "key": str(pair[1]), "value": f"{float(value):.5g}"}


def counted(title: str, result: Result) -> str:
    """An axis title for places in a sequence whose positions are more than one token apart."""
    positions = np.asarray(result.positions)
    if positions.ndim != 1 or len(positions) < 2:
        return title
    step = float(positions[1] - positions[0])
    return title if step == 1 else f"{title} (one in {step:,.4g} tokens)"


def drawn(content: Lines | Map) -> FigureSpec:
    """One result's lines or map as a figure."""
    if isinstance(content, Map):
        return draw_map(content, limits_of([content]))
    series = [
        (line.name, slot % len(theme.SERIES), line) for slot, line in enumerate(content.lines)
    ]
    return draw_lines(series, content)


def draw_lines(series: Sequence[tuple[str, int | None, Line]], axes: Lines) -> FigureSpec:
    """Lines with their labels and places in the palette, on the axes of ``axes``."""
    traces = [
        curve(
            label,
            slot,
            np.asarray(line.x, dtype=float),
            line.y,
            hover=f"{axes.x_title} %{{x:,.6~g}}<br>{axes.y_title} %{{y:.5g}}",
            **_style(line, slot),
        )
        for label, slot, line in series
    ]
    x = _axis(axes.x_title, [trace["x"] for trace in traces], axes.log_x)
    y = _axis(axes.y_title, [trace["y"] for trace in traces], axes.log_y, axes.y_range)
    if axes.is_square:
        x["scaleanchor"] = "y"
    levels = [level(value, words, across="x", log=axes.log_x) for value, words in axes.levels]
    return FigureSpec(traces, layout(x, y, levels=levels))


def _style(line: Line, slot: int | None) -> dict[str, Any]:
    """What sets a line apart from a plain curve."""
    if line.is_mark:
        return {"mode": "markers", "marker": {"size": 9, "color": theme.line(slot)["color"]}}
    return {"line": {**theme.line(slot), "shape": "hv"}} if line.is_step else {}


def _axis(
    title: str, values: Sequence[Any], log: bool, given: tuple[float, float] | None = None
) -> dict[str, Any]:
    """An axis whose range is explicit, so that a moving line does not make the plot jump."""
    joined = np.concatenate([np.ravel(one) for one in values]) if values else np.zeros(0)
    shown = joined[np.isfinite(joined) & ((joined > 0) | (not log))]
    if given is not None:
        return log_axis(title, *given) if log else axis(title, range=list(given))
    if not shown.size:
        return axis(title)
    low, high = float(shown.min()), float(shown.max())
    if log:
        return log_axis(title, low / 1.1, high * 1.1)
    margin = 0.05 * (high - low) or 0.5
    return axis(title, range=[low - margin, high + margin])


def limits_of(maps: Sequence[Map]) -> tuple[float, float]:
    """One colour range for several maps: centred at zero for signed values."""
    finite = [np.asarray(one.z)[np.isfinite(one.z)] for one in maps]
    joined = np.concatenate([np.ravel(one) for one in finite])
    if maps[0].colours == "cyclic":
        return -np.pi, np.pi
    given = [one.limits for one in maps if one.limits is not None]
    if len(given) == len(maps):
        return min(low for low, _ in given), max(high for _, high in given)
    if not joined.size:
        return -1.0, 1.0
    low, high = float(joined.min()), float(joined.max())
    if maps[0].colours == "signed":
        reach = max(abs(low), abs(high)) or 1.0
        usual = float(np.quantile(np.abs(joined), _USUAL))
        # A few cells far out would leave all others without colour.
        reach = usual if 0 < _FAR * usual < reach else reach
        return -reach, reach
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def draw_map(content: Map, limits: tuple[float, float], name: str = "") -> FigureSpec:
    """A map in the given colour range, rows from top to bottom."""
    x, y = np.asarray(content.x, dtype=float), np.asarray(content.y, dtype=float)
    trace = {
        "type": "heatmap",
        "name": name or content.z_title,
        "x": x,
        "y": y,
        "z": np.asarray(content.z, dtype=float),
        "zmin": limits[0],
        "zmax": limits[1],
        "colorscale": theme.COLOURS[content.colours],
        "colorbar": {"thickness": 10, "title": {"text": content.z_title}},
        "hovertemplate": f"{content.y_title} %{{y:,.6~g}}<br>{content.x_title} %{{x:,.6~g}}<br>"
        f"{content.z_title} %{{z:.5g}}<extra></extra>",
    }
    return FigureSpec(
        [trace],
        layout(
            axis(content.x_title, range=_edges(x)), axis(content.y_title, range=_edges(y)[::-1])
        ),
    )


def _edges(middles: np.ndarray) -> list[float]:
    """Outer edges of a row of evenly spaced cells, the first cell's first."""
    half = (middles[-1] - middles[0]) / (len(middles) - 1) / 2 if len(middles) > 1 else 0.5
    return [float(middles[0] - half), float(middles[-1] + half)]
