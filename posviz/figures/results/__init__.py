"""Figures of results: each is drawn of every result that it accepts, whatever encoding gave it.

A new file here with one :class:`ResultFigure` called ``figure`` is found by itself.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil

from posviz.figures.results.drawn import (
    At,
    Line,
    Lines,
    Map,
    ResultFigure,
    draw_lines,
    draw_map,
    drawn,
    limits_of,
)
from posviz.results import Result


@functools.cache
def result_figures() -> tuple[ResultFigure, ...]:
    """Every figure of results, in the order in which a page shows them."""
    modules = [
        importlib.import_module(f"{__name__}.{found.name}")
        for found in pkgutil.iter_modules(__path__)
    ]
    figures = [module.figure for module in modules if hasattr(module, "figure")]
    return tuple(sorted(figures, key=lambda figure: (figure.order, figure.id)))


def accepting(result: Result) -> tuple[ResultFigure, ...]:
    """The figures that can show this result."""
    return tuple(figure for figure in result_figures() if figure.accepts(result))


__all__ = [
    "At",
    "Line",
    "Lines",
    "Map",
    "ResultFigure",
    "accepting",
    "draw_lines",
    "draw_map",
    "drawn",
    "limits_of",
    "result_figures",
]
