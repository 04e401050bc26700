"""Score against distance, for the question that is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from posviz.figures import theme
from posviz.figures.spec import FigureSpec, Series, axis, curve, figure, layout, level, log_axis
from posviz.measures.split_angle import Floats

_STEEP = 3.0
"""How many matches deep the axis goes: a steep bias would flatten everything else."""


@dataclass(frozen=True)
class ScoreCurve:
    """One encoding's score against distance.

    Attributes
    ----------
    distances, scores : (points,) of the line itself.
    band : (distances, low, high) of one standard deviation around it, where it is a mean.
    examples : lines of single draws, (distances, scores) each.
    """

    distances: Floats
    scores: Floats
    band: tuple[Floats, Floats, Floats] | None = None
    examples: Sequence[tuple[Floats, Floats]] = field(default_factory=tuple)


@figure(
    title="Score against distance",
    formula=r"z(\delta) = \text{⟨score⟩}\quad \text{at}\quad \delta = \text{⟨distance⟩}",
    help="The logit of a key at distance δ before the last query, for the question that is chosen. "
    "Equal: the key equals the query, all pairs of the same size, so the score is a sum of cosines "
    "times g, plus the bias. Independent: the mean, which is 0 (or the bias) at every distance, a "
    "band of one standard deviation by formula, and one draw, thin. Given: one query and one key.",
    limits="These are three questions with three answers. That the sum of cosines falls says "
    "nothing about independent queries and keys, and it is not monotone itself. The axis ends "
    "three matches below 0: a steep bias goes on below it.",
)
def decay(
    series: Sequence[Series[ScoreCurve]], *, length: int, trained: int, match: float
) -> FigureSpec:
    """Logit per distance on a log axis, one line per encoding."""
    traces = [trace for item in series for trace in _around(item)]
    lines = [
        curve(
            item.label,
            item.slot,
            item.measure.distances,
            item.measure.scores,
            hover="distance %{x:,}<br>score %{y:.4f}",
        )
        for item in series
    ]
    return FigureSpec(
        [*lines, *traces],
        layout(
            log_axis("distance (tokens)", 0.9, max(length, 2)),
            axis("score (logit)", range=_range([*lines, *traces], match), zeroline=True),
            levels=[level(trained, f"L = {trained:,}", across="x", log=True)],
        ),
    )


def _range(traces: Sequence[dict[str, Any]], match: float) -> list[float]:
    """From the lowest to the highest point, but no deeper than a few matches below 0."""
    joined = np.concatenate([np.asarray(trace["y"], dtype=float) for trace in traces])
    finite = joined[np.isfinite(joined)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (-1.0, 1.0)
    low = max(low, min(high, 0.0) - _STEEP * max(match, 1.0))
    margin = 0.05 * max(high - low, 1.0)
    return [low - margin, high + margin]


def _around(item: Series[ScoreCurve]) -> list[dict[str, Any]]:
    """What stands around a line: band and draws; none of it in the legend."""
    found = []
    thin_line = {**theme.line(item.slot), "width": 1, "dash": "dot"}
    measure = item.measure
    if measure.band is not None:
        x, low, high = measure.band
        found.append(_extra(item, "one σ below", x, low, thin_line))
        found.append(_extra(item, "one σ above", x, high, thin_line))
    faint = {**theme.line(item.slot), "width": 0.7, "dash": "solid"}
    found += [
        _extra(item, f"draw {number}", x, y, faint)
        for number, (x, y) in enumerate(measure.examples, start=1)
    ]
    return found


def _extra(
    item: Series[ScoreCurve], name: str, x: Floats, y: Floats, line: dict[str, Any]
) -> dict[str, Any]:
    hover = f"{name}<br>distance %{{x:,}}<br>%{{y:.4f}}"
    trace = curve(f"{item.label}: {name}", item.slot, x, y, hover=hover, showlegend=False)
    return {**trace, "line": line}
