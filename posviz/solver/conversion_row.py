"""One row of a conversion: the way from one quantity to another, and its numbers."""

from __future__ import annotations

from dataclasses import dataclass

from posviz.parameters import ParameterError
from posviz.solver.given import written
from posviz.solver.quantity import ARGUMENTS, SAME, Formula, Known, Quantity, worked_out


@dataclass(frozen=True, kw_only=True)
class Row:
    """One result.

    Attributes
    ----------
    quantity, title : what the number is.
    value : the number; None where this reading has none, and ``rule`` says why.
    rule : the formula with the numbers in their places.
    source : where the definition stands.
    read_as : the definition under which the given number was read.
    rotary_dim : the rotary dimension that the number depends on; None where it does not.
    """

    quantity: str
    title: str
    value: float | None
    rule: str
    source: str
    read_as: str
    rotary_dim: int | None = None

    @property
    def shown(self) -> str:
        """The number, for reading: ten digits at most; a dash where there is none."""
        return "—" if self.value is None else written(self.value)


def lacking(reading: Quantity, target: Quantity, known: Known) -> list[str]:
    """Arguments that are missing on the way from one to the other."""
    symbols = {symbol for step in _path(reading, target) for symbol in step.needs}
    return [name for symbol, name in ARGUMENTS.items() if symbol in symbols - set(known)]


def row_of(reading: Quantity, target: Quantity, value: float, known: Known) -> Row:
    """The target's number; ParameterError where there is none."""
    path = _path(reading, target)
    if not path:
        raise ParameterError(f"converter: {target.title}: {target.refusal}")
    number, rule = _solved(path, reading, target, value, known)
    depends = any("d" in step.needs for step in path)
    return Row(
        quantity=target.id,
        title=target.title,
        value=number,
        rule=rule,
        source=reading.source if target.id == "factor" else target.source,
        read_as=reading.id,
        rotary_dim=int(known["d"]) if depends else None,
    )


def empty_row(reading: Quantity, about: Quantity, reason: str) -> Row:
    """A row that says why there is no number."""
    return Row(
        quantity=about.id,
        title=about.title,
        value=None,
        rule=reason.removeprefix("converter: "),
        source=about.source,
        read_as=reading.id,
    )


def refused(reading: Quantity, value: float) -> str | None:
    """Why the value cannot be read under this definition, a sentence, or None."""
    if reading.to_factor is None:
        return f"converter: {reading.title}: {reading.refusal}"
    allowed = reading.refuse(value)
    if allowed is None:
        return None
    return f"converter: {reading.id} must be {allowed}; got {written(value)}."


def _path(reading: Quantity, target: Quantity) -> tuple[Formula, ...]:
    """The formulas from one quantity to another; none where there is no way."""
    if reading.id == target.id:
        return (SAME,)
    if target.id in reading.direct:
        return (reading.direct[target.id],)
    if reading.to_factor is None or target.from_factor is None:
        return ()
    steps = tuple(step for step in (reading.to_factor, target.from_factor) if step is not SAME)
    return steps or (SAME,)


def _solved(
    path: tuple[Formula, ...], reading: Quantity, target: Quantity, value: float, known: Known
) -> tuple[float, str]:
    rule = ""
    if len(path) > 1:
        between = worked_out(path[0], value, known, "s")
        rule = f"s = {path[0].substituted(value, known)} = {written(between)}; "
    else:
        between = value
    result = worked_out(path[-1], between, known, target.id)
    allowed = target.refuse(result)
    if allowed is not None:
        raise ParameterError(
            f"converter: {target.id} must be {allowed}; {reading.id} {written(value)} gives "
            f"{written(result)}."
        )
    return result, f"{rule}{target.symbol} = {path[-1].substituted(between, known)}"
