"""Result of a trained model against the length of the test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from posviz.figures.lab.ghosts import UNITS, Points, floor_level, ghost
from posviz.figures.spec import FigureSpec, Series, axis, curve, figure, layout, level, log_axis


@figure(
    title="Trained short, tested long",
    formula=r"\text{result} = \text{⟨score⟩}\quad \text{at}\ \ell = \text{⟨test_length⟩}",
    help="The trained model on new sequences of growing length. Dotted, upright: the length L of "
    "training; tests to its right are longer than any sequence in training. Two counts: a loss is "
    "the mean over the last L/4 tokens of each sequence alone, which from 1.25 L on stand at "
    "positions that no training had; an accuracy is the share of all answers, also of those that "
    "are asked for within the first L tokens. Levels: what no model can beat, and guessing with "
    "all symbols alike. Faint: stored trainings; a name says where one differs from what is set, "
    "and where a training was cut.",
    limits="One tiny model per encoding and one seed. A flat curve says that distance does no harm "
    "on this task, not that the model uses what is far away. Since early answers count, an "
    "accuracy a little beyond L is mostly that of trained positions.",
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
            axis(f"{metric} ({UNITS[metric]})", range=[0, 1.08 * highest]),
            levels=[
                level(trained, f"L = {trained}", across="x", log=True),
                floor_level(best, "best possible", is_below=metric == "loss" and best > 0),
                level(chance, "guessing", across="y", log=False, label_at_start=True),
            ],
        ),
    )


def _line(item: Series[Points], metric: str) -> dict[str, Any]:
    lengths, results = item.measure
    hover = "length %{x:,}<br>" + metric + " %{y:.3f}"
    return curve(item.label, item.slot, lengths, results, hover=hover, mode="lines+markers")
