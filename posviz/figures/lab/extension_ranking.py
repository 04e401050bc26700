"""Loss of a trained RoPE model whose frequencies were swapped, method by method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from posviz.figures import theme
from posviz.figures.lab.ghosts import Points, floor_level
from posviz.figures.lab.memory import PATTERNS, TALL, wrapped
from posviz.figures.spec import FigureSpec, Series, axis, curve, figure, layout, level


@figure(
    title="Extension without fine-tuning",
    formula=r"\text{loss of a test of}\ s L\ \text{tokens},\quad "
    r"f_i \rightarrow f'_i\ \text{in the test alone}",
    help="One RoPE model, trained at L tokens; for the test at s·L its frequencies are replaced by "
    "those of each method with factor s, and nothing is trained again. Two counts: over all tokens "
    "of the test, as published tables count, and (last bars) over its last L tokens alone, where "
    "every position is new. Methods stand in the order of the loss over all tokens at the largest "
    "factor, the best one first; the other count may have another order. Level: what no model can "
    "beat.",
    limits="One seed. On a task whose answers are two tokens away a method is judged by what it "
    "leaves alone, on retrieval by what it repairs: the order depends on the task, and on which "
    "tokens are counted: over all of them a method that changes nothing still gains by the first "
    "L. Models of thousands of tokens have many more pairs that turn often.",
)
def extension_ranking(
    losses: Mapping[str, Sequence[float]],
    *,
    factors: Sequence[float],
    trained: int,
    floor: float,
    chance: float,
    at_end: Mapping[str, float] | None = None,
) -> FigureSpec:
    """A group of bars per method, one bar per factor and one for the last tokens.

    Parameters
    ----------
    losses : method to the loss at each factor: nats per token; drawn in this order.
    factors : s, one series each.
    trained : length of training L: tokens.
    floor, chance : losses of the best model and of guessing.
    at_end : method to the loss over the last L tokens alone at the largest factor.
    """
    methods = list(losses)
    traces = [
        _bars(
            f"s = {factor:g}, all {round(factor * trained)} tokens",
            place,
            {method: losses[method][place] for method in methods},
        )
        for place, factor in enumerate(factors)
    ]
    if at_end:
        name = f"s = {factors[-1]:g}, last {trained} tokens alone"
        traces.append(_bars(name, len(factors), {method: at_end[method] for method in methods}))
    drawn = np.concatenate([np.zeros(1), *(trace["y"] for trace in traces)])
    highest = max(chance, float(np.nanmax(drawn)))
    return FigureSpec(
        traces,
        layout(
            axis(
                "method",
                type="category",
                categoryorder="array",
                categoryarray=methods,
                **wrapped(methods),
            ),
            axis("loss (nats per token)", range=[0, 1.08 * highest]),
            levels=[
                floor_level(floor, "best possible", is_below=False),
                floor_level(chance, "guessing", is_below=False),
            ],
            barmode="group",
            margin={**TALL, "t": 34},
            showlegend=True,
            legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
        ),
    )


def _bars(name: str, place: int, losses: Mapping[str, float]) -> dict[str, Any]:
    return {
        "type": "bar",
        "name": name,
        "x": list(losses),
        "y": np.array(list(losses.values()), dtype=float),
        "marker": {
            "color": theme.SERIES[place % len(theme.SERIES)],
            "pattern": {"shape": PATTERNS[place % len(PATTERNS)], "solidity": 0.25},
        },
        "hovertemplate": "%{x}<br>loss %{y:.3f}<extra>%{fullData.name}</extra>",
    }


@figure(
    title="Extension: where each method fails",
    formula=r"\text{loss}(t) = \text{mean over the tokens around}\ t,\quad t < s L",
    help="The same model with each method's frequencies in its longest test: the mean loss in "
    "windows of positions. Left of the dotted line positions are trained: what a curve has lost "
    "there, the method has blurred; right of it plain RoPE meets angles that it never saw.",
    limits="Hover for the method of a line. A window holds few tokens of each sequence, so that "
    "the curves are rough; gaps are windows in which nothing counts.",
)
def extension_positions(
    series: Sequence[Series[Points]], *, trained: int, longest: int, floor: float, chance: float
) -> FigureSpec:
    """Loss against position at the largest factor, one line per method.

    Parameters
    ----------
    series : middles of windows of positions, and the mean loss in each: nats per token.
    trained, longest : lengths of training and of the test: tokens.
    floor, chance : losses of the best model and of guessing.
    """
    hover = "around position %{x:.0f}<br>loss %{y:.3f}"
    traces = [curve(item.label, item.slot, *item.measure, hover=hover) for item in series]
    drawn = np.concatenate([np.zeros(1), *(trace["y"] for trace in traces)])
    return FigureSpec(
        traces,
        layout(
            axis("position (tokens)", range=[0, longest]),
            axis("loss (nats per token)", range=[0, 1.08 * max(chance, float(np.nanmax(drawn)))]),
            levels=[
                level(trained, f"L = {trained}", across="x", log=False),
                floor_level(floor, "best possible", is_below=floor > 0),
                level(chance, "guessing", across="y", log=False, label_at_start=True),
            ],
        ),
    )
