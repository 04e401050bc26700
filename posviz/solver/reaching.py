"""From a setting to the lengths: how far each rule says that it reaches."""

from __future__ import annotations

from dataclasses import dataclass

from posviz.parameters import ParameterError, shortened
from posviz.solver.conversion import convert
from posviz.solver.given import (
    checked_base,
    checked_factor,
    checked_length,
    checked_rotary_dim,
    listed,
    number_above,
)
from posviz.solver.lookup import meanings, names
from posviz.solver.quantity import Quantity
from posviz.solver.rule import Covered, Need
from posviz.solver.rules import RULES

_OWNER = "reach"


@dataclass(frozen=True, kw_only=True)
class Reached:
    """How far one setting reaches, read as one quantity.

    Attributes
    ----------
    quantity, value : the setting.
    factor, new_base : what it comes to; None where the rules shown do not use it.
    rules : one row per rule that takes such a setting.
    """

    quantity: str
    value: float
    factor: float | None
    new_base: float | None
    rules: tuple[Covered, ...]

    def length(self, rule_id: str) -> int | None:
        """The length by one rule; ParameterError where the rule is not among the rows."""
        by_id = {rule.id: rule.length for rule in self.rules}
        if rule_id not in by_id:
            raise ParameterError(f"{_OWNER}: {listed(list(by_id))} are shown, not {rule_id!r}.")
        return by_id[rule_id]


def reach(
    quantity: str,
    value: float,
    *,
    original: int,
    base: float,
    rotary_dim: int,
    search_up_to: int = 1 << 20,
) -> tuple[Reached, ...]:
    """The length that each rule says a factor, a frequency scale, a base or an alpha covers.

    The inverse of :func:`~posviz.solver.advise`. A factor is put to the rules that set a factor, a
    base to those that set a base; alpha is turned into its base first. A name with several
    definitions gives one entry for each that can be read.

    Parameters
    ----------
    quantity : an id of :func:`~posviz.solver.names`, or what a tool calls it.
    value : the number, above 0.
    original : the window that the model was trained with; tokens.
    base, rotary_dim : of the model as trained.
    search_up_to : how far Men's criterion is followed; tokens.

    Returns
    -------
    tuple of Reached, one per definition.

    Raises
    ------
    ParameterError : a quantity that is no setting, or a number that cannot be used.

    Examples
    --------
    >>> found, = reach("ntk_base", 5e5, original=4096, base=10000, rotary_dim=128)
    >>> found.length("ntk_aware"), found.length("men_searched")
    (192656, 18438)
    >>> found, = reach("rope_freq_scale", 0.25, original=4096, base=10000, rotary_dim=128)
    >>> found.length("yarn")
    16384
    """
    window = checked_length(_OWNER, "original", original)
    need = Need(
        original=window,
        target=window,
        base=checked_base(_OWNER, "base", base),
        rotary_dim=checked_rotary_dim(_OWNER, rotary_dim),
        search_up_to=checked_length(_OWNER, "search_up_to", search_up_to),
    )
    readings = [one for one in meanings(quantity) if one.sets]
    if not readings:
        known = listed([one.id for one in names() if one.sets])
        raise ParameterError(
            f"{_OWNER}: quantity must be one of {known}; got {shortened(quantity)}."
        )
    number = number_above("converter", quantity if len(readings) > 1 else readings[0].id, value)
    if len(readings) > 1:
        # Of several definitions, one that cannot be meant by this value says nothing.
        readings = [one for one in readings if one.refuse(number) is None]
    return tuple(_reached(one, number, need) for one in readings)


def _reached(reading: Quantity, value: float, need: Need) -> Reached:
    if reading.sets == "factor":
        factor = checked_factor(
            _OWNER, "factor", convert(reading.id, value, to="factor").number("factor")
        )
        rows = tuple(rule.covered(factor, need) for rule in RULES if rule.takes == "factor")
        return Reached(quantity=reading.id, value=value, factor=factor, new_base=None, rules=rows)
    converted = convert(
        reading.id, value, base=need.base, rotary_dim=need.rotary_dim, to="ntk_base"
    )
    new_base = converted.number("ntk_base")
    rows = tuple(rule.covered(new_base, need) for rule in RULES if rule.takes == "base")
    return Reached(quantity=reading.id, value=value, factor=None, new_base=new_base, rules=rows)
