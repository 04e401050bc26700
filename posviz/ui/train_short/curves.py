"""Which training stands behind a line: one of this session, or a stored one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from posviz.catalog import get, link
from posviz.lab.training.plan import Plan
from posviz.lab.training.stored import stored, stored_extension, stored_for
from posviz.lab.training.trained import Extended, Trained
from posviz.ui.train_short import extension
from posviz.ui.train_short.view import Shown, View

_NO_MATTER = ("most_seconds",)
"""Parts of a plan that change no number of a training that came to its end."""


@dataclass(frozen=True)
class Curve:
    """One encoding of the board with what is known of it under the plan."""

    item: Shown
    trained: Trained | None
    """Of this very encoding and plan, from this session or else stored."""
    ghost: Trained | None
    """A stored training to compare with, or to show where there is no other."""
    is_own: bool
    """Whether ``trained`` comes from this session."""

    @property
    def origin(self) -> str:
        """Where its line comes from, in a few words; empty where there is none."""
        if self.trained is None:
            return f"stored, {differences(self.ghost, self.item)}" if self.ghost else ""
        if not self.is_own:
            return f"stored, seed {self.trained.plan['seed']}"
        if not self.trained.is_done:
            return "in training"
        return f"trained here in {self.trained.seconds:.0f} s"


def curves_of(view: View) -> tuple[Curve, ...]:
    """What stands behind every encoding of the board."""
    return tuple(_curve(view, item) for item in view.shown)


def _curve(view: View, item: Shown) -> Curve:
    plan = view.plan.model_dump()
    own = next(
        (one for one in reversed(view.trained) if is_of(one, item.link, plan)),
        None,
    )
    kept = _stored(view.plan, item)
    if own is not None:
        return Curve(item, own, kept, True)
    if kept is not None and is_of(kept, item.link, plan):
        return Curve(item, kept, None, False)
    return Curve(item, None, kept, False)


def is_of(one: Trained | Extended, link_text: str, plan: Mapping[str, Any]) -> bool:
    """Whether a result is of this encoding under this plan."""
    is_same = isinstance(one, Extended) or one.link == link_text
    return is_same and _numbers(one.plan) == _numbers(plan)


def _numbers(plan: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in plan.items() if name not in _NO_MATTER}


def _stored(plan: Plan, item: Shown) -> Trained | None:
    """The stored training nearest to what is asked: first the link counts, then the seed."""
    usual = link(get(item.spec.id)())
    for text in (item.link, usual):
        for seed in (plan.seed, 0):
            if found := stored(plan.task, text, seed):
                return found
    return None


def differences(kept: Trained | None, item: Shown) -> str:
    """What a stored training was made with that is not set now, in a few words."""
    if kept is None:
        return ""
    return "at its own settings" if kept.link == item.link else f"as {kept.link}"


def changed_values(kept: Trained, plan: Plan) -> dict[str, tuple[Any, Any]]:
    """Names of the plan's values that differ: (stored, now)."""
    now = _numbers(plan.model_dump())
    return {
        name: (value, now[name])
        for name, value in _numbers(kept.plan).items()
        if name in now and now[name] != value
    }


def extension_of(view: View) -> tuple[Extended | None, bool]:
    """What swapped frequencies did to a trained RoPE model, and whether this session did it.

    Of this plan where there is one; else the stored one of the task.
    """
    plan = view.plan
    wanted = extension.plan_of(plan).model_dump()
    for one in reversed(view.extended):
        if is_of(one, "", wanted):
            return one, True
    for seed in (plan.seed, 0):
        if found := stored_extension(plan.task, seed):
            return found, False
    return None, False


def everything_stored(task: str) -> tuple[Trained, ...]:
    """All stored trainings of a task at the usual seed."""
    return stored_for(task)
