"""GGUF files: the header only, as the configuration that :func:`posviz.configs.read` takes."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from posviz.configs.gguf.header import Header, read_header
from posviz.configs.gguf.mapping import GgufConfig, config_of

__all__ = ["GgufConfig", "Header", "config_of", "is_gguf", "read_gguf", "read_header"]

_MAGIC = b"GGUF"
"""gguf.constants.GGUF_MAGIC as bytes: a look at four bytes should not load the library."""


def read_gguf(source: Path | bytes) -> GgufConfig:
    """The configuration in a GGUF file's metadata, with the GGUF key behind each entry.

    Of the weights only ``rope_freqs`` and ``rope_factors_long`` and ``_short`` are read; a file of
    any size opens at once.

    Raises
    ------
    ConfigError : no usable GGUF file, or not one of a language model.
    """
    return config_of(read_header(source))


def is_gguf(source: Path | bytes) -> bool:
    """Whether a file, or its first bytes, begin as GGUF; False for what cannot be opened."""
    if isinstance(source, bytes):
        return source.startswith(_MAGIC)
    try:
        if not stat.S_ISREG(os.stat(source).st_mode):
            return False
        with source.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except (OSError, ValueError):
        return False
