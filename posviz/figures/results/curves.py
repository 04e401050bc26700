"""Named values over the positions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posviz.figures.results.drawn import At, Line, Lines, ResultFigure, counted
from posviz.results import Result, Schedule


def _parts(result: Result) -> Sequence[str]:
    return tuple(result.curves)


def _content(result: Result, at: At) -> Lines:
    name = at.part or next(iter(result.curves))
    values = np.asarray(result.curves[name], dtype=float)
    is_schedule = isinstance(result, Schedule)
    x = np.asarray(result.positions, dtype=float) if is_schedule else np.arange(len(values))
    finite = values[np.isfinite(values)]
    # Over two decades a line that falls as a power shows only on two log axes.
    is_log = bool(finite.size and finite.min() > 0 and finite.max() > 100 * finite.min())
    return Lines(
        [Line(name, x + is_log * (not is_schedule), values, is_step=is_schedule)],
        "training step"
        if is_schedule
        else counted("position, from 1" if is_log else "position", result),
        name,
        log_x=is_log and not is_schedule,
        log_y=is_log,
    )


def _slots(result: Result, at: At) -> dict[str, str]:
    values = np.asarray(result.curves[at.part or next(iter(result.curves))], dtype=float)
    place = min(at.position, len(values) - 1)
    return {
        "value": f"{float(values[place]):.5g}",
        "place": f"{float(np.asarray(result.positions)[place]):,g}",
    }


figure = ResultFigure(
    id="curves",
    title="Over the positions",
    formula=r"\text{value} = \text{⟨value⟩} \text{ at } \text{⟨place⟩}",
    help="One number for each position. On two log axes a straight line is a power.",
    limits="What the formula gives, not what a trained model makes of it.",
    accepts=lambda result: bool(result.curves),
    content=_content,
    slots=_slots,
    order=13,
    uses=frozenset({"position"}),
    parts=_parts,
)
