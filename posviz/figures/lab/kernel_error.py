"""How far a kernel is from the core's attention, against length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posviz.figures import theme
from posviz.figures.lab.kernel_lines import Lines, Refused, kernel_figure
from posviz.figures.spec import FigureSpec, curve, figure
from posviz.measures.split_angle import Floats


@figure(
    title="Error against the core",
    formula=r"\max |o - o_{\text{core}}| \leq u \cdot \max|v| \cdot \left(3 + 2 \max_m \sum_n "
    r"w_{mn} \left(|z_{mn}| + c\,\tfrac{\lVert q_m \rVert \lVert k_n \rVert}{\sqrt{D}}\right)"
    r"\right)",
    help="Largest difference of an output from the core's attention in float64, for the same "
    "queries, keys and values. The dotted line is what the number format allows: u is half the "
    "distance between 1 and the next number, 6·10⁻⁸ in float32, 4·10⁻³ in bfloat16. A kernel that "
    "applied the encoding wrongly would be off by about the size of the values.",
    limits="Beyond 512 tokens the outputs of 16 queries of each head are compared, spread over the "
    "sequence. The tolerance is a first-order account of rounding, not a proof.",
)
def kernel_error(
    lines: Lines, tolerance: tuple[Floats, Floats], refused: Sequence[Refused] = ()
) -> FigureSpec:
    """Largest difference per length, one line per kernel, and (lengths, tolerance) dotted."""
    lengths, allowed = tolerance
    ghost = curve(
        "tolerance of the format",
        None,
        np.asarray(lengths).astype(np.int32),
        allowed,
        hover="%{x:,} tokens<br>tolerance %{y:.2g}",
    )
    ghost = {**ghost, "line": {**theme.line(None), "dash": "dot"}}
    return kernel_figure(
        lines, refused, title="largest difference", hover="off by %{y:.2g}", more=[ghost]
    )
