"""What a rule of advice is: one answer, with its settings, its formula and its source."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from posviz.solver.given import written

Setting: TypeAlias = float | int | str


@dataclass(frozen=True, kw_only=True)
class Need:
    """A model as trained and the length that it shall reach.

    Attributes
    ----------
    original, target : tokens; target is at least original.
    base, rotary_dim : of the model as trained.
    betas : beta_fast, beta_slow of a ramp, in turns.
    search_up_to : the longest target for which bases are searched one by one, in tokens.
    """

    original: int
    target: int
    base: float
    rotary_dim: int
    betas: tuple[float, float] = (32.0, 1.0)
    search_up_to: int = 1 << 17

    @property
    def factor(self) -> float:
        """target / original, never below 1."""
        return max(1.0, self.target / self.original)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What one rule says about one need.

    Attributes
    ----------
    sets : settings and their values; empty where the rule has no answer, which formula explains.
    formula : plain text with the numbers in their places.
    values : further numbers by name, without unit or in tokens.
    """

    sets: Mapping[str, Setting]
    formula: str
    values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One row of advice.

    Attributes
    ----------
    id, title : the rule.
    sets : settings and their values; empty where the rule has no answer, which formula explains.
    formula : plain text with the numbers in their places.
    values : further numbers by name.
    source : where the rule stands.
    caveat : what the rule does not say.
    """

    id: str
    title: str
    sets: Mapping[str, Setting]
    formula: str
    values: Mapping[str, float]
    source: str
    caveat: str

    @property
    def settings(self) -> str:
        """What it sets, for reading: ten digits at most; a dash for nothing."""
        parts = (f"{name} = {_shown(value)}" for name, value in self.sets.items())
        return ", ".join(parts) or "—"


def _shown(value: Setting) -> str:
    return value if isinstance(value, str) else written(value)


@dataclass(frozen=True, kw_only=True)
class Covered:
    """How far a setting reaches by one rule.

    Attributes
    ----------
    id, title, source, caveat : the rule.
    length : tokens, rounded down; None where the rule has no answer, which formula explains.
    at_least : the true length may be greater: the search ended there.
    formula : plain text with the numbers in their places.
    """

    id: str
    title: str
    length: int | None
    at_least: bool
    formula: str
    source: str
    caveat: str


@dataclass(frozen=True)
class Reach:
    """What a rule answers to a setting: a length before rounding, and how it comes about."""

    length: float | None
    formula: str
    at_least: bool = False

    @property
    def tokens(self) -> int | None:
        """Whole tokens; a length that is whole but for rounding errors counts as whole."""
        if self.length is None or math.isinf(self.length):
            return None
        nearest = round(self.length)
        close = math.isclose(nearest, self.length, rel_tol=1e-12)
        return nearest if close else math.floor(self.length)


@dataclass(frozen=True, kw_only=True)
class RuleOfAdvice:
    """A rule, in both directions.

    Attributes
    ----------
    answer : from a need to settings.
    takes : what reach starts from: a factor, a base, or neither.
    reach : from that number, and the model as trained, to the length that it covers.
    """

    id: str
    title: str
    source: str
    caveat: str
    answer: Callable[[Need], Answer]
    takes: Literal["factor", "base", ""] = ""
    reach: Callable[[float, Need], Reach] | None = None

    def about(self, need: Need) -> Rule:
        """The row for one need."""
        found = self.answer(need)
        return Rule(
            id=self.id,
            title=self.title,
            sets=found.sets,
            formula=found.formula,
            values=found.values,
            source=self.source,
            caveat=self.caveat,
        )

    def covered(self, value: float, need: Need) -> Covered:
        """The length that a factor or a base covers."""
        assert self.reach is not None
        found = self.reach(value, need)
        return Covered(
            id=self.id,
            title=self.title,
            length=found.tokens,
            at_least=found.at_least,
            formula=found.formula,
            source=self.source,
            caveat=self.caveat,
        )
