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

_LEVEL = {
    "x": 0.01,
    "y": 0.0,
    "xref": "paper",
    "yref": "paper",
    "xanchor": "left",
    "yanchor": "bottom",
    "showarrow": False,
    "font": {"size": 11, "color": theme.REFERENCE},
}
"""Where the level is named: in a corner, since all lines run along it."""


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
    "window w. The upright line is the window L: the one that the model was trained with, or an "
    "artificial one. The level line is the mean loss within L of the plain model, the one without "
    "any method: a method works as far as its line beyond L is not above that level. Pairs of "
    "frequencies leave what they have met in training one after the other, the slowest first, so "
    "the plain model does not break at L at once. The band is one standard error of the mean over "
    "the n tokens under it, s/√n.",
    limits="One text, so hard passages show as hills in every line: compare lines at one position, "
    "and see the differences below, in which they drop out. A line that is level can lie too high "
    "everywhere. Neighbouring tokens are alike and all lines read the same tokens, so the band "
    "overstates what is known of another text and understates how sure the difference of two lines "
    "is. A low loss does not say that far tokens are used: the pass keys ask that.",
)
def loss_by_position(
    series: Sequence[Series[LossLine]],
    *,
    window: int,
    length: int,
    plain_within: float | None = None,
    ceiling: float | None = None,
) -> FigureSpec:
    """Nats per token over position, each with its band.

    ``plain_within`` is the plain model's mean loss within the window; ``ceiling`` None chooses the
    top of the axis.
    """
    drawn = [item for item in series if len(item.measure.positions)]
    bands = [band(item) for item in drawn]
    lines = [mean_line(item, "loss %{y:.3f} nats") for item in drawn]
    marks = [level(window, f"L = {window:,}", across="x", log=False)] if window < length else []
    if plain_within is not None:
        line, _ = level(plain_within, "", across="y", log=False)
        marks.append((line, _LEVEL | {"text": f"level line: plain within L, {plain_within:.3f}"}))
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


def mean_line(item: Series[LossLine], value: str) -> dict[str, Any]:
    """The running mean of one method; ``value`` is how hovering tells its y."""
    return curve(
        item.label,
        item.slot,
        np.asarray(item.measure.positions),
        item.measure.mean,
        hover=f"position %{{x:,.0f}}<br>{value}<br>mean over %{{customdata}} tokens",
        customdata=np.asarray(item.measure.counts),
    )


def band(item: Series[LossLine]) -> dict[str, Any]:
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
