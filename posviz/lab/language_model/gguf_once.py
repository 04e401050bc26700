"""A GGUF file is gone through once where transformers would do so three times; heavy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from typing import Any

_SHARED = ("GGUFReader", "get_tensor_name_map")
"""Of the gguf library. transformers asks anew for the reader for the tokenizer, the configuration
and the weights, and for the table of names once for every module: half of the time of loading."""


@contextmanager
def parsed_once() -> Iterator[None]:
    """Within it, the same file gives the same reader; what was kept is dropped at the end."""
    library: Any = import_module("gguf")
    own = {name: getattr(library, name) for name in _SHARED}
    for name, made in own.items():
        setattr(library, name, lru_cache(maxsize=4)(made))
    try:
        yield
    finally:
        for name, made in own.items():
            setattr(library, name, made)
