"""How the loss of each method differs from the plain model's, token by token."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posviz.figures.lab.loss_by_position import LossLine, band, mean_line
from posviz.figures.spec import FigureSpec, Series, axis, figure, layout, level

_CEILING = 1.0
"""How far from no difference the axis goes by itself, in nats: what lies beyond is reached by
dragging it."""


@figure(
    title="Loss less that of the plain model",
    formula=r"\bar{d}(p) = \frac{1}{n} \sum_{|j - p| < w/2} (\ell_j - \ell_j^{\text{plain}}) = "
    r"\text{⟨gap⟩},\quad p = \text{⟨position⟩}",
    help="The difference is taken on each token before it is averaged over the window w, so that "
    "hard passages, which are hard for every method, drop out. Below 0 a method predicts these "
    "tokens better than the same model without it. The upright line is the window L. The band is "
    "one standard error of the mean difference, s/√n.",
    limits="One text and one model; neighbouring tokens are alike, so the band is somewhat too "
    "narrow. Where the plain model breaks far beyond L, a method can be far below 0 and still "
    "above the level that it had within L: the loss itself shows that.",
)
def loss_gap(series: Sequence[Series[LossLine]], *, window: int, length: int) -> FigureSpec:
    """Nats per token over position, each with its band; 0 is the plain model."""
    drawn = [item for item in series if len(item.measure.positions)]
    lines = [mean_line(item, "%{y:+.3f} nats against plain") for item in drawn]
    line, label = level(0, "plain", across="y", log=False)
    # Below its left end, where methods lie a little above it.
    marks = [(line, label | {"x": 0.01, "xanchor": "left", "yanchor": "top"})]
    if window < length:
        marks.append(level(window, f"L = {window:,}", across="x", log=False))
    return FigureSpec(
        [*(band(item) for item in drawn), *lines],
        layout(
            axis("position (tokens)", range=[0, length], tickformat=","),
            axis("difference (nats per token)", range=_range(drawn)),
            levels=marks,
        ),
    )


def _range(series: Sequence[Series[LossLine]]) -> list[float]:
    """All of the lines, but no farther than a nat from 0 unless even the best one lies there."""
    if not series:
        return [-0.5, 0.5]
    lows = [float(np.nanmin(item.measure.low)) for item in series]
    highs = [float(np.nanmax(item.measure.high)) for item in series]
    low = max(min(lows), -_CEILING) if max(lows) > -_CEILING else min(lows)
    high = min(max(highs), _CEILING) if min(highs) < _CEILING else max(highs)
    low, high = min(low, 0.0), max(high, 0.0)
    margin = 0.05 * max(high - low, 0.1)
    return [low - margin, high + margin]
