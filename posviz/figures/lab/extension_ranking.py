"""Loss of a trained RoPE model whose frequencies were swapped, method by method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from posviz.figures import theme
from posviz.figures.lab.ghosts import floor_level
from posviz.figures.lab.memory import PATTERNS, TALL, wrapped
from posviz.figures.spec import FigureSpec, axis, figure, layout


@figure(
    title="Extension without fine-tuning",
    formula=r"\text{loss over all tokens of a test of}\ s L,\quad "
    r"f_i \rightarrow f'_i\ \text{in the test alone}",
    help="One RoPE model, trained at L tokens; for the test at s·L its frequencies are replaced by "
    "those of each method with factor s, and nothing is trained again. Methods stand in the order "
    "of their loss at the largest factor, the best one first. Level: what no model can beat.",
    limits="One seed. On a task whose answers are two tokens away a method is judged by what it "
    "leaves alone, on retrieval by what it repairs: the order depends on the task. Models of "
    "thousands of tokens have many more pairs that turn often.",
)
def extension_ranking(
    losses: Mapping[str, Sequence[float]],
    *,
    factors: Sequence[float],
    trained: int,
    floor: float,
    chance: float,
) -> FigureSpec:
    """A group of bars per method, one bar per factor.

    Parameters
    ----------
    losses : method to the loss at each factor: nats per token; drawn in this order.
    factors : s, one series each.
    trained : length of training L: tokens.
    floor, chance : losses of the best model and of guessing.
    """
    methods = list(losses)
    traces = [
        {
            "type": "bar",
            "name": f"s = {factor:g}, {round(factor * trained)} tokens",
            "x": methods,
            "y": np.array([losses[method][place] for method in methods], dtype=float),
            "marker": {
                "color": theme.SERIES[place % len(theme.SERIES)],
                "pattern": {"shape": PATTERNS[place % len(PATTERNS)], "solidity": 0.25},
            },
            "hovertemplate": "%{x}<br>loss %{y:.3f}<extra>%{fullData.name}</extra>",
        }
        for place, factor in enumerate(factors)
    ]
    drawn = np.array(list(losses.values()), dtype=float)
    highest = max(chance, float(np.nanmax(drawn, initial=0.0)))
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
            margin=TALL,
        ),
    )
