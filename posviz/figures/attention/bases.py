"""Which bases keep the sum of cosines from turning negative."""

from __future__ import annotations

import numpy as np

from posviz.figures import theme
from posviz.figures.spec import FigureSpec, curve, figure, layout, level, log_axis
from posviz.measures import BaseSearch


@figure(
    title="First negative distance against base",
    formula=r"\delta_0(b) = \min\left\{\delta : \sum_i \cos(\delta\, b^{-2i/D}) < 0\right\}",
    help="For each base the first distance at which an equal key scores less than an unrelated "
    "one. Bases on the dotted level hold through the whole context: they are islands, not "
    "everything above a threshold, so a larger base can be worse. The smallest one that holds is "
    "the lower bound of Men et al. for this context.",
    limits="A necessary condition for equal queries and keys, not a recipe: models run well past "
    "it, and a base that holds is not therefore a good one.",
)
def bases(search: BaseSearch, *, current: float) -> FigureSpec:
    """First negative distance per base on two log axes; bases that hold stand on the context."""
    reached = np.where(search.valid, float(search.length), search.first_negative)
    line = curve(
        "first negative distance",
        0,
        search.bases,
        reached,
        hover="base %{x:,.0f}<br>first negative at %{y:,.0f}",
    )
    holding = search.valid
    marks = {
        **curve(
            "holds through the context",
            2,
            search.bases[holding],
            reached[holding],
            hover="base %{x:,.0f} holds",
        ),
        "mode": "markers",
        "marker": {"size": 5, "color": theme.SERIES[2]},
    }
    low, high = float(np.nanmin(reached)), float(search.length)
    return FigureSpec(
        [line, marks],
        layout(
            log_axis("base", float(search.bases[0]), float(search.bases[-1])),
            log_axis("distance (tokens)", low / 1.3, high * 1.3),
            levels=[
                level(search.length, f"ℓ = {search.length:,}", across="y", log=True),
                level(current, f"b = {current:,.0f}", across="x", log=True),
            ],
        ),
    )
