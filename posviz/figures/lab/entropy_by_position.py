"""Entropy of the attention against the position of the query."""

from __future__ import annotations

import numpy as np

from posviz.figures import theme
from posviz.figures.spec import FigureSpec, axis, curve, figure, layout, log_axis

_BAND = (10, 50, 90)


@figure(
    title="Entropy against position",
    formula=r"H_m = -\sum_{n \leq m} a_{mn} \ln a_{mn} \leq \ln(m + 1)",
    help="How spread the attention of the chosen head is over the keys that each query sees, on a "
    "logarithmic axis of position, beside ln of their number (grey), which attention to all alike "
    "would reach. Thin: what a tenth, half and nine tenths of all heads stay below.",
    limits="One text: the ragged line is the content of the tokens. e^entropy is the number of "
    "keys that it amounts to.",
)
def entropy_by_position(entropy: np.ndarray, layer: int, head: int) -> FigureSpec:
    """Nats per query position.

    Parameters
    ----------
    entropy : (layers, heads, n) of all heads.
    """
    count = entropy.shape[-1]
    positions = np.arange(1, count + 1)
    hover = "query %{x:,}<br>%{y:.3f} nats"
    ghost = curve("ln of the keys", None, positions, np.log(positions), hover=hover)
    bands = np.percentile(entropy.reshape(-1, count), _BAND, axis=0)
    thin = {**theme.line(2), "width": 1, "dash": "dot"}
    around = [
        {**curve(f"{share} % of the heads below", 2, positions, band, hover=hover), "line": thin}
        for share, band in zip(_BAND, bands, strict=True)
    ]
    name = f"layer {layer}, head {head}"
    return FigureSpec(
        [ghost, *around, curve(name, 0, positions, entropy[layer, head], hover=hover)],
        layout(
            log_axis("position of the query, from 1", 0.9, max(2, count * 1.05)),
            axis("entropy (nats)", range=[-0.2, float(np.log(count)) * 1.06]),
        ),
    )
