"""What rounding one stage after the other does to one encoding."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posviz.figures.spec import FigureSpec, curve, figure, layout, log_axis
from posviz.measures.split_angle import Floats

_LEAST = 1e-12


@figure(
    title="Precision lens",
    formula=r"|\tilde{z}(\delta) - z(\delta)|,\quad \tilde{z}\ \text{with one stage rounded}",
    help="The error of the last query's score when one stage of the computation is rounded to the "
    "chosen format and all others are exact: the positions, the frequencies, the angle as their "
    "product, the tables of cosines and sines; for a bias the positions, the bias, or its sum with "
    "a content of 1. A stage is fatal where neighbours merge, a number is infinite, more than 0.1 "
    "of the score is off, or more than 10 % of the weight moves; benign where it costs at most "
    "twice what tables in bfloat16 do, or moves at most 1 %; harmful between.",
    limits="One stage at a time: code that keeps positions and frequencies in a short format has "
    "several of these errors at once. Of a rotation it is the rotated part alone, without decay or "
    "factors. A model that was trained with an error has learned it.",
)
def precision(
    stages: Sequence[tuple[str, Floats, Floats]], *, length: int, unit: str
) -> FigureSpec:
    """Size of the error per distance on two log axes; a stage is (name, distances, errors)."""
    traces = []
    for slot, (name, distances, errors) in enumerate(stages):
        size = np.abs(errors)
        far = distances >= 1
        shown = np.where(np.isfinite(size) & (size >= _LEAST), size, np.nan)
        traces.append(
            curve(
                name,
                slot,
                distances[far].astype(np.int32),
                shown[far],
                hover="distance %{x:,}<br>error %{y:.2e}",
            )
        )
    joined = np.concatenate([trace["y"] for trace in traces])
    finite = joined[np.isfinite(joined)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (1e-9, 1.0)
    return FigureSpec(
        traces,
        layout(
            log_axis("distance (tokens)", 0.9, max(length, 2)),
            log_axis(f"error of the {unit}", max(low, _LEAST) / 2, max(high, 1e-6) * 2),
        ),
    )
