"""The path of a table through its first two principal axes."""

from __future__ import annotations

from typing import cast

import numpy as np

from posviz.figures.results.drawn import At, Line, Lines, ResultFigure
from posviz.results import PositionTable, Result

_MOST = 1024
"""Rows that the axes are found from."""


def principal_plane(vectors: np.ndarray) -> tuple[np.ndarray, float]:
    """Coordinates in the first two principal axes, and their share of the variance."""
    centred = vectors - vectors.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    total = float(np.sum(sizes**2))
    share = float(np.sum(sizes[:2] ** 2)) / total if total > 0 else 0.0
    return left[:, :2] * sizes[:2], share


def _content(result: Result, at: At) -> Lines:
    vectors = np.asarray(cast(PositionTable, result).vectors, dtype=float)
    plane, share = principal_plane(vectors[:_MOST])
    here = min(at.position, len(plane) - 1)
    return Lines(
        [
            Line(f"path, {share:.0%} of the variance", plane[:, 0], plane[:, 1]),
            Line(f"position {here}", plane[[here], 0], plane[[here], 1], is_mark=True),
        ],
        "first principal axis",
        "second principal axis",
        is_square=True,
    )


figure = ResultFigure(
    id="trajectory",
    title="Path through the principal axes",
    formula=r"t \mapsto (u_1^\top p_t,\; u_2^\top p_t)",
    help="The vectors of all positions seen from the side where they differ most. Neighbours are "
    "joined: a smooth path means that near positions have near vectors, a circle that one wave "
    "dominates, a tangle that the rows have nothing in common.",
    limits="Two of many axes; the share of the variance that they hold is in the legend. Taken "
    "over the first 1,024 positions.",
    accepts=lambda result: (
        isinstance(result, PositionTable)
        and result.vectors.shape[1] > 2
        and result.vectors.shape[0] > 2
    ),
    content=_content,
    order=70,
    uses=frozenset({"position"}),
)
