"""Loss of a tiny model while it is trained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posviz.figures.lab.ghosts import Points, floor_level, ghost
from posviz.figures.spec import FigureSpec, Series, axis, curve, figure, layout, level


@figure(
    title="Loss in training",
    formula=r"-\frac{1}{n}\sum_{t} \log p(x_t \mid x_{<t}) = \text{⟨loss⟩}"
    r"\quad \text{after}\ \text{⟨step⟩}\ \text{steps}",
    help="Mean loss of the sequences of training between two reports, in nats per token that "
    "counts, against the number of Adam steps. The dotted levels are what no model can beat on "
    "average, and what one gives that knows only which symbols are possible. Faint: stored "
    "trainings; a name says where one differs from what is set, and where a training was cut.",
    limits="All of these sequences have the length of training: an encoding that learns them best "
    "may still fail on longer ones. The last steps are small, so that a curve that is flat at its "
    "end need not be at the end of what it could learn.",
)
def training_curves(
    series: Sequence[Series[Points]],
    *,
    steps: int,
    chance: float,
    floor: float | None = None,
    ghosts: Sequence[Series[Points]] = (),
) -> FigureSpec:
    """Loss per step; ``floor`` None where the loss of the best model is not known.

    Parameters
    ----------
    series, ghosts : steps and losses, nats per token; ghosts are drawn faintly.
    steps : of a whole training: the end of the axis, so that nothing jumps while it runs.
    chance, floor : nats per token.
    """
    traces: list[dict[str, Any]] = [ghost(_line(item)) for item in ghosts]
    traces += [_line(item) for item in series]
    losses = np.concatenate([trace["y"] for trace in traces] or [np.zeros(0)])
    highest = max(chance, float(np.nanmax(losses, initial=chance)))
    levels = [level(chance, "guessing", across="y", log=False)]
    if floor is not None:
        levels.append(floor_level(floor, f"best possible {floor:.3g}", is_below=floor > 0))
    return FigureSpec(
        traces,
        layout(
            axis("steps of Adam", range=[0, steps]),
            axis("loss (nats per token)", range=[0, 1.08 * highest]),
            levels=levels,
        ),
    )


def _line(item: Series[Points]) -> dict[str, Any]:
    steps, losses = item.measure
    return curve(item.label, item.slot, steps, losses, hover="step %{x:,}<br>loss %{y:.3f}")
