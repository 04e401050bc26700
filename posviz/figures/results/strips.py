"""What an encoding counts for each token."""

from __future__ import annotations

import numpy as np

from posviz.figures.results.drawn import At, Line, Lines, ResultFigure
from posviz.results import Result


def _content(result: Result, at: At) -> Lines:
    return Lines(
        [
            Line(name, np.arange(len(row)), np.asarray(row, dtype=float), is_step=True)
            for name, row in result.strips.items()
        ],
        "token, in the order of the sequence",
        "index",
    )


figure = ResultFigure(
    id="strips",
    title="Positions that each token is given",
    formula=r"\text{index} = \text{⟨y⟩} \text{ for token } \text{⟨x⟩}",
    help="The index, or the several indices, under which each token is known. Steps are tokens "
    "that share an index, jumps are positions that nobody has.",
    limits="The counting alone; what vectors or angles follow from it is in the other figures.",
    accepts=lambda result: bool(result.strips),
    content=_content,
    cursor="position",
    order=12,
    uses=frozenset(),
)
