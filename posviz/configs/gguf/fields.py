"""Typed reading of metadata keys, and the configuration as it grows, with the key behind each
entry."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from posviz.configs.errors import ConfigError
from posviz.configs.gguf.header import Header
from posviz.configs.gguf.values import Omitted

NoteSeverity: TypeAlias = Literal["info", "differs", "warn", "error"]
"""info tells how a number was read; differs, that llama.cpp's own is another than the model's."""
Note: TypeAlias = tuple[NoteSeverity, str]


class Fields:
    """The metadata of one architecture; a key is given with ``{arch}`` as in the library."""

    def __init__(self, header: Header) -> None:
        self.header = header
        self.architecture = header.architecture

    def key(self, pattern: str) -> str:
        return pattern.format(arch=self.architecture)

    def raw(self, pattern: str) -> Any:
        return self.header.metadata.get(self.key(pattern))

    def number(self, pattern: str) -> float | int | None:
        """A number; of a list with one entry per layer, the first that is not 0.

        Raises
        ------
        ConfigError : something else stands there, or no finite number.
        """
        value = self.raw(pattern)
        if isinstance(value, list) and value:
            value = next((item for item in value if item), value[0])
        if value is None:
            return None
        if (
            isinstance(value, bool)
            or not isinstance(value, int | float)
            or not math.isfinite(value)
        ):
            raise ConfigError(f"{self.key(pattern)} must be a finite number; got {_shown(value)}.")
        return value

    def text(self, pattern: str) -> str | None:
        value = self.raw(pattern)
        if value is not None and not isinstance(value, str):
            raise ConfigError(f"{self.key(pattern)} must be a text; got {_shown(value)}.")
        return value

    def items(self, pattern: str) -> list[Any] | None:
        """A list, or None where the key is absent or holds one number."""
        value = self.raw(pattern)
        if isinstance(value, Omitted | str):
            raise ConfigError(f"{self.key(pattern)} must be a short list; got {_shown(value)}.")
        return value if isinstance(value, list) else None


class Draft:
    """The configuration, and the GGUF key or tensor behind each of its entries."""

    def __init__(self) -> None:
        self.config: dict[str, Any] = {}
        self.names: dict[str, str] = {}
        self.notes: list[Note] = []

    def put(self, path: Sequence[str], value: Any, name: str = "") -> None:
        """Set an entry, nested as its path says; ``name`` is empty where no key stands behind."""
        place = self.config
        for part in path[:-1]:
            place = place.setdefault(part, {})
        place[path[-1]] = value
        if name:
            self.names[".".join(path)] = name

    def drop(self, key: str) -> None:
        """Take an entry of the top level out again."""
        self.config.pop(key, None)
        self.names.pop(key, None)

    def note(self, severity: NoteSeverity, sentence: str) -> None:
        if (severity, sentence) not in self.notes:
            self.notes.append((severity, sentence))


def _shown(value: Any) -> str:
    if isinstance(value, Omitted):
        return f"{value.kind} of length {value.length}"
    return f"{value!r:.60}"
