"""What the sum of waves can never exceed, beside what it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posviz.figures import theme
from posviz.figures.spec import FigureSpec, curve, figure, layout, log_axis
from posviz.measures.split_angle import Floats


@dataclass(frozen=True)
class Bounds:
    """Bounds of |a(δ)| over the pairs, for a(δ) = Σ_i h_i·e^(iδf_i); every array is (distances,).

    Attributes
    ----------
    distances : tokens.
    equal : |a| for h of 1 in every pair: the sum of equal query and key.
    relative : RoFormer's relative bound, (1/pairs)·Σ|S_j|.
    extrapolation : the bound of position interpolation's paper, 2·Σ|S_j|/pairs.
    """

    distances: Floats
    equal: Floats
    relative: Floats
    extrapolation: Floats


@figure(
    title="Bounds of the sum, over max |h|",
    formula=r"\frac{1}{P}\left|\sum_i h_i e^{\mathrm{i}\delta f_i}\right| \leq \max|h|,\quad "
    r"\frac{1}{P}\sum_j |S_j| = \text{⟨bound⟩},\quad \delta = \text{⟨distance⟩}",
    help="S_j is the sum of the first j waves. RoFormer's bound is the mean of their sizes times "
    "the largest step between neighbouring h, and it falls with distance; position interpolation's "
    "paper takes twice their sum over the largest h. Solid is the sum itself with every h equal. "
    "Both lie above the trivial bound of 1 through any usual window: they say how the worst case "
    "falls, not how a score does.",
    limits="Bounds for the worst query and key. The printed bound for positions between trained "
    "ones, D·max|h|/(32 ln b), can be exceeded: it rests on an inequality that points the other "
    "way; the notes give the true one.",
)
def bounds(measure: Bounds) -> FigureSpec:
    """Sizes per distance, distances on a log axis."""
    x = measure.distances.astype(np.int32)
    hover = "distance %{x:,}<br>%{y:.4f}"
    traces = [
        curve("|Σ cos|, all h equal", 0, x, measure.equal, hover=hover),
        curve("RoFormer, relative", 1, x, measure.relative, hover=hover),
        curve("interpolation paper", 2, x, measure.extrapolation, hover=hover),
        {
            **curve("trivial", None, x, np.ones(len(x)), hover=hover),
            "line": {**theme.line(None), "dash": "dot"},
        },
    ]
    shown = measure.equal[measure.equal > 0]
    low = max(1e-4, float(shown.min())) if shown.size else 1e-4
    return FigureSpec(
        traces,
        layout(
            log_axis("distance (tokens)", 0.9, max(2.0, float(x[-1]))),
            log_axis("|a| over pairs", low / 1.5, float(np.max(measure.extrapolation)) * 1.5),
        ),
    )
