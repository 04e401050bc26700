"""The path of a table through its first two principal axes."""

from __future__ import annotations

from typing import cast

import numpy as np

from posviz.figures.results.drawn import At, Line, Lines, ResultFigure
from posviz.measures import PrincipalPlane, principal_plane
from posviz.results import PositionTable, Result

_MOST = 1024
"""Rows that the axes are found from."""


def _content(result: Result, at: At) -> Lines:
    vectors = np.asarray(cast(PositionTable, result).vectors, dtype=float)
    found = principal_plane(vectors[:_MOST])
    plane = found.path
    here = min(at.position, len(plane) - 1)
    return Lines(
        [
            Line(_words(found), plane[:, 0], plane[:, 1]),
            Line(f"position {here}", plane[[here], 0], plane[[here], 1], is_mark=True),
        ],
        "first principal axis",
        "second principal axis",
        is_square=True,
    )


def _words(found: PrincipalPlane) -> str:
    return (
        f"path: {found.share:.0%} of the variance, radius ±{found.radius_spread:.0%} "
        f"(a circle: 0 %), {abs(found.turns):.2f} turns"
    )


figure = ResultFigure(
    id="trajectory",
    title="Path through the principal axes",
    formula=r"t \mapsto (u_1^\top p_t,\; u_2^\top p_t)",
    help="The vectors of all positions seen from the side where they differ most. Neighbours are "
    "joined: a smooth path means that near positions have near vectors, a circle that one wave "
    "dominates, a tangle that the rows have nothing in common.",
    limits="Two of many axes. The legend says which share of the variance they hold, and how near "
    "the path comes to a circle: the deviation of its distance from the middle, and its turns "
    "around it. Taken over the first 1,024 positions.",
    accepts=lambda result: (
        isinstance(result, PositionTable)
        and result.vectors.shape[1] > 2
        and result.vectors.shape[0] > 2
    ),
    content=_content,
    order=70,
    uses=frozenset({"position"}),
)
