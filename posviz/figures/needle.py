"""What the attention factor does to one needle among many equal keys."""

from __future__ import annotations

from collections.abc import Sequence

from posviz.figures.spec import FigureSpec, Series, axis, curve, figure, layout, log_axis
from posviz.figures.wavelengths import length_levels
from posviz.measures import Needle


@figure(
    title="Weight of one needle",
    formula=r"w(\ell) = \frac{e^{G g}}{e^{G g} + \ell - 1},\quad "
    r"G = m^2 c\, a = \text{⟨gain⟩},\quad T = \frac{1}{m^2} = \text{⟨temperature⟩},\quad "
    r"g = \text{⟨margin⟩}",
    help="One key scores g above all others, g chosen so that without any factor it gets the set "
    "weight in the trained window. As the context grows the other keys dilute it; the factor m of "
    "a method multiplies cos and sin of q and of k, so the logits grow by m², a temperature of "
    "1/m². G counts its factor c on the softmax and a on the last query too, where it has them.",
    limits="The margin is a thought experiment. With partial rotation, a factor on cos and sin "
    "leaves the unrotated dimensions as they were; this curve lets it act on the whole margin.",
)
def needle(
    series: Sequence[Series[Needle]], *, trained_length: int, target_length: int
) -> FigureSpec:
    """Weight of the needle per context length, one line per method."""
    traces = [
        curve(
            item.label,
            item.slot,
            item.measure.lengths,
            item.measure.weights,
            hover="context %{x:,}<br>weight %{y:.4f}",
        )
        for item in series
    ]
    first = float(series[0].measure.lengths[0])
    last = float(series[0].measure.lengths[-1])
    return FigureSpec(
        traces,
        layout(
            log_axis("context length (tokens)", first, last),
            axis("weight of the needle", range=[-0.03, 1.03]),
            levels=length_levels(trained_length, target_length, across="x"),
        ),
    )
