"""The rules of advice, in the order in which they are shown; a new rule is one more entry."""

from __future__ import annotations

from posviz.solver.base_rules import BASE_RULES
from posviz.solver.factor_rules import FACTOR_RULES
from posviz.solver.rule import RuleOfAdvice

RULES: tuple[RuleOfAdvice, ...] = (*FACTOR_RULES, *BASE_RULES)
