"""Time of a kernel against length."""

from __future__ import annotations

from collections.abc import Sequence

from posviz.figures.lab.kernel_lines import Lines, Refused, kernel_figure
from posviz.figures.spec import FigureSpec, figure


@figure(
    title="Time against length",
    formula=r"t(\ell) \sim \ell^2",
    help="Median seconds of one call of each kernel, on two log axes: the dotted lines grow with "
    "the length and with its square. All of these kernels compute every pair that is seen, so they "
    "grow with the square; what differs is the factor, since a fused kernel keeps the logits in "
    "the processor's cache. A window makes FlexAttention leave whole blocks out. A cross marks a "
    "point that was not run; hover over it for the reason.",
    limits="One call of attention alone: the rotation of q and k, the making of a bias matrix and "
    "the compiler's time are in the table. Short calls are mostly overhead.",
)
def kernel_time(lines: Lines, refused: Sequence[Refused] = ()) -> FigureSpec:
    """Seconds per length, one line per kernel."""
    return kernel_figure(
        lines,
        refused,
        title="seconds",
        hover="%{y:.3g} s",
        guides=(("grows with ℓ", 1), ("grows with ℓ²", 2)),
    )
