"""By how much each pair is slowed, and the ramp between kept and divided pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posviz.figures import theme
from posviz.figures.spec import FigureSpec, Series, axis, curve, figure, layout, log_axis
from posviz.figures.wavelengths import bands, pair_axis
from posviz.measures import Spectrum

_EPSILON = 1e-9


@figure(
    title="Effective divisor of each pair",
    formula=r"\frac{f_i}{f'_i} = \frac{\text{⟨trained⟩}}{\text{⟨inv_freq⟩}} = \text{⟨divisor⟩},"
    r"\ \gamma_i = \text{⟨kept⟩},\ i = \text{⟨pair⟩}",
    help="1 means that the pair turns as in training; s means that it is slowed as much as "
    "position interpolation would. Position interpolation is flat at s, NTK-aware rises smoothly, "
    "YaRN keeps 1 for the fast pairs, then climbs its ramp to s. The fine dotted line is the ramp "
    "γ of the first method in f′ = γ·f + (1 - γ)·f/s, on the right axis.",
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
    lead = next((item for item in series if item.slot is not None), series[0])
    finite = np.concatenate([trace["y"][np.isfinite(trace["y"])] for trace in traces])
    low, high = min(float(finite.min()), 1.0), max(float(finite.max()), 2.0)
    kept = lead.measure.kept_share
    if kept.min() > -_EPSILON and kept.max() < 1 + _EPSILON:
        traces.append(_ramp(lead))  # elsewhere no γ between 0 and 1 gives these frequencies
    return FigureSpec(
        traces,
        layout(
            pair_axis(series),
            log_axis("f / f′", low / 1.1, high * 1.15),
            shapes=bands(series),
            yaxis2=axis(
                "γ of the first method",
                overlaying="y",
                side="right",
                range=[-0.03, 1.08],
                tickmode="auto",
            ),
            margin={"l": 62, "r": 52, "t": 12, "b": 44},
        ),
    )


def _ramp(lead: Series[Spectrum]) -> dict[str, Any]:
    """The share that the first method keeps of each pair, on an axis of its own."""
    return {
        **curve(
            f"γ of {lead.label}",
            lead.slot,
            lead.measure.pairs,
            lead.measure.kept_share,
            hover="pair %{x}<br>γ = %{y:.4f}",
        ),
        "yaxis": "y2",
        "line": {**theme.line(lead.slot), "width": 1, "dash": "dot"},
    }
