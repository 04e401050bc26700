"""Columns of a table, or cosines of a rotation, over the positions."""

from __future__ import annotations

from typing import cast

import numpy as np

from posviz.figures.results.drawn import At, Line, Lines, ResultFigure
from posviz.results import PositionTable, Result, Rotation


def _columns(result: Result) -> tuple[np.ndarray, str]:
    if isinstance(result, PositionTable):
        return np.asarray(result.vectors), "dimension"
    return np.asarray(cast(Rotation, result).cos), "cosine of pair"


def _content(result: Result, at: At) -> Lines:
    values, word = _columns(result)
    last = values.shape[1] - 1
    chosen = min(at.dimension, last)
    # Three more that tell the fast from the slow ones.
    others = [one for one in (last // 8, last // 3, last) if one != chosen]
    names = result.columns if isinstance(result, PositionTable) else ()
    x = np.arange(len(values))
    return Lines(
        [
            Line(names[one] if names else f"{word} {one}", x, values[:, one])
            for one in dict.fromkeys([chosen, *others])
        ],
        "position",
        "value",
        levels=_end(result),
    )


def _end(result: Result) -> list[tuple[float, str]]:
    """Where a table ends, if that is in sight."""
    end = getattr(result, "undefined_from", None)
    in_sight = end is not None and float(result.positions[-1]) == end - 1
    return [(float(end), "no row from here on")] if end is not None and in_sight else []


figure = ResultFigure(
    id="waves",
    title="Waves over the positions",
    formula=r"\text{value} = \text{⟨y⟩} \text{ at position } \text{⟨x⟩}",
    help="One dimension, or the cosine of one pair, over all positions; the solid line is the "
    "chosen one, the others are a fast, a middle and the slowest. What stands still over the whole "
    "plot cannot tell these positions apart.",
    limits="Single dimensions: the model reads all of them at once.",
    accepts=lambda result: isinstance(result, PositionTable | Rotation),
    content=_content,
    cursor="position",
    order=20,
    uses=frozenset({"dimension"}),
)
