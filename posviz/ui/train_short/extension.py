"""Extension without fine-tuning: what is trained for it, the table of its results, and why."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from posviz.lab.training.plan import EXTENSION_HEADS, EXTENSION_SECONDS, LEARNED_WITHIN, Plan
from posviz.lab.training.tasks import TASKS
from posviz.lab.training.trained import Extended
from posviz.ui.train_short.reading_numbers import shown

WHY: Mapping[str, str] = {
    "markov": "All that matters is two tokens away. PI divides every frequency and so blurs these "
    "small distances everywhere, also within the first L tokens, where plain RoPE is still as "
    "trained; NTK-aware stretches the slow pairs most and the fast ones hardly; by parts and YaRN "
    "leave the fast pairs exactly as trained, and lead in both counts.",
    "retrieval": "The segment grows with the test, so that the token to find lies further back "
    "than any did in training: plain RoPE meets angles that it never saw, and attention over more "
    "keys gets flatter. By parts repairs the first; YaRN has the same frequencies and a "
    "temperature against the second, so that what lies between the two is the temperature's "
    "doing. PI keeps every angle within what was trained but blurs the places that must be told "
    "apart. Beyond guessing the order is one of failures.",
}
"""Task to a few sentences on the ranking."""


def plan_of(plan: Plan) -> Plan:
    """The plan for a model whose frequencies are swapped: RoPE with two heads."""
    heads = EXTENSION_HEADS if plan.width % (2 * EXTENSION_HEADS) == 0 else 1
    return plan.with_values(heads=heads, most_seconds=EXTENSION_SECONDS)


def ranking(found: Extended) -> list[str]:
    """The methods by their loss over all tokens at the largest factor, the best one first."""
    return _order({name: row[-1] for name, row in found.loss.items()})


def at_end(found: Extended) -> dict[str, float]:
    """Method to the loss over the last L tokens alone, at the largest factor."""
    return {name: found.at_end[name][-1] for name in ranking(found) if name in found.at_end}


def _order(losses: Mapping[str, float]) -> list[str]:
    return sorted(losses, key=lambda name: _far(losses[name]))


def _far(value: float) -> float:
    return math.inf if math.isnan(value) else value


def rows(found: Extended) -> list[list[str]]:
    """The table: a row per method, the best one over all tokens at the largest factor first."""
    last = len(found.factors) - 1
    return [
        [
            name,
            *(shown(value) for value in found.loss[name]),
            shown(_last(found.at_end, name)),
            shown(_last(found.right, name)),
            shown(found.at_training_length[name][last]),
            found.links[name],
        ]
        for name in ranking(found)
    ]


def _last(table: Mapping[str, Sequence[float]], name: str) -> float:
    return table[name][-1] if name in table else math.nan


def titles(found: Extended) -> list[str]:
    """The heads of the table's columns."""
    length, largest = int(found.plan["length"]), found.factors[-1]
    far = [f"loss over all {length * factor:g} tokens (s = {factor:g})" for factor in found.factors]
    return [
        "method",
        *far,
        f"over the last {length} of {length * largest:g} alone",
        f"share right, all {length * largest:g}",
        f"loss at L with s = {largest:g}",
        "at the largest factor",
    ]


def sentences(found: Extended) -> str:
    """Both rankings in words, and where they differ."""
    task, plan = TASKS[found.plan["task"]], found.plan
    whole = {name: row[-1] for name, row in found.loss.items()}
    end = at_end(found)
    told = (
        f"{task.title}, trained at {plan['length']} tokens, tested at {found.factors[-1]:g} times "
        f"that; nats per token. Over all tokens: {_chain(whole)}. "
    )
    if end:
        told += f"Over the last {plan['length']} tokens alone: {_chain(end)}. {_turned(whole, end)}"
    return f"{told}No model can do better than {shown(found.best)}."


def _chain(losses: Mapping[str, float]) -> str:
    return " < ".join(f"{name} {shown(losses[name])}" for name in _order(losses))


def _turned(whole: Mapping[str, float], end: Mapping[str, float]) -> str:
    """What changing nothing is better than in one count and not in the other."""
    if "none" not in whole or "none" not in end:
        return ""
    turned = [
        name
        for name in _order(end)
        if name != "none" and whole[name] > whole["none"] and end[name] < end["none"]
    ]
    if not turned:
        return ""
    names, do = " and ".join(turned), "does" if len(turned) == 1 else "do"
    return (
        f"So {names} {do} worse than nothing in the first count, which includes the L tokens where "
        "plain RoPE is as trained, and better in the second. "
    )


def has_learned(found: Extended) -> bool:
    """Whether the model does its task at the length of training; an order means nothing if not."""
    near = found.at_training_length.get("none", ())
    return not near or near[0] <= found.best + LEARNED_WITHIN


def why(found: Extended) -> str:
    """A few sentences on the ranking, where there is one to explain."""
    return WHY.get(found.plan["task"], "") if has_learned(found) else ""


def against_results(found: Extended) -> str:
    """Why RoPE has another number here than in the results above."""
    plan = found.plan
    return (
        f'"none" is RoPE with {plan["heads"]} {"head" if plan["heads"] == 1 else "heads"} of '
        f"{plan['width'] // plan['heads']} dimensions, counted as the columns say; in the results "
        "above RoPE has the heads of the plan, and a loss there is that of the last quarter of L."
    )
