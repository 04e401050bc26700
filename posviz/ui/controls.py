"""Controls from declarations: what the live board needs to draw one, and values back from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from posviz.parameters import Declaration, ParameterError, is_finite_number, sentence

PROFILE = "profile"
"""Last part of the name of a value that says whose implementation is followed."""


def control(
    declaration: Declaration,
    *,
    name: str = "",
    label: str = "",
    default: Any,
    auto: str = "",
    auto_value: float | None = None,
) -> dict[str, Any]:
    """One control of the live board, as plain data.

    ``name`` and ``label`` default to the parameter's own name; ``auto`` says what an optional
    parameter amounts to when it is left out, ``auto_value`` what it starts from once it is not.
    """
    described: dict[str, Any] = {
        "name": name or declaration.name,
        "label": label or declaration.name,
        "help": declaration.parameter.help,
        "unit": declaration.parameter.unit,
        "optional": declaration.optional,
        "auto": auto,
        "auto_value": auto_value,
        "default": as_sent(declaration, default),
        "domain": declaration.domain,
    }
    if declaration.kind == "switch":
        return {**described, "kind": "switch"}
    if declaration.kind == "choice":
        options = [{"value": value, "label": value} for value in declaration.choices]
        return {**described, "kind": "choice", "choices": options}
    if declaration.kind in ("list", "text"):
        return {**described, "kind": "text"}
    return {**described, **_number(declaration)}


def choice(
    name: str, label: str, options: Mapping[str, str], *, default: str, help: str
) -> dict[str, Any]:
    """A control that picks one of the page's own options: value to label."""
    return {
        "kind": "choice",
        "name": name,
        "label": label,
        "help": help,
        "unit": "",
        "optional": False,
        "auto": "",
        "default": default,
        "choices": [{"value": value, "label": text} for value, text in options.items()],
    }


def _number(declaration: Declaration) -> dict[str, Any]:
    parameter = declaration.parameter
    return {
        "kind": "number",
        "integer": declaration.kind == "integer",
        "lower": declaration.lower,
        "upper": declaration.upper,
        "lower_included": declaration.lower_included,
        "upper_included": declaration.upper_included,
        "slider": list(parameter.slider) if parameter.slider else None,
        "step": parameter.step,
        "scale": parameter.scale,
    }


def as_sent(declaration: Declaration, value: Any) -> Any:
    """A value as the board holds it: lists travel as text, everything else as it is."""
    if declaration.kind == "list" and value is not None:
        return declaration.format(value)
    return value


def as_typed(declaration: Declaration, owner: str, raw: Any) -> Any:
    """A value that came from the board or from an address, as the declaration's type.

    Only the type is settled here; whether the value lies in the domain is the spec's to say.
    Raises ParameterError when the value cannot have that type.
    """
    if isinstance(raw, str):
        return declaration.parse(raw, owner)
    is_number = is_finite_number(raw)
    if declaration.kind == "number" and is_number:
        return float(raw)
    if declaration.kind == "integer" and is_number and float(raw).is_integer():
        return int(raw)
    if declaration.kind == "switch" and isinstance(raw, bool):
        return raw
    if raw is None and declaration.optional:
        return None
    raise ParameterError(sentence(owner, declaration.name, declaration.domain, raw))
