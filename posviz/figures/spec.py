"""A figure before plotly sees it: plain dictionaries and arrays, with the words that explain it.

The live page sends these dictionaries to the browser as they are; everybody else calls the figure
and gets a plotly Figure, built from the same dictionaries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, TypeVar

import numpy as np

from posviz.figures import theme
from posviz.figures.letters import lettered, with_readable_bar

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

Measure = TypeVar("Measure")
Arguments = ParamSpec("Arguments")


@dataclass(frozen=True)
class Series(Generic[Measure]):
    """One method in a figure: its name, what was measured, and its place in the palette.

    ``slot`` None is the unscaled baseline.
    """

    label: str
    slot: int | None
    measure: Measure


@dataclass(frozen=True)
class FigureSpec:
    """Traces and layout as plotly reads them, with an ink wherever a colour depends on the page."""

    data: list[dict[str, Any]]
    layout: dict[str, Any]

    def figure(self, mode: Literal["light", "dark"] = "light") -> Figure:
        from plotly.graph_objects import Figure  # heavy; the live page never needs it

        data = [with_readable_bar(trace) for trace in self.data]
        return Figure(
            data=theme.in_mode(data, mode), layout=theme.in_mode(lettered(self.layout), mode)
        )


@dataclass(frozen=True)
class FigureBuilder(Generic[Arguments]):
    """A named figure: call it for a plotly Figure, or ``build`` it for the plain FigureSpec."""

    title: str
    formula: str
    """LaTeX; ⟨name⟩ inside \\text stands for a number at the cursor."""
    help: str
    limits: str
    build: Callable[Arguments, FigureSpec]

    def __call__(self, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Figure:
        return self.build(*args, **kwargs).figure()


def figure(
    *, title: str, formula: str, help: str, limits: str
) -> Callable[[Callable[Arguments, FigureSpec]], FigureBuilder[Arguments]]:
    """Give a building function its title and its words."""

    def wrap(build: Callable[Arguments, FigureSpec]) -> FigureBuilder[Arguments]:
        return FigureBuilder(title=title, formula=formula, help=help, limits=limits, build=build)

    return wrap


def curve(
    label: str, slot: int | None, x: Any, y: Any, *, hover: str, **more: Any
) -> dict[str, Any]:
    """One line; values that a log axis cannot show (infinite) become gaps."""
    y = np.asarray(y, dtype=float)
    return {
        "type": "scatter",
        "mode": "lines",
        "name": label,
        "x": np.asarray(x),
        "y": np.where(np.isfinite(y), y, np.nan),
        "line": theme.line(slot),
        "hovertemplate": hover + "<extra>%{fullData.name}</extra>",
        **more,
    }


def axis(title: str, **more: Any) -> dict[str, Any]:
    return {"title": {"text": title}, "automargin": False, **more}


def log_axis(title: str, low: float, high: float, **more: Any) -> dict[str, Any]:
    """A log axis from ``low`` to ``high``; only decades are labelled where there are several."""
    ends = [float(np.log10(low)), float(np.log10(high))]
    ticks = {"dtick": 1} if ends[1] - ends[0] > 1.5 else {}
    return axis(title, type="log", range=ends, **ticks, **more)


def level(
    value: float,
    text: str,
    *,
    across: Literal["x", "y"],
    log: bool,
    ink: theme.Ink | None = None,
    label_at_start: bool = False,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A reference line at one value of an axis, and its label: (shape, annotation).

    The label of a level stands at the right end of its line, or at the left one where curves reach
    the level at the right.
    """
    ink = ink or theme.REFERENCE
    along = "y" if across == "x" else "x"
    place = float(np.log10(value)) if log else value
    shape = {
        "type": "line",
        f"{across}0": value,
        f"{across}1": value,
        f"{along}0": 0,
        f"{along}1": 1,
        f"{along}ref": "paper",
        "line": {"color": ink, "width": 1, "dash": "dot"},
    }
    label: dict[str, Any] = {
        "text": text,
        across: place,
        along: 1,
        f"{along}ref": "paper",
        "showarrow": False,
        "font": {"size": 11, "color": ink},
        # Curves that cross the label pass behind it.
        "bgcolor": theme.GROUND,
        "borderpad": 1,
        # Labels stay inside the plot: above a level line at its right end, left of an upright one.
        "xanchor": "right",
        "yanchor": "bottom" if across == "y" else "top",
    }
    if label_at_start and across == "y":
        label |= {"x": 0, "xanchor": "left"}
    return shape, label


def layout(
    x: dict[str, Any],
    y: dict[str, Any],
    *,
    levels: list[tuple[dict[str, Any], dict[str, Any]]] | None = None,
    shapes: list[dict[str, Any]] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """The layout that all figures share; margins are fixed so that nothing jumps while it moves."""
    levels = levels or []
    return {
        "xaxis": x,
        "yaxis": y,
        "margin": {"l": 62, "r": 14, "t": 12, "b": 44},
        "showlegend": False,
        "hovermode": "closest",
        "shapes": [*(shapes or []), *(shape for shape, _ in levels)],
        "annotations": [label for _, label in levels],
        **more,
    }
