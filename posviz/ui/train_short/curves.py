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
    plan: Plan
    trained: Trained | None
    """Of this very encoding and plan, from this session or else stored."""
    ghost: Trained | None
    """A stored training to compare with, or to show where there is no other."""
    is_own: bool
    """Whether ``trained`` comes from this session."""
    elsewhere: str = ""
    """Where nothing can be drawn: which other length of training is stored, in a few words."""

    @property
    def origin(self) -> str:
        """Where its line comes from, in a few words."""
        one = self.trained
        if one is None:
            return self.ghost_origin or "; ".join(filter(None, ("not trained yet", self.elsewhere)))
        if not self.is_own:
            return f"stored, seed {one.plan['seed']}"
        if not one.is_done:
            return "in training"
        if is_cut(one):
            return f"trained here, {cut_in_words(one)}"
        return f"trained here in {one.seconds:.0f} s of one core"

    @property
    def ghost_origin(self) -> str:
        """The same of the ghost, with all that it was made with and that is not set now."""
        if self.ghost is None:
            return ""
        other = self.different
        return f"stored: {other}" if other else f"stored, seed {self.ghost.plan['seed']}"

    @property
    def different(self) -> str:
        """What the ghost was made with that is not set now; empty where it is of this plan."""
        return "" if self.ghost is None else different(self.ghost, self.item.link, self.plan)

    @property
    def line_name(self) -> str:
        """What figures call its line."""
        one = self.trained
        is_short = one is not None and is_cut(one)
        return f"{self.item.label}, {cut_in_words(one)}" if is_short and one else self.item.label

    @property
    def ghost_name(self) -> str:
        """What figures call its ghost."""
        return f"{self.item.label}, {self.ghost_origin}"

    @property
    def result(self) -> tuple[str, Trained | None]:
        """The one result to show where only one can be, and its name: a whole stored one of this
        plan rather than one that was cut."""
        if self.trained is None:
            return self.ghost_name, self.ghost
        if is_cut(self.trained) and self.ghost is not None and not self.different:
            return self.ghost_name, self.ghost
        return self.line_name, self.trained


def is_cut(one: Trained | Extended) -> bool:
    """Whether a training ran out of time before its last step."""
    return any("was cut" in note for note in one.notes)


def cut_in_words(one: Trained) -> str:
    """How far a training came that was cut."""
    reached = one.steps[-1] if one.steps else 0
    return f"cut at step {reached:,} of {one.plan['steps']:,}"


def curves_of(view: View) -> tuple[Curve, ...]:
    """What stands behind every encoding of the board."""
    return tuple(_curve(view, item) for item in view.shown)


def _curve(view: View, item: Shown) -> Curve:
    plan = view.plan
    values = plan.model_dump()
    own = _whole_first([one for one in view.trained if is_of(one, item.link, values)])
    kept, elsewhere = _stored(plan, item)
    if own is not None:
        return Curve(item, plan, own, kept, True)
    if kept is not None and is_of(kept, item.link, values):
        return Curve(item, plan, kept, None, False)
    return Curve(item, plan, None, kept, False, elsewhere)


def _whole_first(found: list[Trained]) -> Trained | None:
    """The newest one; but one that is done is not given up for one that was cut."""
    newest = reversed(found)
    return min(newest, key=is_cut, default=None)


def is_of(one: Trained | Extended, link_text: str, plan: Mapping[str, Any]) -> bool:
    """Whether a result is of this encoding under this plan."""
    is_same = isinstance(one, Extended) or one.link == link_text
    return is_same and _numbers(one.plan) == _numbers(plan)


def _numbers(plan: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in plan.items() if name not in _NO_MATTER}


def _stored(plan: Plan, item: Shown) -> tuple[Trained | None, str]:
    """The stored training nearest to what is asked: first the link counts, then the seed.

    One of another length of training cannot be set beside this plan's: where there is no other, a
    few words say so instead.
    """
    usual = link(get(item.spec.id)())
    elsewhere = ""
    for text in dict.fromkeys((item.link, usual)):
        for seed in dict.fromkeys((plan.seed, 0)):
            found = stored(plan.task, text, seed)
            if found is not None and found.length == plan.length:
                return found, ""
            if found is not None:
                elsewhere = elsewhere or f"stored only at L = {found.length}"
    return None, elsewhere


def different(kept: Trained | Extended, link_text: str, plan: Plan) -> str:
    """What a stored result was made with that is not set now: "as rope, steps 400"."""
    values = [_value(name, before) for name, (before, _) in changed_values(kept, plan).items()]
    if isinstance(kept, Trained) and kept.link != link_text:
        values.insert(0, f"as {kept.link}")
    return ", ".join(values)


def _value(name: str, value: Any) -> str:
    return f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"


def changed_values(kept: Trained | Extended, plan: Plan) -> dict[str, tuple[Any, Any]]:
    """Names of the plan's values that differ: (stored, now)."""
    now = _numbers(plan.model_dump())
    return {
        name: (value, now[name])
        for name, value in _numbers(kept.plan).items()
        if name in now and now[name] != value
    }


@dataclass(frozen=True)
class Swapped:
    """What swapped frequencies did to a trained RoPE model, and where that comes from."""

    found: Extended | None
    is_own: bool = False
    remark: str = ""
    """What is not as the plan says, or why nothing is shown; a whole sentence."""

    @property
    def origin(self) -> str:
        """Where it comes from, in a few words."""
        if self.found is None:
            return ""
        seed = f"seed {self.found.plan['seed']}"
        if not self.is_own:
            return f"stored, {seed}"
        if not self.found.is_done:
            return f"in training, {seed}"
        cut = "cut before its last step, " if is_cut(self.found) else ""
        return f"trained here in {self.found.seconds:.0f} s of one core, {cut}{seed}"


def extension_of(view: View) -> Swapped:
    """The extension of this plan where there is one; else the stored one of the task.

    A whole stored one is not given up for one of this session that was cut.
    """
    plan = extension.plan_of(view.plan)
    own = [one for one in view.extended if is_of(one, "", plan.model_dump())]
    newest = min(reversed(own), key=is_cut, default=None)
    if newest is not None and not is_cut(newest):
        return Swapped(newest, True)
    kept = _stored_extension(plan)
    if newest is not None and (kept.found is None or kept.remark):
        return Swapped(newest, True)
    if newest is not None:
        remark = "Your own training was cut before its last step; the whole stored one is shown."
        return Swapped(kept.found, False, remark)
    return kept


def _stored_extension(plan: Plan) -> Swapped:
    remark = ""
    for seed in dict.fromkeys((plan.seed, 0)):
        found = stored_extension(plan.task, seed)
        if found is None:
            continue
        if found.plan["length"] == plan.length:
            other = different(found, "", plan)
            return Swapped(found, False, f"Different from this plan: {other}." if other else "")
        remark = f"An extension is stored only for training at L = {found.plan['length']}."
    return Swapped(None, False, remark)


def everything_stored(task: str, seed: int) -> tuple[Trained, ...]:
    """All stored trainings of a task at a seed."""
    return stored_for(task, seed)
