"""What a quantity is: one number that tools know by different names, tied to a factor s."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from string import Formatter
from typing import Literal

from posviz.parameters import ParameterError
from posviz.solver.given import written

Known = Mapping[str, float]
"""Numbers that a conversion may use, by symbol: b, d, L, L0."""

ARGUMENTS: Mapping[str, str] = {"b": "base", "d": "rotary_dim", "L": "length", "L0": "original"}
"""The argument that each symbol comes from."""


@dataclass(frozen=True)
class Formula:
    """One formula: how it is written, and how it is worked out.

    Attributes
    ----------
    text : with ``{x}`` for the number that goes in and ``{b}``, ``{d}``, ``{L}``, ``{L0}`` for what
        else it needs.
    solve : from that number, and the numbers known beside it, to the result.
    """

    text: str
    solve: Callable[[float, Known], float]

    @property
    def needs(self) -> tuple[str, ...]:
        """Symbols beside the number itself."""
        fields = {name for _, name, _, _ in Formatter().parse(self.text) if name}
        return tuple(symbol for symbol in ARGUMENTS if symbol in fields)

    def symbolic(self, symbol: str) -> str:
        """The formula in symbols; ``symbol`` is that of the number which goes in."""
        return self.text.format(x=symbol, **{name: name for name in ARGUMENTS})

    def substituted(self, value: float, known: Known) -> str:
        """The formula with the numbers in their places."""
        return self.text.format(
            x=written(value), **{name: written(number) for name, number in known.items()}
        )


SAME = Formula("{x}", lambda value, known: value)
"""For a number that is s itself."""


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A number that describes how far a context is stretched, under one definition.

    Every quantity is tied to s, the factor by which the slowest pair turns slower than it did in
    training: linear scaling slows all pairs by s, an NTK-aware base slows the slowest by s.

    Attributes
    ----------
    id, title : the name of the definition, and how it is headed.
    symbol : as formulas write it.
    meaning : one sentence.
    called : (tool, name) pairs: what tools call it. Names that two quantities share are ambiguous.
    source : where the definition stands.
    to_factor, from_factor : from the number to s and back; None where there is no formula.
    direct : formulas to other quantities, by id, that need not go by way of s.
    sets : the setting that a runtime is given it as, or turns it into; empty for none.
    refusal : why there is none, a sentence; empty otherwise.
    refuse : what a value above 0 that is not allowed must be instead, or None.
    at_length : for definitions that follow the length, (length, original, factor) → the number.
    """

    id: str
    title: str
    symbol: str
    meaning: str
    called: tuple[tuple[str, str], ...]
    source: str
    to_factor: Formula | None = None
    from_factor: Formula | None = None
    direct: Mapping[str, Formula] = field(default_factory=dict)
    sets: Literal["factor", "base", ""] = ""
    refusal: str = ""
    refuse: Callable[[float], str | None] = lambda value: None
    at_length: Callable[[int, int, float], float] | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        """Arguments without which it cannot be converted, such as base and rotary_dim."""
        formulas = (self.to_factor, self.from_factor)
        symbols = {symbol for formula in formulas if formula for symbol in formula.needs}
        return tuple(name for symbol, name in ARGUMENTS.items() if symbol in symbols)

    @property
    def rule(self) -> str:
        """The definition in symbols, from s to the number; empty where there is none."""
        formula = self.from_factor or self.to_factor
        return "" if formula is None else formula.symbolic("s" if self.from_factor else self.symbol)


def worked_out(formula: Formula, value: float, known: Known, what: str) -> float:
    """The result; ParameterError where it has none, or none that a float can hold.

    ``what`` names the result in the message.
    """
    missing = [ARGUMENTS[symbol] for symbol in formula.needs if symbol not in known]
    if missing:
        raise ParameterError(f"converter: {what} needs {' and '.join(missing)}.")
    try:
        result = formula.solve(value, known)
    except (OverflowError, ZeroDivisionError):
        result = math.inf
    if not (math.isfinite(result) and result > 0):
        raise ParameterError(
            f"converter: {what} = {formula.substituted(value, known)} is no finite number above 0."
        )
    return result
