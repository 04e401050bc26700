"""Wavelength of every dimension or pair."""

from __future__ import annotations

from typing import cast

import numpy as np

from posviz.figures.results.drawn import At, Line, Lines, ResultFigure
from posviz.results import PositionTable, Result, RotaryResult


def _content(result: Result, at: At) -> Lines:
    count = int(result.positions.shape[0])
    wavelengths = np.asarray(cast(PositionTable | RotaryResult, result).wavelengths, dtype=float)
    name = "dimension" if isinstance(result, PositionTable) else "pair (0 is the fastest)"
    shown = np.where(np.isfinite(wavelengths), wavelengths, np.nan)
    beyond = int(np.sum(~(wavelengths <= count)))
    return Lines(
        [
            Line("wavelength", np.arange(len(shown)), shown),
            Line(
                f"positions shown: {beyond} never finish a turn among them",
                np.array([0.0, max(1, len(shown) - 1)]),
                np.array([float(count), float(count)]),
            ),
        ],
        name,
        "wavelength (tokens)",
        log_y=True,
    )


def _accepts(result: Result) -> bool:
    if isinstance(result, PositionTable):
        return result.wavelengths is not None
    return isinstance(result, RotaryResult) and bool(np.any(np.asarray(result.inv_freq) > 0))


figure = ResultFigure(
    id="spectrum",
    title="Wavelengths",
    formula=r"\lambda = \frac{2\pi}{f} = \text{⟨y⟩} \text{ tokens},\quad i = \text{⟨x⟩}",
    help="How many tokens each dimension or pair takes for a full turn, on a log axis. What lies "
    "above the second line never finishes a turn among the positions shown.",
    limits="Frequencies alone do not say how a trained model uses them; what does not turn at all "
    "is left out.",
    accepts=_accepts,
    content=_content,
    cursor="dimension",
    order=60,
    uses=frozenset(),
)
