"""Wavelength of each pair against the trained window and the target length."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posviz.figures import theme
from posviz.figures.spec import FigureSpec, Series, axis, curve, figure, layout, level, log_axis
from posviz.measures import BANDS, Spectrum


@figure(
    title="Wavelength of each pair",
    formula=r"\lambda_i = \frac{2\pi}{f'_i} = \frac{2\pi}{\text{⟨inv_freq⟩}} "
    r"= \text{⟨wavelength⟩}\ \text{tokens},\quad i = \text{⟨pair⟩}",
    help="Every pair of dimensions turns once per wavelength. Pairs whose unscaled wavelength, "
    "the grey line, is below L completed at least one turn while the model was trained; those "
    "above it never did. The shaded bands say what the first method does with each pair: keeps "
    "it, blends it, or divides it by its full factor.",
    limits="How much a trained model relies on each pair: many heads use only a few of them.",
)
def wavelengths(
    series: Sequence[Series[Spectrum]], *, trained_length: int, target_length: int
) -> FigureSpec:
    """Log wavelength per pair, one line per method, the bands of the first method shaded."""
    traces = [
        curve(
            item.label,
            item.slot,
            item.measure.pairs,
            item.measure.wavelengths,
            hover="pair %{x}<br>%{y:,.5~g} tokens per turn",
        )
        for item in series
    ]
    finite = np.concatenate([trace["y"][np.isfinite(trace["y"])] for trace in traces])
    low, high = min(float(finite.min()), 6.0), max(float(finite.max()), target_length)
    return FigureSpec(
        traces,
        layout(
            pair_axis(series),
            log_axis("tokens per turn", low / 1.3, high * 2),
            levels=length_levels(trained_length, target_length, across="y"),
            shapes=bands(series),
        ),
    )


def pair_axis(series: Sequence[Series[Spectrum]]) -> dict[str, Any]:
    last = max(len(item.measure.pairs) for item in series) - 1
    return axis("pair (0 is the fastest)", range=[-0.5, last + 0.5])


def length_levels(trained_length: int, target_length: int, *, across: Any) -> list[Any]:
    """The trained window L and the target L' as reference lines, one where they are equal."""
    marks = [(trained_length, f"L = {trained_length:,}")]
    if target_length != trained_length:
        marks.append((target_length, f"L′ = {target_length:,}"))
    return [level(value, text, across=across, log=True) for value, text in marks]


def has_bands(measure: Spectrum) -> bool:
    """False where every pair has a divisor of its own: two end pairs are no bands."""
    return measure.kept + measure.divided > 2


def bands(series: Sequence[Series[Spectrum]]) -> list[dict[str, Any]]:
    """Shaded runs of kept, blended and divided pairs of the first method."""
    first = next((item.measure for item in series if item.slot is not None), None)
    if first is None or not has_bands(first):
        return []
    codes = first.band
    starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]])
    ends = np.r_[starts[1:], len(codes)]
    return [
        {
            "type": "rect",
            "x0": int(start) - 0.5,
            "x1": int(end) - 0.5,
            "y0": 0,
            "y1": 1,
            "yref": "paper",
            "line": {"width": 0},
            "fillcolor": theme.BANDS[BANDS[codes[start]]],
            "layer": "below",
        }
        for start, end in zip(starts, ends, strict=True)
    ]
