"""Time of a kernel against length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posviz.figures import theme
from posviz.figures.lab.kernel_lines import Lines, Refused, kernel_figure
from posviz.figures.spec import FigureSpec, curve, figure
from posviz.measures.split_angle import Floats

ENCODING = "the encoding itself, once"


@figure(
    title="Time against length",
    formula=r"\text{operations for all pairs: } 4\, H D\, \ell^2",
    help="Median seconds of one call of each kernel, on two log axes: the faint dotted lines grow "
    "with the length and with its square. The naive kernel and SDPA with a matrix are given the "
    "same matrix (bias, window and causal mask), made before and not timed here; they compute "
    "every pair, also those that are hidden. In blocks, and in FlexAttention, the bias is looked "
    "up again in every call, which is the price of not storing it. A fused kernel keeps the logits "
    "in the processor's cache and leaves out whole blocks that a causal mask or window hides. A "
    "cross marks a point that was not run; hover over it for the reason.",
    limits="One call of attention alone. The rotation of q and k by the core, which is done once "
    "for all kernels, is the dashed line; the making of a matrix and the compiler's time are in "
    "the table. Short calls are mostly overhead, and other work on the machine lengthens all.",
)
def kernel_time(
    lines: Lines,
    refused: Sequence[Refused] = (),
    encoding: tuple[Floats, Floats] | None = None,
) -> FigureSpec:
    """Seconds per length, one line per kernel; ``encoding`` is what the core takes beforehand."""
    return kernel_figure(
        lines,
        refused,
        title="seconds",
        hover="%{y:.3g} s",
        guides=(("grows with ℓ", 1), ("grows with ℓ²", 2)),
        more=[] if encoding is None or not len(encoding[0]) else [_encoding(encoding)],
    )


def _encoding(line: tuple[Floats, Floats]) -> dict[str, object]:
    trace = curve(
        ENCODING,
        None,
        np.asarray(line[0]).astype(np.int32),
        line[1],
        hover="%{x:,} tokens<br>%{y:.3g} s, once for all kernels",
    )
    return {**trace, "line": {**theme.line(None), "dash": "dash"}}
