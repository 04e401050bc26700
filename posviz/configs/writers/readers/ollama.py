"""Ollama: a Modelfile over a model's configuration, which stands for its GGUF file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from posviz.configs.errors import ConfigError
from posviz.configs.model import Model
from posviz.configs.reader import read


def read_ollama(export: str | Mapping[str, Any], base: Mapping[str, Any]) -> Model:
    """The rotation is the file's own; the Modelfile can only say how long a context is."""
    if isinstance(export, str):
        _check(export)
    elif set(export) - {"num_ctx"}:
        raise ConfigError("A Modelfile sets num_ctx and nothing else about positions.")
    return read(dict(base))


def _check(text: str) -> None:
    for line in text.splitlines():
        name, _, rest = line.strip().partition(" ")
        if not name or name.startswith("#") or name.upper() == "FROM":
            continue
        parameter, _, value = rest.strip().partition(" ")
        if name.upper() != "PARAMETER" or parameter != "num_ctx":
            raise ConfigError(f"{line.strip()[:60]!r} is no line of a Modelfile about positions.")
        if not value.strip().isdecimal():
            raise ConfigError(f"num_ctx must be a whole number; got {value.strip()!r:.40}.")
