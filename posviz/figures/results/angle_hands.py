"""Pairs of a rotation as clock hands."""

from __future__ import annotations

from typing import cast

import numpy as np

from posviz.figures.results.drawn import At, Line, Lines, ResultFigure
from posviz.results import Result, Rotation


def _content(result: Result, at: At) -> Lines:
    angles = np.asarray(cast(Rotation, result).angles)
    row = angles[min(at.position, len(angles) - 1)]
    last = len(row) - 1
    chosen = min(at.dimension, last)
    circle = np.linspace(0, 2 * np.pi, 91)
    hands = [
        Line(f"pair {pair}", np.array([0, np.cos(row[pair])]), np.array([0, np.sin(row[pair])]))
        for pair in dict.fromkeys([chosen, last // 3, last])
    ]
    return Lines(
        [*hands, Line("unit circle", np.cos(circle), np.sin(circle))],
        "cosine",
        "sine",
        y_range=(-1.1, 1.1),
        is_square=True,
    )


def _slots(result: Result, at: At) -> dict[str, str]:
    angles = np.asarray(cast(Rotation, result).angles)
    position, pair = min(at.position, len(angles) - 1), min(at.dimension, angles.shape[1] - 1)
    angle = float(angles[position, pair])
    return {
        "angle": f"{angle:.5g}",
        "turns": f"{angle / (2 * np.pi):.4g}",
        "position": str(position),
        "pair": str(pair),
    }


figure = ResultFigure(
    id="angle_hands",
    title="Rotating pairs",
    formula=r"\varphi = \text{⟨angle⟩}\ \text{rad} = \text{⟨turns⟩}\ \text{turns},\quad "
    r"p = \text{⟨position⟩},\; i = \text{⟨pair⟩}",
    help="Where the chosen pair, a slower one and the slowest point at the chosen position. Play "
    "the position to see them turn at their own speeds.",
    limits="Only differences of angles enter a score; where a hand starts means nothing.",
    accepts=lambda result: isinstance(result, Rotation),
    content=_content,
    slots=_slots,
    order=22,
    uses=frozenset({"position", "dimension"}),
)
