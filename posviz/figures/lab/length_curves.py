"""Result of a trained model against the length of the test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from posviz.figures.lab.ghosts import floor_level, ghost
from posviz.figures.spec import FigureSpec, Series, axis, curve, figure, layout, level, log_axis

Points = tuple[Sequence[float], Sequence[float]]
"""Lengths, and the result at each of them."""
_UNITS = {"loss": "nats per token", "accuracy": "share of answers"}


@figure(
    title="Trained short, tested long",
    formula=r"\text{result} = \text{⟨score⟩}\quad \text{at}\ \ell = \text{⟨test_length⟩}",
    help="The trained model on new sequences of growing length. Dotted, upright: the length L of "
    "training; to its right every position is farther than any in training. Of a loss it is the "
    "mean over the last quarter of L of each sequence, so that early tokens, which are as in "
    "training, cannot hide a break; an accuracy is that of all answers. Levels: what no model can "
    "beat, and guessing. Faint: the stored training of the same encoding.",
    limits="One tiny model per encoding and one seed. A flat curve says that distance does no harm "
    "on this task, not that the model uses what is far away.",
)
def length_curves(
    series: Sequence[Series[Points]],
    *,
    trained: int,
    longest: int,
    metric: Literal["loss", "accuracy"],
    best: float,
    chance: float,
    ghosts: Sequence[Series[Points]] = (),
) -> FigureSpec:
    """Loss or accuracy per test length on a log axis.

    Parameters
    ----------
    series, ghosts : lengths in tokens and results; ghosts are drawn faintly.
    trained, longest : lengths of training and of the longest test: tokens.
    best, chance : the results of the best model and of guessing.
    """
    traces: list[dict[str, Any]] = [ghost(_line(item, metric)) for item in ghosts]
    traces += [_line(item, metric) for item in series]
    results = np.concatenate([trace["y"] for trace in traces] or [np.zeros(0)])
    highest = float(np.nanmax(results, initial=max(best, chance)))
    ticks = [trained * 2**power for power in range(-1, 5) if trained * 2**power <= longest]
    return FigureSpec(
        traces,
        layout(
            log_axis(
                "length of the test (tokens)",
                trained / 2.1,
                longest * 1.05,
                tickmode="array",
                tickvals=ticks,
                ticktext=[f"{tick:g}" for tick in ticks],
                dtick=None,
            ),
            axis(f"{metric} ({_UNITS[metric]})", range=[0, 1.08 * highest]),
            levels=[
                level(trained, f"L = {trained}", across="x", log=True),
                floor_level(best, "best possible", is_below=metric == "loss" and best > 0),
                level(chance, "guessing", across="y", log=False),
            ],
        ),
    )


def _line(item: Series[Points], metric: str) -> dict[str, Any]:
    lengths, results = item.measure
    hover = "length %{x:,}<br>" + metric + " %{y:.3f}"
    return curve(item.label, item.slot, lengths, results, hover=hover, mode="lines+markers")
