"""Extension without fine-tuning: what is trained for it, the table of its results, and why."""

from __future__ import annotations

import math
from collections.abc import Mapping

from posviz.lab.training.plan import Plan
from posviz.lab.training.tasks import TASKS
from posviz.lab.training.trained import Extended
from posviz.ui.train_short.reading_numbers import shown

HEADS = 2
"""Two heads of a usual width have 16 pairs each: with fewer, hardly one lies between the ends of
the ramp."""
FACTORS = (2.0, 4.0, 8.0)
MOST_SECONDS = 120.0
"""One model is trained for all methods; the retrieval task needs longer than one of a row of six
may take."""
WHY: Mapping[str, str] = {
    "markov": "All that matters is two tokens away: dividing every frequency (PI) blurs just these "
    "small distances, so it does worse than doing nothing; NTK-aware stretches the slow pairs most "
    "and the fast ones hardly; by parts and YaRN leave the fast pairs exactly as trained.",
    "retrieval": "The token to find lies 8 to 32 back, among more and more keys: plain RoPE meets "
    "angles that it never saw, and its attention gets flatter. YaRN repairs both, the temperature "
    "alone the second; PI blurs the very places that must be told apart.",
}
"""Task to one sentence on the ranking."""


def suits(task: str) -> bool:
    """Whether the frequencies of a model of this task can be swapped: its test is a loss."""
    return TASKS[task].metric == "loss"


def plan_of(plan: Plan) -> Plan:
    """The plan for a model whose frequencies are swapped: RoPE with two heads."""
    heads = HEADS if plan.width % (2 * HEADS) == 0 else 1
    return plan.with_values(heads=heads, most_seconds=MOST_SECONDS)


def ranking(found: Extended) -> list[str]:
    """The methods by their loss at the largest factor, the best one first."""
    return sorted(found.loss, key=lambda name: _far(found, name))


def _far(found: Extended, name: str) -> float:
    value = found.loss[name][-1]
    return math.inf if math.isnan(value) else value


def rows(found: Extended) -> list[list[str]]:
    """The table: a row per method, the best one at the largest factor first."""
    last = len(found.factors) - 1
    return [
        [
            name,
            *(shown(value) for value in found.loss[name]),
            shown(found.at_training_length[name][last]),
            found.links[name],
        ]
        for name in ranking(found)
    ]


def titles(found: Extended) -> list[str]:
    """The heads of the table's columns."""
    length = int(found.plan["length"])
    far = [f"loss at {factor:g} L = {length * factor:g}" for factor in found.factors]
    return ["method", *far, f"loss at L, s = {found.factors[-1]:g}", "at the largest factor"]


def sentence(found: Extended) -> str:
    """The ranking in words."""
    task = TASKS[found.plan["task"]]
    order = " < ".join(f"{name} {shown(_far(found, name))}" for name in ranking(found))
    return (
        f"{task.title}, trained at {found.plan['length']} tokens; nats per token at "
        f"{found.factors[-1]:g} times that: {order}; no model can do better than "
        f"{shown(found.best)}."
    )
