"""From the lengths to the settings: every rule's answer, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from posviz.parameters import ParameterError, closest
from posviz.solver.advice_notes import gains, notes, warnings
from posviz.solver.given import (
    LARGEST_FACTOR,
    checked_base,
    checked_factor,
    checked_length,
    checked_rotary_dim,
)
from posviz.solver.ramp_range import beta_range
from posviz.solver.rule import Answer, Need, Rule, Setting
from posviz.solver.rules import RULES

AdviceSeverity: TypeAlias = Literal["ok", "info", "warn"]
_OWNER = "advice"


@dataclass(frozen=True, kw_only=True)
class Advice:
    """What each rule sets for one target, none of them preferred.

    Attributes
    ----------
    original, target, base, rotary_dim : what was asked; tokens, without unit, dimensions.
    needed : whether the target is beyond the trained window at all.
    factor : the smallest factor that covers the target, max(1, target/original).
    severity : ``warn`` where a static factor would harm short inputs or the present one does not
        fit, ``info`` where an extension is needed, else ``ok``.
    rules : one row per rule; a single row that sets nothing where nothing is needed.
    values : numbers of the whole advice: the score gain at the needed and at the present factor.
    notes : sentences.
    """

    original: int
    target: int
    base: float
    rotary_dim: int
    needed: bool
    factor: float
    severity: AdviceSeverity
    rules: tuple[Rule, ...]
    values: Mapping[str, float]
    notes: tuple[str, ...]

    def rule(self, rule_id: str) -> Rule:
        """The row of one rule; ParameterError where there is none."""
        by_id = {rule.id: rule for rule in self.rules}
        if rule_id not in by_id:
            raise ParameterError(f"advice: no rule {rule_id!r}; {closest(rule_id, list(by_id))}.")
        return by_id[rule_id]


def advise(
    *,
    original: int,
    target: int,
    base: float,
    rotary_dim: int,
    typical: int | None = None,
    betas: tuple[float, float] = (32.0, 1.0),
    present_factor: float | None = None,
    search_up_to: int = 1 << 17,
) -> Advice:
    """Settings with which each rule says that a model reaches the target.

    The rules answer different questions, most of them about a model that is not trained any
    further, some about a base to train with; they do not have to agree, and none is an oracle.

    Parameters
    ----------
    original : the window that the model was trained with, before any extension; tokens.
    target : the longest input that shall work; tokens.
    base, rotary_dim : of the model as trained.
    typical : the usual length of an input; tokens.
    betas : beta_fast and beta_slow of the ramp; turns.
    present_factor : the static factor that the configuration has now.
    search_up_to : the longest target for which Men's criterion is searched; a search takes
        a second at 2^17 tokens and many at 2^20.

    Returns
    -------
    Advice.

    Raises
    ------
    ParameterError : a number that cannot be used.

    Examples
    --------
    >>> advice = advise(original=32768, target=65536, base=1e6, rotary_dim=128, typical=2000)
    >>> advice.rule("yarn").sets["factor"], round(advice.rule("yarn").values["score_gain"], 9)
    (2.0, 1.143433966)
    >>> advise(original=8192, target=8192, base=5e5, rotary_dim=128).factor
    1.0
    """
    need = Need(
        original=checked_length(_OWNER, "original", original),
        target=checked_length(_OWNER, "target", target),
        base=checked_base(_OWNER, "base", base),
        rotary_dim=checked_rotary_dim(_OWNER, rotary_dim),
        betas=_checked_betas(betas),
        search_up_to=checked_length(_OWNER, "search_up_to", search_up_to),
    )
    if need.factor > LARGEST_FACTOR:
        allowed = f"at most {LARGEST_FACTOR:g} times original"
        raise ParameterError(f"{_OWNER}: target must be {allowed}; got {need.target}.")
    usual = None if typical is None else checked_length(_OWNER, "typical", typical)
    present = None
    if present_factor is not None:
        present = checked_factor(_OWNER, "present_factor", present_factor)
    needed = need.target > need.original
    must_see = warnings(need, usual, present)
    return Advice(
        original=need.original,
        target=need.target,
        base=need.base,
        rotary_dim=need.rotary_dim,
        needed=needed,
        factor=need.factor,
        severity="warn" if must_see else "info" if needed else "ok",
        rules=tuple(rule.about(need) for rule in RULES) if needed else (_nothing(need),),
        values=gains(need, present),
        notes=(*must_see, *notes(need)),
    )


def _checked_betas(betas: tuple[float, float]) -> tuple[float, float]:
    if not isinstance(betas, tuple | list) or len(betas) != 2:
        raise ParameterError(f"{_OWNER}: betas must be beta_fast and beta_slow; got {betas!r}.")
    # The ramp's own checks, at a window and a base that cannot be wrong.
    ramp = beta_range(
        original=4096, base=10000.0, rotary_dim=128, beta_fast=betas[0], beta_slow=betas[1]
    )
    return ramp.beta_fast, ramp.beta_slow


def _nothing(need: Need) -> Rule:
    sets: dict[str, Setting] = {"rope_type": "default"}
    answer = Answer(sets=sets, formula=f"{need.target} ≤ {need.original}, so s = 1")
    return Rule(
        id="none",
        title="No extension",
        sets=answer.sets,
        formula=answer.formula,
        values={"factor": 1.0},
        source="Peng et al. 2023, arXiv:2309.00071: s = max(1, L'/L)",
        caveat="Every extension changes the model within its trained window.",
    )
