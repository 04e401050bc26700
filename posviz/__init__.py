"""PosViz computes, proves and shows positional encodings.

>>> import posviz
>>> spec = posviz.parse("yarn?scaling_factor=8")
>>> float(spec.encode([0, 1, 2]).inv_freq[0])
1.0
"""

import importlib
from types import ModuleType

from posviz.catalog import catalog, families, get, link, parse
from posviz.parameters import ParameterError

__version__ = "0.1.0"

_ON_DEMAND = ("attention", "configs", "figures", "measures", "solver")


def __getattr__(name: str) -> ModuleType:
    """Parts that not everybody needs are read when they are first named: ``posviz.measures``."""
    if name in _ON_DEMAND:
        return importlib.import_module(f"posviz.{name}")
    raise AttributeError(f"module 'posviz' has no attribute {name!r}")


__all__ = ["ParameterError", "catalog", "families", "get", "link", "parse"]
