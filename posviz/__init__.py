"""PosViz computes, proves and shows positional encodings.

>>> import posviz
>>> spec = posviz.parse("yarn?scaling_factor=8")
>>> float(spec.encode([0, 1, 2]).inv_freq[0])
1.0
"""

from posviz.catalog import catalog, families, get, link, parse
from posviz.parameters import ParameterError

__version__ = "0.1.0"

__all__ = ["ParameterError", "catalog", "families", "get", "link", "parse"]
