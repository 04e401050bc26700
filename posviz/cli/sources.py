"""Where a configuration comes from at the command line: a file, standard input, or a preset."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import typer

from posviz import configs
from posviz.configs import ConfigError
from posviz.configs.presets import preset

PRESET = "preset:"
STDIN = "-"
_MOST_BYTES = 1_000_001
"""One more than a configuration may have, so that a longer one is seen to be too long."""


def source(name: str) -> Path | bytes | Mapping[str, Any]:
    """What :func:`posviz.configs.read` takes, for ``FILE``, ``-`` or ``preset:ID``.

    Raises
    ------
    ConfigError : no such preset, no name, or no standard input.
    """
    if not name:
        raise ConfigError("The name of a file is empty.")
    if name == STDIN:
        if sys.stdin is None:
            raise ConfigError("There is no standard input to read from.")
        return sys.stdin.buffer.read(_MOST_BYTES)
    if name.startswith(PRESET):
        return preset(name.removeprefix(PRESET)).config
    return Path(name)


def model_of(name: str) -> configs.Model:
    """The model that is configured there."""
    return configs.read(source(name))


def read_once(names: Sequence[str]) -> None:
    """A usage mistake where standard input is named more than once: it can be read once."""
    if list(names).count(STDIN) > 1:
        raise typer.BadParameter("standard input can stand for one file only.")


def title(name: str) -> str:
    """How the source is called in what is printed."""
    return "standard input" if name == STDIN else name
