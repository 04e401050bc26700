"""Loss of a language model against position, one line per method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from posviz.figures import theme
from posviz.figures.spec import FigureSpec, Series, axis, curve, figure, layout, level

_CEILING = 2.5
"""How many nats above the lowest line the axis goes by itself: a method that breaks would flatten
all others; what lies above is reached by dragging the axis."""


class LossLine(Protocol):
    """A windowed mean of single-token losses against position.

    Attributes
    ----------
    positions : tokens, counted from 0; mean : nats per token.
    low, high : one standard error around the mean.
    counts : tokens under each mean.
    """

    @property
    def positions(self) -> Sequence[float]: ...
    @property
    def mean(self) -> Sequence[float]: ...
    @property
    def low(self) -> Sequence[float]: ...
    @property
    def high(self) -> Sequence[float]: ...
    @property
    def counts(self) -> Sequence[int]: ...


@figure(
    title="Loss against position",
    formula=r"\bar{\ell}(p) = \frac{1}{n} \sum_{|j - p| < w/2} -\ln P(\text{token}_j \mid "
    r"\text{all before}) = \text{⟨loss⟩},\quad p = \text{⟨position⟩}",
    help="What the model loses on each token of one text, in nats, as a running mean over the "
    "window w. The upright line is the window L that the model was trained with. Without a method "
    "the loss rises beyond it, as slow pairs turn to angles that the model has never seen; a "
    "method that works keeps the line level. The band is one standard error of the mean over the n "
    "tokens under it, s/√n.",
    limits="One text, so hard passages show as hills in every line: compare lines at one position, "
    "not one line with itself. Neighbouring tokens are alike and all lines read the same tokens, "
    "so the band overstates what is known of another text and understates how sure the difference "
    "of two lines is. A level loss does not say that far tokens are used: the pass keys ask that.",
)
def loss_by_position(
    series: Sequence[Series[LossLine]], *, trained: int, length: int, ceiling: float | None = None
) -> FigureSpec:
    """Nats per token over position, each with its band; ``ceiling`` None chooses the top."""
    drawn = [item for item in series if len(item.measure.positions)]
    bands = [_band(item) for item in drawn]
    lines = [
        curve(
            item.label,
            item.slot,
            np.asarray(item.measure.positions),
            item.measure.mean,
            hover="position %{x:,.0f}<br>loss %{y:.3f} nats<br>mean over %{customdata} tokens",
            customdata=np.asarray(item.measure.counts),
        )
        for item in drawn
    ]
    marks = [level(trained, f"L = {trained:,}", across="x", log=False)] if trained < length else []
    return FigureSpec(
        [*bands, *lines],
        layout(
            axis("position (tokens)", range=[0, length], tickformat=","),
            axis("loss (nats per token)", range=_range(drawn, ceiling)),
            levels=marks,
        ),
    )


def _range(series: Sequence[Series[LossLine]], ceiling: float | None) -> list[float]:
    """From the lowest line to the highest one, or to a few nats above the lowest line's top."""
    if not series:
        return [0.0, 5.0]
    low = min(float(np.nanmin(item.measure.low)) for item in series)
    tops = [float(np.nanmax(item.measure.high)) for item in series]
    high = min(max(tops), min(tops) + _CEILING) if ceiling is None else ceiling
    margin = 0.05 * max(high - low, 0.1)
    return [low - margin, high + margin]


def _band(item: Series[LossLine]) -> dict[str, Any]:
    """Forth along the lower edge and back along the upper one, filled."""
    x = np.asarray(item.measure.positions, dtype=float)
    low, high = (np.asarray(side, dtype=float) for side in (item.measure.low, item.measure.high))
    ink = theme.line(item.slot)["color"]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"{item.label}: one standard error",
        "x": np.concatenate([x, x[::-1]]),
        "y": np.concatenate([low, high[::-1]]),
        "fill": "toself",
        "fillcolor": {mode: _faint(colour) for mode, colour in ink.items()},
        "line": {"width": 0, "color": ink},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[place : place + 2], 16) for place in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.18)"
