"""Memory of a kernel against length."""

from __future__ import annotations

from collections.abc import Sequence

from posviz.figures.lab.kernel_lines import Lines, Refused, kernel_figure
from posviz.figures.spec import FigureSpec, figure


@figure(
    title="Peak memory against length",
    formula=r"\text{matrix of all pairs: } H\,\ell^2\, b \text{ bytes},\quad "
    r"\text{bias by distance: } H\,(2\ell - 1)\, b",
    help="Most memory that a kernel took beside its inputs, matrices made for it counted in. The "
    "logits or the bias of all pairs grow with the square of the length; in blocks, or as a lookup "
    "by distance inside the kernel, nothing of that size exists. That is why a bias that must be "
    "materialised ends a long context before time does. An open triangle stands for less than can "
    "be told: below it nothing is known but that it is little.",
    limits="Beside the kernel a model holds weights, a cache of keys and values, and in training "
    "what the way back needs. What the number is on this device stands below the figures.",
)
def kernel_memory(lines: Lines, refused: Sequence[Refused] = (), floor: float = 0.0) -> FigureSpec:
    """MiB per length, one line per kernel; the lines hold MiB, below ``floor`` only noise."""
    return kernel_figure(
        lines,
        refused,
        title="MiB",
        hover="%{y:,.3g} MiB",
        guides=(("grows with ℓ", 1), ("grows with ℓ²", 2)),
        floor=floor,
        floor_hover=f"below {floor:g} MiB, which is not told apart",
    )
