"""Similarity against distance."""

from __future__ import annotations

import numpy as np

from posviz.figures.results.drawn import At, Line, Lines, ResultFigure
from posviz.measures import features, similarity_profile
from posviz.results import Result


def _content(result: Result, at: At) -> Lines:
    found = features(result)
    assert found is not None
    profile = similarity_profile(found)
    ahead = profile.distances >= 0
    x = profile.distances[ahead]
    lines = [Line("mean over all positions", x, profile.mean[ahead])]
    spread = float(np.max(profile.high - profile.low))
    if spread > 1e-9 * max(1.0, float(np.max(np.abs(profile.mean)))):
        lines.append(Line("smallest at this distance", x, profile.low[ahead]))
        lines.append(Line("largest at this distance", x, profile.high[ahead]))
    return Lines(lines, "distance (query − key)", "similarity")


figure = ResultFigure(
    id="similarity_profile",
    title="Similarity against distance",
    formula=r"s(\delta) = \text{⟨y⟩},\quad \delta = m - n = \text{⟨x⟩}",
    help="The similarity of all pairs of positions at one distance. A single line: it depends on "
    "the distance only. Three lines: it also depends on where the pair stands, and lies between "
    "the outer two.",
    limits="Not attention: real queries and keys are not equal. For independent ones of "
    "mean 0 the expected "
    "score is 0 at every distance. Taken over the first 1,024 positions.",
    accepts=lambda result: features(result) is not None and len(result.grid) < 2,
    content=_content,
    cursor="distance",
    order=31,
    uses=frozenset(),
)
