"""Which axis turns each pair, and how fast."""

from __future__ import annotations

from typing import cast

import numpy as np

from posviz.figures.results.drawn import At, Line, Lines, ResultFigure
from posviz.results import AxialRotation, Result


def _content(result: Result, at: At) -> Lines:
    rotation = cast(AxialRotation, result)
    pairs = np.arange(int(rotation.inv_freq.shape[0]))
    speeds = np.abs(np.asarray(rotation.axis_freq, dtype=float))
    return Lines(
        [
            Line(name, pairs, np.where(row > 0, row, np.nan), is_step=True)
            for name, row in zip(rotation.axis_names, speeds, strict=True)
        ],
        "pair",
        "frequency (radians per step)",
        log_y=True,
    )


figure = ResultFigure(
    id="axis_of_pair",
    title="Which axis turns each pair",
    formula=r"\varphi_i = \sum_a x_a f_{a,i}",
    help="Each axis has a line over the pairs that it turns: side by side in sections, or taking "
    "turns. A pair under two lines turns with both.",
    limits="How the pairs are shared out; what the model sees along an axis is in the other "
    "figures.",
    accepts=lambda result: isinstance(result, AxialRotation),
    content=_content,
    order=6,
    uses=frozenset(),
)
