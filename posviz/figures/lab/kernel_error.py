"""How far a kernel is from the core's attention, against length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posviz.figures import theme
from posviz.figures.lab.kernel_lines import Lines, Refused, kernel_figure
from posviz.figures.spec import FigureSpec, curve, figure
from posviz.measures.split_angle import Floats

BOUND = "tolerance of the format"
CONTROL = "the encoding left out"


@figure(
    title="Error against the core",
    formula=r"\max \frac{|o - o_{\text{core}}|}{\tau},\quad \tau^2 = 16\, u^2 \Big( \sum_n "
    r"w_{mn}^2 \big( s_{mn}^2 (v_n - o)^2 + 2 v_n^2 \big) + 2 o^2 \Big) + \dots",
    help="Each output of a kernel is compared with the core's attention in float64, for the same "
    "queries, keys and values. Drawn is the largest difference over what the number format "
    "allows that output (τ): below the dotted line at 1 a kernel gives the core's attention. u is "
    "half the distance between 1 and the next number, 6·10⁻⁸ in float32, 4·10⁻³ in bfloat16; s "
    "stands for the rounding of a logit. The dashed line is a control: what plain attention on the "
    "same numbers, with the encoding left out, would reach. A kernel that applied it wrongly would "
    "lie there, so the comparison is worth something where that line is far above 1.",
    limits="Beyond 512 tokens the outputs of 16 queries of each head are compared, spread over the "
    "sequence. The tolerance is a first-order account of rounding, four times the root of the "
    "summed squares, not a proof. There is no control where the encoding is added to the input.",
)
def kernel_error(
    lines: Lines, control: tuple[Floats, Floats] | None = None, refused: Sequence[Refused] = ()
) -> FigureSpec:
    """Difference over tolerance per length, one line per kernel; ``control`` is (lengths, what
    leaving the encoding out would reach)."""
    lengths = sorted({float(at) for item in lines for at in item.measure[0]})
    more = [_aside(BOUND, (np.asarray(lengths), np.ones(len(lengths))), "dot")] if lengths else []
    if control is not None and len(control[0]):
        more.append(_aside(CONTROL, control, "dash"))
    return kernel_figure(
        lines,
        refused,
        title="difference ÷ tolerance",
        hover="%{y:.2g} of the tolerance",
        more=more,
    )


def _aside(name: str, line: tuple[Floats, Floats], dash: str) -> dict[str, object]:
    trace = curve(
        name,
        None,
        np.asarray(line[0]).astype(np.int32),
        line[1],
        hover=f"%{{x:,}} tokens<br>{name}: %{{y:.3g}} of the tolerance",
    )
    return {**trace, "line": {**theme.line(None), "dash": dash}}
