"""Turns whatever was handed in into a plain JSON object, or says in one sentence why not."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from posviz.configs.errors import ConfigError
from posviz.configs.findings import Findings
from posviz.configs.read_only import ReadOnlyDict, ReadOnlyList
from posviz.parameters import shortened

MAX_BYTES = 1_000_000
MAX_DEPTH = 50
MAX_NODES = 300_000
"""More values than a text of :data:`MAX_BYTES` could hold in practice; bounds mappings too."""
MAX_INTEGER = 1 << 63

# A text that is not closed ends where the file does, so that one pass is enough whatever comes.
_STRING = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_BRACKET = re.compile(r"[\[{]|[\]}]")


def load(config: Mapping[str, Any] | str | bytes | Path, findings: Findings) -> dict[str, Any]:
    """The configuration as a JSON object.

    Raises
    ------
    ConfigError : no JSON, no object, more than 1 MB, deeper than 50 levels, NaN or infinity, or
        numbers too large for any configuration.
    """
    data = _parsed(_text(config), findings) if not isinstance(config, Mapping) else config
    if not isinstance(data, Mapping):
        raise ConfigError(
            f"A configuration must be a JSON object; this is {_kind(data)} at its top level."
        )
    return _plain_object(data)


def _text(config: Any) -> str:
    if isinstance(config, Path):
        config = _file_bytes(config)
    if isinstance(config, bytes | bytearray):
        _check_size(len(config))
        try:
            return bytes(config).decode("utf-8-sig")
        except UnicodeDecodeError:
            raise ConfigError(
                "This is not a text file in UTF-8, so it is no config.json."
            ) from None
    if not isinstance(config, str):
        raise ConfigError(
            f"A configuration must be a mapping, JSON text or a path; got {type(config).__name__}."
        )
    _check_size(len(config))
    return config.removeprefix("\ufeff")


def _file_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        # ValueError: a name that no file can have, with a null byte or half a character.
        reason = getattr(error, "strerror", None) or "no file can have this name"
        shown = str(path).encode(errors="backslashreplace").decode()
        raise ConfigError(f"The file {shown} cannot be read: {reason}.") from None


def _check_size(size: int) -> None:
    if size > MAX_BYTES:
        raise ConfigError(
            f"A configuration may have at most {MAX_BYTES:,} bytes; this one has more, so it is "
            "probably another file of the model."
        )


def _parsed(text: str, findings: Findings) -> Any:
    def keep_last(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for key, value in pairs:
            if key in result and result[key] != value:
                findings.warn(
                    "PV190",
                    f"{key} stands twice in the file, as {_short(result[key])} and as "
                    f"{_short(value)}; the last one counts.",
                    key,
                )
            result[key] = value
        return result

    _check_depth(text)
    try:
        return json.loads(text, object_pairs_hook=keep_last)
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"This is not JSON: {error.msg} at line {error.lineno}, column {error.colno}."
        ) from None
    except ValueError:
        # Python refuses whole numbers of more than some thousand digits.
        raise ConfigError("The configuration holds a number that is far too large.") from None


def _check_depth(text: str) -> None:
    """Before anything is parsed: the brackets outside of texts, counted."""
    depth = 0
    for bracket in _BRACKET.finditer(_STRING.sub("", text)):
        depth += 1 if bracket.group() in "[{" else -1
        if depth > MAX_DEPTH:
            raise ConfigError(_too_deep())


def _plain_object(data: Mapping[Any, Any]) -> dict[str, Any]:
    budget = [MAX_NODES]
    result = _plain(data, 1, "", budget)
    assert isinstance(result, dict)
    return result


def _plain(value: Any, depth: int, path: str, budget: list[int]) -> Any:
    budget[0] -= 1
    if budget[0] < 0:
        raise ConfigError(f"The configuration holds more than {MAX_NODES:,} values.")
    if isinstance(value, Mapping | list | tuple) and depth > MAX_DEPTH:
        raise ConfigError(_too_deep())
    if isinstance(value, Mapping):
        return ReadOnlyDict(
            {
                _key(key, path): _plain(item, depth + 1, f"{path}.{key}".lstrip("."), budget)
                for key, item in _drawn(_entries(value), path)
            }
        )
    if isinstance(value, list | tuple):
        return ReadOnlyList([_plain(item, depth + 1, path, budget) for item in _drawn(value, path)])
    return _scalar(value, path)


def _entries(value: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    for key in value:
        yield key, value[key]


def _drawn(entries: Iterable[Any], path: str) -> Iterator[Any]:
    """The entries of a mapping or list of any class, whose own code may fail or never end."""
    try:
        yield from entries
    except Exception as error:
        where = path or "the top level"
        kind = type(error).__name__
        raise ConfigError(f"The values at {where} cannot be read: {kind}.") from error


def _key(key: Any, path: str) -> str:
    if not isinstance(key, str):
        raise ConfigError(
            f"Every key of a configuration is text; {path or 'the top level'} has {shortened(key)}."
        )
    if _has_half_character(key):
        raise ConfigError(f"The keys of {path or 'the top level'} hold half a character.")
    return key


def _has_half_character(text: str) -> bool:
    """Whether UTF-8 cannot write it: JSON allows one half of a surrogate pair, no screen does."""
    return not text.isascii() and _HALF_CHARACTER.search(text) is not None


def _scalar(value: Any, path: str) -> Any:
    if isinstance(value, str) and _has_half_character(value):
        raise ConfigError(f"{path} holds half a character, which no text can show.")
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        if abs(value) > MAX_INTEGER:
            raise ConfigError(f"{path} is far too large for any configuration.")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ConfigError(f"{path} must be a finite number; got {value}.")
        return float(value)
    raise ConfigError(f"{path} must be a JSON value; got {type(value).__name__}.")


def _kind(value: Any) -> str:
    names = {list: "a list", str: "text", bool: "a switch", type(None): "null"}
    return names.get(type(value), "a number")


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:60] + "…"


def _too_deep() -> str:
    return f"The configuration is nested deeper than {MAX_DEPTH} levels."
