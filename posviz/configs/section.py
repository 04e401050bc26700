"""The part of a configuration that describes the text model, read with the place of every key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from posviz.configs.errors import ConfigError

_NESTED = ("text_config", "llm_config", "language_config", "thinker_config", "text_model")
"""Names under which multimodal models keep their language model, the usual one first."""

_LONGEST_TYPE = 60


@dataclass(frozen=True)
class Found:
    """A value and the dotted key under which it stands."""

    value: Any
    key: str


@dataclass(frozen=True)
class Section:
    """A JSON object and where it stands in the whole configuration."""

    data: Mapping[str, Any]
    path: str = ""

    def __contains__(self, key: str) -> bool:
        return key in self.data

    def key(self, name: str) -> str:
        """The dotted key of one of its entries."""
        return f"{self.path}.{name}" if self.path else name

    def find(self, *names: str) -> Found | None:
        """The first of these keys that is present, null included."""
        for name in names:
            if name in self.data:
                return Found(self.data[name], self.key(name))
        return None

    def given(self, *names: str) -> Found | None:
        """The first of these keys that is present and not null."""
        for name in names:
            if self.data.get(name) is not None:
                return Found(self.data[name], self.key(name))
        return None


def text_section(data: Mapping[str, Any]) -> tuple[Section, str]:
    """The text model's own section and its model_type.

    Raises
    ------
    ConfigError : text_config is there but is no object.
    """
    section, model_type = Section(data), _model_type(data)
    for _ in range(2):  # thinker_config holds a text_config of its own
        name = next((name for name in _NESTED if _is_text_model(section, name)), None)
        if name is None:
            break
        section = Section(section.data[name], section.key(name))
        model_type = _model_type(section.data) or model_type
    return section, model_type


def _is_text_model(section: Section, name: str) -> bool:
    value = section.data.get(name)
    if value is None:
        return False
    if not isinstance(value, Mapping):
        raise ConfigError(f"{section.key(name)} must be a JSON object; got {value!r:.60}.")
    return bool(value)


def _model_type(data: Mapping[str, Any]) -> str:
    value = data.get("model_type")
    if not isinstance(value, str):
        return ""
    # Sentences name it, and no class has a name that long.
    return value if len(value) <= _LONGEST_TYPE else value[:_LONGEST_TYPE] + "…"
