"""Declared parameters: one declaration says what a field may be and how a person sets it.

A field of an encoding is written once, as
``name: Annotated[type, bounds, Parameter(...)] = default``. Validation, the widget, the link text,
the documentation and the random test cases all read that declaration through :func:`declarations`.
"""

from __future__ import annotations

import difflib
import functools
import math
import types
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt, MaxLen
from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic.fields import FieldInfo

AcceptsList = BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value)
"""Beside a tuple field: a list of numbers, as configuration files have them, is taken too."""

Kind = Literal["number", "integer", "switch", "choice", "list", "text"]
Scale = Literal["linear", "log"]

_SHOWN_VALUE_LENGTH = 60
_NAMES_LISTED = 8


class ParameterError(ValueError):
    """A value that cannot be used: who, which parameter, what is allowed, what came."""


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """What a person needs to know about a field, beside its type and its bounds.

    ``slider`` holds the usual values; the domain (the bounds beside it) holds all allowed ones.
    """

    help: str
    symbol: str = ""
    unit: str = ""
    slider: tuple[float, float] | None = None
    step: float | None = None
    scale: Scale = "linear"


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """One field, read back from its class."""

    name: str
    kind: Kind
    default: Any
    optional: bool
    choices: tuple[str, ...]
    lower: float | None
    lower_included: bool
    upper: float | None
    upper_included: bool
    parameter: Parameter
    longest: int = 0
    """Most characters of a text."""

    @property
    def domain(self) -> str:
        """The allowed values as a phrase that follows "must be"."""
        phrase = {
            "switch": "true or false",
            "choice": "one of " + ", ".join(self.choices),
            "text": f"text of at most {self.longest} characters",
            "list": f"a list of numbers {self._bounds()}".strip(),
            "number": f"a number {self._bounds()}".strip(),
            "integer": f"a whole number {self._bounds()}".strip(),
        }[self.kind]
        return phrase + (", or left out" if self.optional else "")

    def _bounds(self) -> str:
        low = "" if self.lower is None else number_text(self.lower)
        high = "" if self.upper is None else number_text(self.upper)
        low_words = f"{'of at least' if self.lower_included else 'above'} {low}" if low else ""
        high_words = f"{'at most' if self.upper_included else 'below'} {high}" if high else ""
        return " and ".join(words for words in (low_words, high_words) if words)

    def parse(self, text: str, owner: str) -> Any:
        """Read the text form that :meth:`format` writes; raise ParameterError when it is none."""
        if self.optional and text == "none":
            return None
        try:
            return self._read(text)
        except ValueError:
            raise ParameterError(sentence(owner, self.name, self.domain, text)) from None

    def _read(self, text: str) -> Any:
        match self.kind:
            case "switch":
                return {"true": True, "false": False}[text] if text in ("true", "false") else text
            case "choice" | "text":
                return text
            case "list":
                return tuple(float(part) for part in text.split(",")) if text else ()
            case "integer":
                return _read_integer(text)
            case "number":
                return float(text)

    def format(self, value: Any) -> str:
        """Write a value as link text; :meth:`parse` reads it back exactly."""
        if value is None:
            return "none"
        match self.kind:
            case "switch":
                return "true" if value else "false"
            case "choice" | "text":
                return str(value)
            case "list":
                return ",".join(number_text(part) for part in value)
            case _:
                return number_text(value)


def _read_integer(text: str) -> int:
    value = float(text)
    if not value.is_integer():
        raise ValueError(text)
    # int() of the text keeps digits that a float would lose.
    return int(text) if text.strip().lstrip("+-").isdigit() else int(value)


def number_text(value: float) -> str:
    """Shortest text that reads back to the same number: ``8`` rather than ``8.0``."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e16:
        return str(int(value))
    return repr(value) if isinstance(value, int) else repr(float(value))


def sentence(owner: str, name: str, allowed: str, value: Any) -> str:
    """The one form of every message about a bad value."""
    return f"{owner}: {name} must be {allowed}; got {shortened(value)}."


def shortened(value: Any) -> str:
    """A value as a message shows it: quoted where it is text, cut where it is long."""
    if isinstance(value, int) and value.bit_length() > 4 * _SHOWN_VALUE_LENGTH:
        # Python refuses to write out integers of more than 4300 digits.
        return f"a whole number of about {int(value.bit_length() * math.log10(2)) + 1} digits"
    try:
        shown = repr(value) if isinstance(value, str) else str(value)
    except ValueError:  # such an integer inside a list or an object
        shown = f"a value of type {type(value).__name__}, too long to write out"
    return shown if len(shown) <= _SHOWN_VALUE_LENGTH else shown[:_SHOWN_VALUE_LENGTH] + "…"


def closest(name: object, known: Sequence[str]) -> str:
    """Known names for a message about an unknown one, the most alike first.

    Where none is alike, the first few of all: a message is a sentence, not a catalog.
    """
    text = name if isinstance(name, str) else shortened(name)
    near = difflib.get_close_matches(text[:_SHOWN_VALUE_LENGTH], known, n=3, cutoff=0.5)
    if near:
        return f"closest: {', '.join(near)}"
    rest = len(known) - _NAMES_LISTED
    more = f", … and {rest} more" if rest > 0 else ""
    return f"known: {', '.join(known[:_NAMES_LISTED])}{more}"


@functools.cache
def declarations(model: type[BaseModel]) -> tuple[Declaration, ...]:
    """All declared parameters of a class, in the order in which they were written."""
    return tuple(_declaration(name, field) for name, field in model.model_fields.items())


def _declaration(name: str, field: FieldInfo) -> Declaration:
    parameter = next((item for item in field.metadata if isinstance(item, Parameter)), None)
    if parameter is None:
        raise TypeError(f"field {name} is declared without a Parameter")
    kind, optional, choices = _kind(name, field.annotation)
    of_items = get_args(get_args(field.annotation)[0])[1:] if kind == "list" else ()
    bounds: dict[type, Any] = {type(item): item for item in (*field.metadata, *of_items)}
    lower, lower_included = _bound(bounds, Ge, "ge", Gt, "gt")
    upper, upper_included = _bound(bounds, Le, "le", Lt, "lt")
    return Declaration(
        name=name,
        kind=kind,
        default=field.default,
        optional=optional,
        choices=choices,
        lower=lower,
        lower_included=lower_included,
        upper=upper,
        upper_included=upper_included,
        parameter=parameter,
        longest=bounds[MaxLen].max_length if kind == "text" else 0,
    )


def _bound(
    bounds: dict[type, Any], closed: type, closed_name: str, opened: type, opened_name: str
) -> tuple[float | None, bool]:
    if closed in bounds:
        return float(getattr(bounds[closed], closed_name)), True
    if opened in bounds:
        return float(getattr(bounds[opened], opened_name)), False
    return None, True


def _kind(name: str, annotation: Any) -> tuple[Kind, bool, tuple[str, ...]]:
    optional = False
    if get_origin(annotation) in (Union, types.UnionType):
        members = [member for member in get_args(annotation) if member is not type(None)]
        optional = len(members) < len(get_args(annotation))
        (annotation,) = members
    if get_origin(annotation) is Literal:
        return "choice", optional, tuple(get_args(annotation))
    if get_origin(annotation) is tuple:
        return "list", optional, ()
    kinds: dict[Any, Kind] = {float: "number", int: "integer", bool: "switch", str: "text"}
    if annotation not in kinds:
        raise TypeError(f"field {name} has a type that no control can set: {annotation}")
    return kinds[annotation], optional, ()


def parameter_error(model: type[BaseModel], owner: str, error: ValidationError) -> ParameterError:
    """Turn pydantic's report into the one sentence that a person at the screen can act on."""
    first = error.errors(include_url=False)[0]
    inner = first.get("ctx", {}).get("error")
    if isinstance(inner, ParameterError):
        return inner
    name = str(first["loc"][0]) if first["loc"] else ""
    known = {declaration.name: declaration for declaration in declarations(model)}
    if name not in known:
        return ParameterError(
            f"{owner}: there is no parameter {shortened(name)}; {closest(name, list(known))}."
        )
    return ParameterError(sentence(owner, name, known[name].domain, first["input"]))


def is_finite_number(value: Any) -> bool:
    """True for an int or a float that is neither bool, nor NaN, nor infinite, nor beyond float."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


class Declared(BaseModel):
    """Declared parameters under one title; ParameterError names the one that is not allowed."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)
    title: ClassVar[str]

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise parameter_error(type(self), self.title, error) from None

    @classmethod
    def declarations(cls) -> tuple[Declaration, ...]:
        return declarations(cls)
