"""One small configuration for each code, which shows it: for the documentation and the tests.

A file here holds the examples of one group of checks.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from posviz.configs.gguf import GgufConfig
from posviz.configs.model import Model
from posviz.configs.reader import read


@dataclass(frozen=True)
class Example:
    """A configuration that makes the doctor say ``code``."""

    code: str
    config: Mapping[str, Any] | str
    runtime: str | None = None
    target_length: int | None = None
    gguf: Mapping[str, Any] | None = None
    """Notes and tensors of the GGUF file that it is from, for the codes of such files."""

    @property
    def given(self) -> Mapping[str, Any] | str | Model:
        """What :func:`posviz.configs.check` takes."""
        if self.gguf is None or isinstance(self.config, str):
            return self.config
        notes = tuple((severity, text) for severity, text in self.gguf["notes"])
        file = GgufConfig(self.config, {}, notes, tuple(self.gguf["tensors"]))
        return replace(read(self.config), gguf=file)


@functools.cache
def examples() -> Mapping[str, Example]:
    """Every example by its code."""
    found: dict[str, Example] = {}
    for file in sorted(files(__name__).iterdir(), key=lambda each: each.name):
        if not file.name.endswith(".json"):
            continue
        for code, entry in json.loads(file.read_text(encoding="utf-8")).items():
            if code in found:
                raise ValueError(f"{code} has two examples.")
            found[code] = Example(code, **entry)
    return found
