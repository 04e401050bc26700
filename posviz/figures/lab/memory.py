"""Recall of the last written bit, where the test is longer, denser or sparser than the training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posviz.figures import theme
from posviz.figures.spec import FigureSpec, Series, axis, figure, layout, level

PATTERNS = ("", "/", ".", "\\", "x", "-")
"""A pattern repeats what the colour says."""
TALL = {"l": 62, "r": 14, "t": 12, "b": 66}
"""Margins with room for ticks of two or three lines."""


@figure(
    title="Flip-flop memory: longer, denser, sparser",
    formula=r"\text{accuracy} = \frac{\#\{\text{reads answered with the bit last written}\}}"
    r"{\#\{\text{reads}\}}",
    help="The share of reads that are answered with the bit last written, one column for each kind "
    "of test: as in training; the same at a greater length; with fewer instructions to skip "
    "(denser: the last write is near); with more of them (sparser: it is far back). A model that "
    "guesses is right half of the time. One that has learned to look a fixed way back is right in "
    "the first column and wrong where writes get rare.",
    limits="Accuracy near 1 hides rare failures: between 0.99 and 1 lies all that matters in long "
    "chains of such steps. One seed, and one tiny model for each encoding.",
)
def memory(
    series: Sequence[Series[Sequence[float]]], *, tests: Sequence[str], chance: float
) -> FigureSpec:
    """One group of bars per test, one bar per series; none where the result is NaN.

    Parameters
    ----------
    series : accuracy for each of ``tests``.
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


def _bars(item: Series[Sequence[float]], tests: Sequence[str]) -> dict[str, Any]:
    style = theme.line(item.slot)
    return {
        "type": "bar",
        "name": item.label,
        "x": list(tests),
        "y": np.asarray(item.measure, dtype=float),
        "marker": {
            "color": style["color"],
            "pattern": {"shape": PATTERNS[item.slot or 0], "solidity": 0.25},
        },
        "hovertemplate": "%{x}<br>accuracy %{y:.3f}<extra>%{fullData.name}</extra>",
    }
