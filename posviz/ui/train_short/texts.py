"""Code that reproduces what is shown, as texts of the board."""

from __future__ import annotations

from typing import Any

from posviz.lab.training.plan import EXTENDED_BY, Plan
from posviz.ui.code_block import code_block
from posviz.ui.train_short import extension
from posviz.ui.train_short.view import View


def texts(view: View) -> list[dict[str, Any]]:
    """The calls that give the numbers of the plots, and the link of every encoding."""
    group = "In Python"
    blocks = [code_block("python", group, "train and test", code(view))]
    if view.plan.can_be_extended:
        blocks.append(code_block("extend", group, "swap the frequencies", extending(view)))
    links = "\n".join(item.link for item in view.shown)
    return [*blocks, code_block("links", group, "links", links)]


def code(view: View) -> str:
    """Python that trains what the board shows and prints the results at each length."""
    return (
        f"from posviz.lab.training.plan import Plan\n"
        "from posviz.lab.training.run import train_all\n\n\n"
        "def report(progress):\n"
        "    print(f'{progress.part:4.0%}', progress.note)\n\n\n"
        f"plan = {written(view.plan)}\n"
        f"links = {[item.link for item in view.shown]!r}\n"
        "for one in train_all(report, links=links, plan=plan.model_dump()):\n"
        "    print(one.title, dict(zip(one.lengths, one.score)))\n"
    )


def extending(view: View) -> str:
    """Python that trains RoPE and swaps its frequencies."""
    return (
        "from posviz.lab.training.plan import Plan\n"
        "from posviz.lab.training.run import extend\n\n\n"
        "def report(progress):\n"
        "    print(f'{progress.part:4.0%}', progress.note)\n\n\n"
        f"plan = {written(extension.plan_of(view.plan))}\n"
        f"found = extend(report, plan=plan.model_dump(), factors={EXTENDED_BY!r})\n"
        "for method, losses in found.loss.items():\n"
        "    print(method, dict(zip(found.factors, losses)))\n"
    )


def written(plan: Plan) -> str:
    """The call that makes a plan, defaults of its task left out."""
    usual = Plan.for_task(plan.task).model_dump()
    changed = {name: value for name, value in plan.model_dump().items() if value != usual[name]}
    changed.pop("task", None)
    more = "".join(f", {name}={value!r}" for name, value in changed.items())
    return f"Plan.for_task({plan.task!r}{more})"
