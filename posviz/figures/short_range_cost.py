"""What an extension costs at short range."""

from __future__ import annotations

from collections.abc import Sequence

from posviz.figures.spec import FigureSpec, Series, axis, curve, figure, layout
from posviz.measures import ShortRangeCost


@figure(
    title="Cost at short range",
    formula=r"\Delta a(\delta) = a(\delta) - a_{\text{unscaled}}(\delta) = \text{⟨change⟩},"
    r"\quad \delta = \text{⟨distance⟩}",
    help="The change of the q = k score against unscaled RoPE at distances 1 to 64, where most "
    "attention happens. Zero means that near tokens look as they did in training. Interpolation "
    "raises the curve, because neighbours look closer than they are; an attention factor raises "
    "all of it.",
    limits="Fine-tuning can repair part of it. The sign is not a quality: a higher score of near "
    "keys is as unfamiliar to the model as a lower one.",
)
def short_range_cost(series: Sequence[Series[ShortRangeCost]]) -> FigureSpec:
    """Change of the score per distance, one line per method."""
    traces = [
        curve(
            item.label,
            item.slot,
            item.measure.distances,
            item.measure.change,
            hover="distance %{x}<br>change %{y:+.4f}",
        )
        for item in series
    ]
    last = int(series[0].measure.distances[-1])
    return FigureSpec(
        traces,
        layout(
            axis("distance (tokens)", range=[0, last + 1]),
            axis("change of score", zeroline=True),
        ),
    )
