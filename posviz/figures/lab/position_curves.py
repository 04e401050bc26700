"""Result of a trained model against position in its longest test."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from posviz.figures.lab.ghosts import UNITS, Points, floor_level, ghost
from posviz.figures.spec import FigureSpec, Series, axis, curve, figure, layout, level


@figure(
    title="Where it breaks: position in the longest test",
    formula=r"\text{result}(t) = \text{mean over the tokens around}\ t",
    help="Within sequences of the longest test: the mean result in 64 windows of positions. "
    "Positions left of the dotted line were trained, and where a causal encoding does not look at "
    "the length, the model does there what it did in training: it breaks where its curve leaves "
    "that level.",
    limits="A window holds few tokens of each sequence, so that the curve is rough. Gaps are "
    "windows in which no answer counts: in copy and reverse the whole first row, and rows here are "
    "half as long as the test, so that nothing left of the dotted line counts. Encodings that "
    "follow the length of the sequence (dynamic NTK and YaRN, log n) are others at early positions "
    "as well, and those trained with drawn positions meet the usual ones only here.",
)
def position_curves(
    series: Sequence[Series[Points]],
    *,
    trained: int,
    longest: int,
    metric: Literal["loss", "accuracy"],
    best: float,
    chance: float,
    ghosts: Sequence[Series[Points]] = (),
) -> FigureSpec:
    """Loss or accuracy per window of positions; arguments as of ``length_curves``."""
    traces: list[dict[str, Any]] = [ghost(_line(item, metric)) for item in ghosts]
    traces += [_line(item, metric) for item in series]
    results = np.concatenate([trace["y"] for trace in traces] or [np.zeros(0)])
    highest = float(np.nanmax(results, initial=max(best, chance)))
    return FigureSpec(
        traces,
        layout(
            axis("position (tokens)", range=[0, longest]),
            axis(f"{metric} ({UNITS[metric]})", range=[0, 1.08 * highest]),
            levels=[
                level(trained, f"L = {trained}", across="x", log=False),
                floor_level(best, "best possible", is_below=metric == "loss" and best > 0),
                level(chance, "guessing", across="y", log=False, label_at_start=True),
            ],
        ),
    )


def _line(item: Series[Points], metric: str) -> dict[str, Any]:
    positions, results = item.measure
    hover = "around position %{x:.0f}<br>" + metric + " %{y:.3f}"
    return curve(item.label, item.slot, positions, results, hover=hover)
