"""Turns within the trained window and at the target: what is out of distribution."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posviz.figures import theme
from posviz.figures.spec import FigureSpec, Series, curve, figure, layout, level, log_axis
from posviz.figures.wavelengths import pair_axis
from posviz.measures import Spectrum

_FEWEST_SHOWN = 1e-3


@figure(
    title="Turns: trained and target",
    formula=r"r_i = \frac{L f_i}{2\pi} = \text{⟨trained_turns⟩},\quad "
    r"r'_i = \frac{\Delta' f'_i}{2\pi} = \text{⟨target_turns⟩},\quad i = \text{⟨pair⟩}",
    help="The dark line counts the turns that a pair made while the model was trained. Where it is "
    "below 1 the pair never finished a turn, so the model saw only an arc of its circle; a method "
    "whose line runs above the dark one there takes the pair to angles that it was not trained on. "
    "Where the dark line is above 1 every angle was seen. Δ′ is the largest distance that the "
    "rotation sees within L′ tokens: L′ itself, or less where a method remaps distances.",
    limits="Staying within the trained arcs is necessary, not sufficient: fixing this alone gives "
    "only superficial long context. Seen angles can still stand for unseen combinations of angles.",
)
def turns(
    series: Sequence[Series[Spectrum]], *, trained_length: int, target_length: int
) -> FigureSpec:
    """Turns per pair: trained within L, and each method within L'."""
    baseline = series[0].measure
    traces = [
        curve(
            f"trained, within L = {trained_length:,}",
            None,
            baseline.pairs,
            baseline.turns_trained,
            hover="pair %{x}<br>%{y:,.4~g} turns in training",
        )
    ]
    traces[0]["line"] = {"color": theme.REFERENCE, "dash": "solid", "width": 2.5}
    traces += [
        curve(
            item.label,
            item.slot,
            item.measure.pairs,
            np.where(item.measure.turns_target > 0, item.measure.turns_target, np.nan),
            hover=f"pair %{{x}}<br>%{{y:,.4~g}} turns within {target_length:,}",
        )
        for item in series
    ]
    values = np.concatenate([trace["y"][np.isfinite(trace["y"])] for trace in traces])
    low = max(float(values.min()), _FEWEST_SHOWN)
    return FigureSpec(
        traces,
        layout(
            pair_axis(series),
            log_axis("full turns", min(low, 0.5) / 1.5, float(values.max()) * 2),
            levels=[level(1.0, "one full turn", across="y", log=True)],
            shapes=_unfinished(baseline),
        ),
    )


def _unfinished(spectrum: Spectrum) -> list[dict[str, object]]:
    """Shade the pairs that never finished a turn; frequencies fall with the pair index."""
    unfinished = np.flatnonzero(spectrum.unfinished)
    if not len(unfinished):
        return []
    return [
        {
            "type": "rect",
            "x0": int(unfinished[0]) - 0.5,
            "x1": int(unfinished[-1]) + 0.5,
            "y0": 0,
            "y1": 1,
            "yref": "paper",
            "line": {"width": 0},
            "fillcolor": theme.BANDS["divided"],
            "layer": "below",
        }
    ]
