"""Of which waves a table is made."""

from __future__ import annotations

from typing import cast

import numpy as np

from posviz.figures.results.drawn import At, Line, Lines, ResultFigure
from posviz.measures import power_spectrum
from posviz.results import PositionTable, Result


def _content(result: Result, at: At) -> Lines:
    found = power_spectrum(np.asarray(cast(PositionTable, result).vectors))
    strongest = int(np.argmax(found.power))
    words = f"{found.power[:4].sum():.0%} in the four slowest"
    return Lines(
        [
            Line(f"share of the power, {words}", found.cycles, found.power),
            Line(
                f"strongest: {found.wavelengths[strongest]:.4g} positions per turn",
                found.cycles[[strongest]],
                found.power[[strongest]],
                is_mark=True,
            ),
        ],
        "turns over the positions shown",
        "share of the power",
        log_x=True,
    )


figure = ResultFigure(
    id="table_power",
    title="Power of each wave",
    formula=r"P(f) \propto \sum_j \Bigl| \sum_t p_t[j]\, e^{-2\pi i f t / n} \Bigr|^2",
    help="The columns as sums of waves over the positions: how much of their change each frequency "
    "carries. Noise is flat; a table whose near rows are alike has its power at the left.",
    limits="Taken over the positions shown as if they went on in a circle: what does not close "
    "leaks into neighbouring frequencies. The mean of each column is left out.",
    accepts=lambda result: isinstance(result, PositionTable) and len(result.vectors) > 3,
    content=_content,
    order=66,
    uses=frozenset(),
)
