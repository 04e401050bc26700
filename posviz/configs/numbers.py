"""Reads single numbers: what counts as one, and what to say when it does not."""

from __future__ import annotations

import json
from typing import Any

from posviz.configs.findings import Findings
from posviz.configs.section import Found
from posviz.parameters import is_finite_number, number_text


def number(found: Found, findings: Findings, *, whole: bool = False) -> float | int | None:
    """The number under a key, or None after an error message that names the key.

    4 and 4.0 are the same number, also where a whole one is wanted.
    """
    value = found.value
    if value is None:
        findings.error(
            "PV111",
            f"{found.key} is null, and null does not stand for a default here; give a number or "
            "leave the key out.",
            found.key,
        )
        return None
    if not is_finite_number(value):
        findings.error("PV112", f"{found.key} must be a number; {_hint(value)}", found.key)
        return None
    if not whole:
        return value  # type: ignore[no-any-return]
    if value != int(value):
        findings.error(
            "PV112", f"{found.key} must be a whole number; got {shown(value)}.", found.key
        )
        return None
    return int(value)


def positive_whole(found: Found, findings: Findings, code: str) -> int | None:
    """A whole number of at least 1, or None after an error message with this code."""
    value = number(found, findings, whole=True)
    if value is not None and value < 1:
        findings.error(
            code, f"{found.key} must be a positive integer; got {value}.", found.key, value=value
        )
        return None
    return None if value is None else int(value)


def whole(value: float) -> float | int:
    """A whole number as an int, so that texts and JSON show 131072 and not 131072.0."""
    return int(value) if float(value).is_integer() else value


def shown(value: Any) -> str:
    """A value as a person would write it in the file."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, list | dict):
        text = json.dumps(value, ensure_ascii=False)
        return text if len(text) <= 60 else text[:60] + "…"
    return number_text(value) if is_finite_number(value) else f"{value!r:.60}"


_MOST_LISTED = 6


def value_text(value: Any) -> str:
    """A resolved value for a table; of a long list the ends."""
    if isinstance(value, list | tuple) and len(value) > _MOST_LISTED:
        return f"{len(value)} values, {value_text(value[0])} … {value_text(value[-1])}"
    if isinstance(value, list | tuple):
        return ", ".join(value_text(part) for part in value)
    return value if isinstance(value, str) else shown(value)


def _hint(value: Any) -> str:
    if isinstance(value, str):
        meant = _number_in(value)
        if meant is None:
            return f"got the text {value!r:.40}."
        return f"it is the text {value!r:.40}; write {number_text(meant)} without quotes."
    kinds = {bool: "a switch", list: "a list", dict: "an object"}
    kind = next((kinds[each] for each in kinds if isinstance(value, each)), "something else")
    return f"got {kind}."


def _number_in(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if is_finite_number(value) else None
