"""What the sum of waves can never exceed, beside what it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from posviz.figures import theme
from posviz.figures.spec import FigureSpec, curve, figure, layout, log_axis
from posviz.measures.split_angle import Floats


@dataclass(frozen=True)
class Bounds:
    """Bounds of |a(δ)| per pair, for a(δ) = Re Σ_i h_i·e^(iδf_i); every array is (distances,).

    Attributes
    ----------
    distances : tokens.
    equal : |a| per pair for h of 1 in every pair: the sum of equal query and key.
    relative : RoFormer's relative bound, (1/pairs)·Σ|S_j|, for a largest step between neighbouring
        h of 1.
    extrapolation : that of position interpolation's paper, 2·Σ|S_j|/pairs, for a largest h of 1.
    """

    distances: Floats
    equal: Floats
    relative: Floats
    extrapolation: Floats


@figure(
    title="Bounds of the sum of waves, per pair",
    formula=r"\frac{|a|}{P} \leq \max_i |h_{i+1} - h_i|\, \frac{1}{P}\sum_j |S_j|,\quad "
    r"\frac{1}{P}\sum_j |S_j| = \text{⟨bound⟩}",
    help="a is Re Σ h_i·e^(iδf_i), S_j the sum of the first j waves. RoFormer: |a| is at most "
    "Σ|S_j| times the largest step between neighbouring h, the last one to 0. A step is at most "
    "2 max|h|, hence position interpolation's bound, which is never below the trivial 1. Drawn per "
    "pair, for a step of 1 and an h of 1; solid is the sum itself with every h equal. RoFormer's "
    "falls over the first hundred tokens, then wanders.",
    limits="Neither says how the worst case falls: some query and key reach max|h| at any "
    "distance. The printed bound for positions between trained ones, D·max|h|/(32 ln b), can be "
    "exceeded: it rests on an inequality that points the other way; the notes give the true one.",
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
