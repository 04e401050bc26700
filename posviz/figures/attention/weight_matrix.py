"""A window of the attention matrix, and its two margins."""

from __future__ import annotations

import numpy as np

from posviz.figures import theme
from posviz.figures.spec import FigureSpec, axis, curve, figure, layout, log_axis
from posviz.measures.weight_window import WeightWindow

_DEEPEST = -6.0
"""Powers of ten that the colours go down to."""


@figure(
    title="Weights of a window of queries and keys",
    formula=r"w_{mn} = \frac{e^{z_{mn}}}{\sum_{n' \leq m} e^{z_{mn'}}}",
    help="Each row is a query, each column a key before it; the colour is the power of ten of the "
    "weight, over all keys of the query and not only those that are shown. Where the logit "
    "depends on the distance only, a diagonal changes only as more keys join the sum: without a "
    "bias it fades like 1/m, with a steep one not at all.",
    limits="Drawn logits, whose average is 0, and the needle are left out; a softmax of averages "
    "is not the average of softmaxes. Weights below 10⁻⁶ have the colour of 10⁻⁶.",
)
def weight_matrix(measure: WeightWindow, *, label: str) -> FigureSpec:
    """Powers of ten of the weights, queries from top to bottom."""
    with np.errstate(divide="ignore"):
        power = np.log10(measure.weights)
    shown = np.where(np.isnan(measure.weights), np.nan, np.maximum(power, _DEEPEST))
    top = float(np.nanmax(shown))
    trace = {
        "type": "heatmap",
        "name": label,
        "x": measure.keys,
        "y": measure.queries,
        "z": shown,
        "zmin": min(_DEEPEST, top - 1),
        "zmax": top,
        "colorscale": theme.SIZE,
        "colorbar": {"thickness": 10, "title": {"text": "log₁₀ weight"}},
        "hovertemplate": "query %{y:,.0f}<br>key %{x:,.0f}<br>log₁₀ weight %{z:.3f}"
        "<extra>%{fullData.name}</extra>",
    }
    half = measure.step / 2
    return FigureSpec(
        [trace],
        layout(
            axis("key position", range=[measure.keys[0] - 0.5, measure.keys[-1] + 0.5]),
            axis("query position", range=[measure.queries[-1] + half, measure.queries[0] - half]),
        ),
    )


@figure(
    title="Mean weight that a key of the window gets",
    formula=r"\bar{w}_n = \frac{1}{|\{m \geq n\}|} \sum_{m \geq n} w_{mn}",
    help="The mean of each column of the matrix, over the queries of the window that see the key.",
    limits="Keys at the right end are seen by few queries of the window, all of them near, so the "
    "curve rises there wherever near keys get more weight.",
)
def key_share(measure: WeightWindow, *, label: str, slot: int) -> FigureSpec:
    """Mean weight per key position."""
    share = measure.key_share
    positive = share[share > 0]
    low, high = (float(positive.min()), float(positive.max())) if positive.size else (1e-9, 1.0)
    trace = curve(
        label,
        slot,
        measure.keys.astype(np.int32),
        np.where(share > 0, share, np.nan),
        hover="key %{x:,}<br>mean weight %{y:.3g}",
    )
    ends = [float(measure.keys[0]) - 0.5, float(measure.keys[-1]) + 0.5]
    return FigureSpec(
        [trace],
        layout(axis("key position", range=ends), log_axis("mean weight", low / 1.3, high * 1.3)),
    )


@figure(
    title="Entropy of each query of the window",
    formula=r"H_m = -\sum_{n \leq m} w_{mn} \ln w_{mn}",
    help="How spread the attention of each query is over all its keys; the dotted line is the "
    "logarithm of their number.",
    limits="The same curve as entropy against context length, looked at closely around one place.",
)
def query_entropy(measure: WeightWindow, *, label: str, slot: int) -> FigureSpec:
    """Nats per query position."""
    positions = measure.queries.astype(np.int32)
    trace = curve(label, slot, positions, measure.entropy, hover="query %{x:,}<br>%{y:.4f} nats")
    most = np.log(measure.queries + 1)
    ghost = curve("ln of the keys", None, positions, most, hover="%{y:.4f} nats")
    ghost["line"] = {**theme.line(None), "dash": "dot"}
    ends = [float(measure.queries[0]) - 0.5, float(measure.queries[-1]) + 0.5]
    return FigureSpec(
        [trace, ghost],
        layout(
            axis("query position", range=ends),
            axis("entropy (nats)", range=[-0.2, float(most.max()) * 1.06]),
        ),
    )
