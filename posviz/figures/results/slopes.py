"""Slope of every head."""

from __future__ import annotations

from typing import cast

import numpy as np

from posviz.figures.results.drawn import At, Line, Lines, ResultFigure
from posviz.results import AttentionBias, Result


def _content(result: Result, at: At) -> Lines:
    slopes = np.asarray(cast(AttentionBias, result).slopes)
    heads = np.arange(len(slopes))
    # A single head would be a line without length.
    x, y = (heads, slopes) if len(heads) > 1 else (np.array([0.0, 1.0]), np.repeat(slopes, 2))
    return Lines([Line("slope", x, y, is_step=True)], "head", "slope", log_y=True)


figure = ResultFigure(
    id="slopes",
    title="Slope of every head",
    formula=r"m_h",
    help="How much each head, counted from 0, loses per token of distance. Heads of a power of two "
    "form one straight line on this log axis; of any other number, the rest starts anew.",
    limits="Fixed numbers: nothing here is trained, whatever the model reads.",
    accepts=lambda result: isinstance(result, AttentionBias) and result.slopes is not None,
    content=_content,
    order=40,
    uses=frozenset(),
)
