"""Two ways to compute the same method, and how far they are apart."""

from __future__ import annotations

from posviz.figures.spec import FigureSpec, axis, curve, figure, layout, level
from posviz.measures import ProfileDifference


@figure(
    title="Two implementations of one method",
    formula=r"\epsilon_i = \frac{f^{(1)}_i}{f^{(2)}_i} - 1 = \text{⟨difference⟩},"
    r"\quad i = \text{⟨pair⟩}",
    help="Runtimes that read the same settings do not always compute the same frequencies. The "
    "curve is the relative difference of implementation 1 from implementation 2, pair by pair; the "
    "largest one is named above the plot.",
    limits="A model works best with the frequencies that it was trained with, whichever form the "
    "paper prints.",
)
def profile_difference(difference: ProfileDifference, *, label: str, slot: int) -> FigureSpec:
    """Signed relative difference per pair."""
    trace = curve(
        label,
        slot,
        difference.pairs,
        difference.signed,
        hover="pair %{x}<br>difference %{y:+.4%}",
    )
    return FigureSpec(
        [trace],
        layout(
            axis("pair (0 is the fastest)", range=[-0.5, len(difference.pairs) - 0.5]),
            axis("relative difference", tickformat="+.3~p", zeroline=True),
            levels=[
                level(
                    float(difference.largest_pair),
                    f"pair {difference.largest_pair}",
                    across="x",
                    log=False,
                )
            ],
        ),
    )
