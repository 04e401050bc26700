"""Phase of every pair at every position."""

from __future__ import annotations

from typing import cast

import numpy as np

from posviz.figures.results.drawn import MOST_CELLS, At, Map, ResultFigure
from posviz.results import Result, Rotation


def _content(result: Result, at: At) -> Map:
    angles = np.asarray(cast(Rotation, result).angles)
    # A mean of phases means nothing: every block shows its first position.
    block = max(1, -(-len(angles) // MOST_CELLS))
    phases = np.remainder(angles[::block] + np.pi, 2 * np.pi) - np.pi
    return Map(
        x=np.arange(angles.shape[1]),
        y=np.arange(0, len(angles), block),
        z=phases,
        x_title="pair (0 is the fastest)",
        y_title="position",
        z_title="phase (radians)",
        colours="cyclic",
    )


def _slots(result: Result, at: At) -> dict[str, str]:
    angles = np.asarray(cast(Rotation, result).angles)
    position, pair = min(at.position, len(angles) - 1), min(at.dimension, angles.shape[1] - 1)
    phase = np.remainder(angles[position, pair] + np.pi, 2 * np.pi) - np.pi
    return {"position": str(position), "pair": str(pair), "phase": f"{float(phase):.5g}"}


figure = ResultFigure(
    id="odometer",
    title="Odometer of phases",
    formula=r"\varphi \bmod 2\pi = \text{⟨phase⟩},\quad p = \text{⟨position⟩},\; "
    r"i = \text{⟨pair⟩}",
    help="Each row is a position, each column a pair, the colour its phase. Like the digits of a "
    "number: the fast pairs on the left run through all phases again and again, each slower pair "
    "moves on a little meanwhile.",
    limits="A phase is not a digit: it moves on smoothly and never carries over.",
    accepts=lambda result: isinstance(result, Rotation),
    content=_content,
    slots=_slots,
    order=23,
    uses=frozenset({"position", "dimension"}),
    is_map=True,
)
