"""How far a stack of layers sees."""

from __future__ import annotations

from typing import cast

import numpy as np

from posviz.figures.results.drawn import At, Line, Lines, ResultFigure
from posviz.results import AttentionMask, Result


def _content(result: Result, at: At) -> Lines:
    reach = np.asarray(cast(AttentionMask, result).reach, dtype=float)
    x = np.arange(1, len(reach) + 1)
    x, reach = (x, reach) if len(x) > 1 else (np.array([1, 2]), np.repeat(reach, 2))
    shown = np.where(np.isfinite(reach), reach, np.nan)
    return Lines([Line("reach", x, shown, is_step=True)], "layer", "reach (tokens)")


figure = ResultFigure(
    id="receptive_field",
    title="How far a stack of layers sees",
    formula=r"\text{reach} = \ell\,(w - 1) + 1",
    help="Each layer passes on what the layer below had seen, so the reach grows by w - 1 tokens "
    "a layer. A layer that sees everything has no finite reach, and the line ends there.",
    limits="What can reach a token, not what does: far information passes through many averages.",
    accepts=lambda result: (
        isinstance(result, AttentionMask)
        and bool(np.isfinite(np.asarray(result.reach, dtype=float)).any())
    ),
    content=_content,
    order=17,
    uses=frozenset(),
)
