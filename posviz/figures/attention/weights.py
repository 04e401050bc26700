"""Softmax weights of the last query against distance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posviz.figures.spec import FigureSpec, Series, curve, figure, layout, level, log_axis
from posviz.measures.split_angle import Floats

_LEAST = 1e-9
"""Weights below it are off the axis: nobody can tell them from 0."""


@figure(
    title="Weight of each key for the last query",
    formula=r"w(\delta) = \frac{e^{z(\delta)}}{\sum_{\delta'=0}^{\ell-1} e^{z(\delta')}} "
    r"= \text{⟨weight⟩}\quad \text{at}\quad \delta = \text{⟨distance⟩}",
    help="What the softmax over the whole context gives to the key at each distance, for the model "
    "of the content that is chosen. Both axes are logarithmic: a straight line down is a power of "
    "the distance, a curve that bends down ever faster is an exponential. The notes give the "
    "half-life, the distance at which the logit has fallen by ln 2.",
    limits="A model of the content, not a trained head: real keys differ in more than their "
    "position. Weights below 10⁻⁹ are off the axis.",
)
def weights(
    series: Sequence[Series[tuple[Floats, Floats]]], *, length: int, trained: int
) -> FigureSpec:
    """Weight per distance on two log axes; a measure is (distances, weights)."""
    traces = [
        curve(
            item.label,
            item.slot,
            item.measure[0],
            np.where(item.measure[1] > 0, item.measure[1], np.nan),
            hover="distance %{x:,}<br>weight %{y:.3g}",
        )
        for item in series
    ]
    shown = np.concatenate([trace["y"][trace["y"] >= _LEAST] for trace in traces])
    low, high = (float(shown.min()), float(shown.max())) if shown.size else (_LEAST, 1.0)
    return FigureSpec(
        traces,
        layout(
            log_axis("distance (tokens)", 0.9, max(length, 2)),
            log_axis("weight", low / 1.5, min(1.5, high * 1.5)),
            levels=[level(trained, f"L = {trained:,}", across="x", log=True)],
        ),
    )
