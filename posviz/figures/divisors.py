"""By how much each pair is slowed, and the ramp between kept and divided pairs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posviz.figures.spec import FigureSpec, Series, curve, figure, layout, log_axis
from posviz.figures.wavelengths import bands, pair_axis
from posviz.measures import Spectrum


@figure(
    title="Effective divisor of each pair",
    formula=r"\frac{f_i}{f'_i} = \frac{\text{⟨trained⟩}}{\text{⟨inv_freq⟩}} = \text{⟨divisor⟩},"
    r"\quad i = \text{⟨pair⟩}",
    help="1 means that the pair turns as in training; s means that it is slowed as much as "
    "position interpolation would. Position interpolation is flat at s, NTK-aware rises smoothly, "
    "YaRN keeps 1 for the fast pairs, then climbs its ramp to s.",
    limits="A divisor says how a pair was changed, not whether the change was needed: compare it "
    "with the turns of the pair in the next panel.",
)
def divisors(series: Sequence[Series[Spectrum]]) -> FigureSpec:
    """f / f' per pair on a log axis, one line per method."""
    traces = [
        curve(
            item.label,
            item.slot,
            item.measure.pairs,
            item.measure.divisor,
            hover="pair %{x}<br>divided by %{y:.5~g}",
        )
        for item in series
    ]
    finite = np.concatenate([trace["y"][np.isfinite(trace["y"])] for trace in traces])
    low, high = min(float(finite.min()), 1.0), max(float(finite.max()), 2.0)
    return FigureSpec(
        traces,
        layout(
            pair_axis(series),
            log_axis("f / f′", low / 1.1, high * 1.15),
            shapes=bands(series),
        ),
    )
