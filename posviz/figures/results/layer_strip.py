"""What each layer of the model does."""

from __future__ import annotations

import numpy as np

from posviz.figures.results.drawn import At, Map, ResultFigure
from posviz.results import Result


def _content(result: Result, at: At) -> Map:
    kinds = list(dict.fromkeys(result.layers))
    row = np.array([float(kinds.index(kind)) for kind in result.layers])
    words = ", ".join(f"{place} = {kind}" for place, kind in enumerate(kinds))
    return Map(
        x=np.arange(len(row)),
        y=np.array([0.0]),
        z=row[None, :],
        x_title="layer",
        y_title=" ",
        z_title=words,
        colours="size",
        # From -1, so that no layer has the colour of the page.
        limits=(-1.0, max(1.0, len(kinds) - 1.0)),
    )


figure = ResultFigure(
    id="layer_strip",
    title="Layer by layer",
    formula=r"\text{layer} = 0, 1, \dots",
    help="Each cell is a layer of the model, from the input to the output; the colour bar says "
    "what it does.",
    limits="The pattern only: what information flows between the layers is not shown.",
    accepts=lambda result: bool(result.layers),
    content=_content,
    order=18,
    uses=frozenset(),
    is_map=True,
)
