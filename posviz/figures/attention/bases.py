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
    "one. Bases that hold through the whole context are islands, not everything above a threshold, "
    "so a larger base can be worse; an island narrower than the step between two scanned bases is "
    "not seen here. The star is the smallest base that a finer search found to hold, the lower "
    "bound of Men et al. for this context.",
    limits="A condition on equal queries and keys, not a recipe: Llama 2, with base 10,000, first "
    "fails at 1,707 and was trained at 4,096.",
)
def bases(search: BaseSearch, *, current: float, smallest: float | None = None) -> FigureSpec:
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
    star = {
        **curve(
            "smallest base found to hold",
            1,
            np.array([smallest or np.nan]),
            np.array([float(search.length)]),
            hover="base %{x:,.0f} is the smallest found to hold",
        ),
        "mode": "markers",
        "marker": {"size": 12, "symbol": "star", "color": theme.SERIES[1]},
    }
    low, high = float(np.nanmin(reached)), float(search.length)
    return FigureSpec(
        [line, marks, *([star] if smallest is not None else [])],
        layout(
            log_axis("base", float(search.bases[0]), float(search.bases[-1])),
            log_axis("distance (tokens)", low / 1.3, high * 1.3),
            levels=[
                level(search.length, f"ℓ = {search.length:,}", across="y", log=True),
                level(current, f"b = {current:,.0f}", across="x", log=True),
            ],
        ),
    )
