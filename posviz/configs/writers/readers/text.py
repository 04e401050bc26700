"""Settings as text: shell words, flags with a value, JSON, and a dict laid over a configuration."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from posviz.configs.errors import ConfigError
from posviz.configs.writers.merged import REPLACED

_GAP = re.compile(r"[ \t\r\n]*+")
_WORD = re.compile(
    r"""(?:(?P<plain>[^ \t\r\n'"\\]++)|'(?P<single>[^']*+)'"""
    r"""|"(?P<double>(?:[^"\\]|\\.)*+)"|\\(?P<escaped>.))""",
    re.DOTALL,
)
_ESCAPED_IN_QUOTES = re.compile(r"""\\(["\\])""")


def words(text: str) -> list[str]:
    """The words of a POSIX command line, in one pass (:func:`shlex.split` takes n² steps)."""
    found: list[str] = []
    position = _end_of_gap(text, 0)
    while position < len(text):
        pieces: list[str] = []
        while position < len(text) and text[position] not in " \t\r\n":
            piece = _WORD.match(text, position)
            if piece is None:
                raise ConfigError("The quotes in these settings do not match.")
            pieces.append(_meant(piece))
            position = piece.end()
        found.append("".join(pieces))
        position = _end_of_gap(text, position)
    return found


def _end_of_gap(text: str, position: int) -> int:
    gap = _GAP.match(text, position)
    return position if gap is None else gap.end()


def _meant(piece: re.Match[str]) -> str:
    """What one piece of a word stands for, without its quotes."""
    value = piece[piece.lastgroup or 0]
    return _ESCAPED_IN_QUOTES.sub(r"\1", value) if piece.lastgroup == "double" else value


def flag_values(text: str) -> dict[str, str]:
    """Flags that each have one value."""
    found = words(text)
    if len(found) % 2:
        raise ConfigError("Every flag here has one value; one is missing.")
    return dict(zip(found[::2], found[1::2], strict=True))


def json_object(text: str) -> dict[str, Any]:
    """A JSON object."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        # ValueError: no JSON, or a whole number of more than some thousand digits.
        raise ConfigError("These settings hold no readable JSON.") from None
    if not isinstance(value, dict):
        raise ConfigError("These settings must hold a JSON object.")
    return value


def number_of(flag: str, text: str) -> float:
    """The number behind a flag."""
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"{flag} needs a number; got {text!r:.40}.") from None


def laid_over(base: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration with changed keys; a changed rotary key replaces all the old ones."""
    names = ("rope_scaling", "rope_parameters", "rope_theta")
    dropped = REPLACED if any(name in changed for name in names) else ()
    result = {name: value for name, value in base.items() if name not in dropped}
    for name, value in changed.items():
        own = result.get(name)
        inside = name not in names and isinstance(value, Mapping) and isinstance(own, Mapping)
        result[name] = laid_over(own, value) if inside and own is not None else value
    return result


def rotary_dict(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The dict of rotary parameters in a section; empty where there is none."""
    found = config.get("rope_scaling") or config.get("rope_parameters")
    return found if isinstance(found, Mapping) else {}
