"""From one quantity to the others, every step written out."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from posviz.parameters import ParameterError, sentence
from posviz.solver.conversion_notes import notes_on
from posviz.solver.conversion_row import Row, empty_row, lacking, refused, row_of
from posviz.solver.given import (
    checked_base,
    checked_length,
    checked_rotary_dim,
    listed,
    number_above,
)
from posviz.solver.lookup import meanings, names
from posviz.solver.quantity import Quantity

Severity: TypeAlias = Literal["ok", "info", "warn"]

_OF_AN_AMBIGUOUS_NAME = ("factor", "ntk_base")
"""What a name with several meanings is converted to, where nothing else is asked for."""


@dataclass(frozen=True, kw_only=True)
class Conversion:
    """A number under each definition of its name, and what it is elsewhere.

    Attributes
    ----------
    quantity, value : what was given.
    severity : ``warn`` where the number shrinks the context, ``info`` where its name has several
        definitions, else ``ok``.
    rows : the results.
    notes : sentences.
    """

    quantity: str
    value: float
    severity: Severity
    rows: tuple[Row, ...]
    notes: tuple[str, ...]

    def number(
        self, quantity: str, *, rotary_dim: int | None = None, read_as: str | None = None
    ) -> float:
        """The one value of a quantity among the rows; say which where there are several.

        Raises
        ------
        ParameterError : no row, or several that differ.
        """
        found = {
            row.value
            for row in self.rows
            if row.quantity == quantity
            and row.value is not None
            and row.rotary_dim in (None, rotary_dim or row.rotary_dim)
            and row.read_as == (read_as or row.read_as)
        }
        if len(found) != 1:
            have = "no value" if not found else f"{len(found)} values"
            raise ParameterError(f"conversion of {self.quantity}: {quantity} has {have}.")
        return found.pop()


def convert(
    quantity: str,
    value: float,
    *,
    base: float | None = None,
    rotary_dim: int | Sequence[int] | None = None,
    length: int | None = None,
    original: int | None = None,
    to: str | Sequence[str] | None = None,
) -> Conversion:
    """What a number is under the other names, by way of s.

    A name that several tools use for different things, such as ``alpha``, is read under every one
    of its definitions, side by side; none is chosen.

    Parameters
    ----------
    quantity : an id of :func:`~posviz.solver.names`, or what a tool calls it.
    value : the number, above 0.
    base : the base of the model as trained.
    rotary_dim : rotated dimensions, or several of them to be shown side by side.
    length : the length at which definitions that follow the length are worked out; tokens.
    original : the window that the model was trained with; tokens.
    to : what to convert to; everything that can be worked out when left out.

    Returns
    -------
    Conversion.

    Raises
    ------
    ParameterError : an unknown name, a value that cannot be used, or an argument that is missing
        for what ``to`` asks for.

    Examples
    --------
    >>> convert("rope_freq_scale", 0.25).number("factor")
    4.0
    >>> found = convert("ntk_base", 35000, base=10000, rotary_dim=128, to="alpha_ntk")
    >>> round(found.number("alpha_ntk"), 9), found.rows[0].rule
    (3.432155698, 'alpha = (35000/10000)^((128-2)/128)')
    >>> convert("alpha", 20, base=10000, rotary_dim=(128, 44)).severity
    'info'
    """
    readings = meanings(quantity)
    number = number_above("converter", quantity, value)
    dims = _dims(rotary_dim)
    known = _known(base, length, original)
    readable, rows = _readable(readings, number)
    absent: dict[str, list[str]] = {}
    for reading, dim, (target, asked) in itertools.product(readable, dims, _targets(readings, to)):
        beside = known if dim is None else {**known, "d": float(dim)}
        missing = lacking(reading, target, beside)
        if missing and not asked:
            absent.setdefault(target.id, missing)
            continue
        try:
            row = row_of(reading, target, number, beside)
        except ParameterError as error:
            # Beside others, a target that has no value is a row that says so.
            if asked and len(readings) == 1:
                raise
            row = empty_row(reading, target, str(error))
        if row not in rows:
            rows.append(row)
    notes, shrinks = notes_on(readings, number, known, dims)
    notes += [f"{target} needs {listed(missing)} as well." for target, missing in absent.items()]
    severity: Severity = "warn" if shrinks else "info" if len(readings) > 1 else "ok"
    return Conversion(
        quantity=quantity, value=number, severity=severity, rows=tuple(rows), notes=tuple(notes)
    )


def _readable(readings: tuple[Quantity, ...], value: float) -> tuple[list[Quantity], list[Row]]:
    """The definitions that the value can be read under, and a row for each of the others."""
    reasons = [(reading, refused(reading, value)) for reading in readings]
    if len(readings) == 1 and reasons[0][1] is not None:
        raise ParameterError(reasons[0][1])
    rows = [empty_row(reading, reading, reason) for reading, reason in reasons if reason]
    return [reading for reading, reason in reasons if reason is None], rows


def _dims(rotary_dim: int | Sequence[int] | None) -> tuple[int | None, ...]:
    if rotary_dim is None:
        return (None,)
    several = rotary_dim if isinstance(rotary_dim, tuple | list) else (rotary_dim,)
    if not several:
        raise ParameterError("converter: rotary_dim must be at least one number; got none.")
    return tuple(checked_rotary_dim("converter", one) for one in several)


def _known(base: float | None, length: int | None, original: int | None) -> dict[str, float]:
    known: dict[str, float] = {}
    if base is not None:
        known["b"] = checked_base("converter", "base", base)
    if length is not None:
        known["L"] = float(checked_length("converter", "length", length))
    if original is not None:
        known["L0"] = float(checked_length("converter", "original", original))
    return known


def _targets(
    readings: tuple[Quantity, ...], to: str | Sequence[str] | None
) -> list[tuple[Quantity, bool]]:
    """What to convert to, and whether it was asked for by a name that is its own."""
    if to is None:
        wanted = [one for one in names() if one.from_factor]
        if len(readings) > 1:
            return [(one, False) for one in wanted if one.id in _OF_AN_AMBIGUOUS_NAME]
        return [(one, False) for one in wanted if one.id != readings[0].id]
    targets = (to,) if isinstance(to, str) else to
    if not isinstance(targets, tuple | list) or not targets:
        allowed = "the name of a quantity, or several"
        raise ParameterError(sentence("converter", "to", allowed, to))
    found = [meanings(name) for name in targets]
    asked = {one.id: (one, len(several) == 1) for several in found for one in several}
    return list(asked.values())
