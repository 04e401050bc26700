"""Share of right answers, test by test: longer, denser or sparser than the training."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from posviz.figures import theme
from posviz.figures.spec import FigureSpec, Series, axis, figure, layout, level

PATTERNS = ("", "/", ".", "\\", "x", "-")
"""A pattern repeats what the colour says."""
TALL = {"l": 62, "r": 14, "t": 12, "b": 66}
"""Margins with room for ticks of two or three lines."""


@dataclass(frozen=True)
class Recall:
    """The share of right answers in each test, NaN where there is none.

    ``answers`` says of how many, ``low`` and ``high`` are the ends of the interval; all three are
    empty where they are not known.
    """

    shares: Sequence[float]
    answers: Sequence[float] = ()
    low: Sequence[float] = ()
    high: Sequence[float] = ()


@figure(
    title="Tests that differ from the training",
    formula=r"\text{accuracy} = \frac{\#\{\text{right answers}\}}{\#\{\text{answers}\}}",
    help="The share of right answers, one group of bars for each kind of test: made as in "
    "training; the same at a greater length; denser or sparser, so that what an answer needs is "
    "nearer or farther back. One that has learned to look a fixed way back is right in the first "
    "group and wrong where what counts gets rare. Whiskers: the 95 % interval of a share of so "
    "many answers; hover for their number. Dotted: guessing with all answers alike.",
    limits="Answers of one sequence are not independent, so that the whiskers are, if anything, "
    "too short. They say how exactly this model was measured, not how another seed would come out. "
    "Accuracy near 1 hides rare failures: between 0.99 and 1 lies all that matters in long chains "
    "of such steps.",
)
def memory(series: Sequence[Series[Recall]], *, tests: Sequence[str], chance: float) -> FigureSpec:
    """One group of bars per test, one bar per series; none where the result is NaN.

    Parameters
    ----------
    series : accuracy for each of ``tests``, and the number of answers behind it.
    tests : what the groups are called.
    chance : accuracy of a model that guesses, drawn as a level.
    """
    x = axis(
        "test",
        type="category",
        categoryarray=list(tests),
        categoryorder="array",
        **wrapped(tests),
    )
    return FigureSpec(
        [_bars(item, tests) for item in series],
        layout(
            x,
            axis("accuracy", range=[0, 1.08]),
            levels=[level(chance, "guessing", across="y", log=False)],
            barmode="group",
            margin=TALL,
        ),
    )


def wrapped(categories: Sequence[str]) -> dict[str, Any]:
    """Ticks of a category axis with a line for each word: side by side they need less room."""
    return {
        "tickmode": "array",
        "tickvals": list(categories),
        "ticktext": [name.replace(" ", "<br>") for name in categories],
        "tickangle": 0,
    }


def _bars(item: Series[Recall], tests: Sequence[str]) -> dict[str, Any]:
    style = theme.line(item.slot)
    bars = {
        "type": "bar",
        "name": item.label,
        "x": list(tests),
        "y": np.asarray(item.measure.shares, dtype=float),
        "marker": {
            "color": style["color"],
            "pattern": {"shape": PATTERNS[item.slot or 0], "solidity": 0.25},
        },
        "hovertemplate": "%{x}<br>accuracy %{y:.3f}<extra>%{fullData.name}</extra>",
    }
    return bars | _whiskers(item.measure) if item.measure.answers else bars


def _whiskers(measured: Recall) -> dict[str, Any]:
    """The interval on each bar, and the number of answers for the hover."""
    shares, low, high = (
        np.asarray(row, dtype=float) for row in (measured.shares, measured.low, measured.high)
    )
    return {
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": high - shares,
            "arrayminus": shares - low,
            "thickness": 1,
            "width": 2,
            "color": theme.REFERENCE,
        },
        "customdata": [
            "" if np.isnan(count) else f"{a:.3f} to {b:.3f}<br>{count:,.0f} answers"
            for a, b, count in zip(low, high, measured.answers, strict=True)
        ],
        "hovertemplate": "%{x}<br>accuracy %{y:.3f}, %{customdata}<extra>%{fullData.name}</extra>",
    }
