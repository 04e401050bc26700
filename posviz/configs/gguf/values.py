"""Metadata values of a GGUF file: short ones as Python values, long ones as their length only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from posviz.configs.gguf.stream import Stream

MAX_ITEMS = 4096
"""Longest array that is kept; an array per layer has some hundred items, a vocabulary far more."""
MAX_TEXT_BYTES = 4096
MAX_KEY_BYTES = 65535
"""The format's own limit."""


@dataclass(frozen=True)
class Omitted:
    """A long array or text, of which only the length is kept."""

    kind: str
    length: int


Scalar: TypeAlias = bool | int | float | str
Value: TypeAlias = Scalar | Omitted | list[bool] | list[int] | list[float] | list[str]

_CODES = {
    # Names of gguf.GGUFValueType, and the letters of struct.
    "UINT8": "B",
    "INT8": "b",
    "UINT16": "H",
    "INT16": "h",
    "UINT32": "I",
    "INT32": "i",
    "FLOAT32": "f",
    "BOOL": "?",
    "UINT64": "Q",
    "INT64": "q",
    "FLOAT64": "d",
}
_SIZES = {"B": 1, "b": 1, "H": 2, "h": 2, "I": 4, "i": 4, "f": 4, "?": 1, "Q": 8, "q": 8, "d": 8}


def read_key(stream: Stream, what: str) -> str:
    """A name, which must be UTF-8."""
    length = stream.number("Q")
    if length > MAX_KEY_BYTES:
        raise stream.error(f"{what} is {length} bytes long; at most {MAX_KEY_BYTES} are allowed")
    stream.keep(length)
    try:
        return stream.take(length).decode("utf-8")
    except UnicodeDecodeError:
        raise stream.error(f"{what} is not UTF-8") from None


def read_value(stream: Stream, key: str) -> Value:
    """The next value with its type in front."""
    kind = _value_type(stream, key)
    if kind == "ARRAY":
        return _array(stream, key)
    return _text(stream) if kind == "STRING" else _scalar(stream, kind)


def _value_type(stream: Stream, key: str) -> str:
    from gguf.constants import GGUFValueType

    number = stream.number("I")
    try:
        return GGUFValueType(number).name
    except ValueError:
        raise stream.error(f"{key[:80]!r} has the unknown value type {number}") from None


def _scalar(stream: Stream, kind: str) -> Scalar:
    value: Scalar = stream.number(_CODES[kind])
    return value


def _text(stream: Stream) -> str | Omitted:
    length: int = stream.number("Q")
    if length > MAX_TEXT_BYTES:
        stream.skip(length)
        return Omitted("text", length)
    stream.keep(length)
    # Only names in texts matter here; a byte that is no UTF-8 shows as a replacement character.
    return stream.take(length).decode("utf-8", errors="replace")


def _array(stream: Stream, key: str) -> Value:
    kind, count = _value_type(stream, key), stream.number("Q")
    if kind == "ARRAY":
        raise stream.error(f"{key[:80]!r} is an array of arrays, which GGUF does not allow")
    if kind == "STRING":
        return _texts(stream, count)
    code = _CODES[kind]
    if count > MAX_ITEMS:
        stream.skip(count * _SIZES[code])
        return Omitted("array", count)
    return stream.numbers(code, count)


def _texts(stream: Stream, count: int) -> Omitted | list[str]:
    if count > MAX_ITEMS:
        stream.skip_texts(count)
        return Omitted("array", count)
    stream.keep(64 * count)
    items = [_text(stream) for _ in range(count)]
    kept = [item for item in items if isinstance(item, str)]
    return kept if len(kept) == count else Omitted("array", count)
