"""Two models' resolved numbers side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from posviz.configs.messages import Resolved
from posviz.configs.model import Model

_Rows = Mapping[str, Mapping[str, Resolved]]
"""Name to layer type to row; the layer type of a number that holds for all layers is empty."""


@dataclass(frozen=True)
class ComparedNumber:
    """One resolved number in both configurations.

    Attributes
    ----------
    name, layer_type : as in :class:`Resolved`; the layer type is empty where both mean all layers.
    value_a, value_b : the two values; None where a configuration has no such number.
    origin_a, origin_b : where they came from; empty where a configuration has no such number.
    differs : the values are not equal, or only one configuration has the number.
    """

    name: str
    layer_type: str
    value_a: Any
    value_b: Any
    origin_a: str
    origin_b: str
    differs: bool

    @property
    def only_in(self) -> str:
        """``a`` or ``b`` where only that configuration has the number, else empty."""
        return "" if self.origin_a and self.origin_b else "a" if self.origin_a else "b"


def compared_numbers(a: Model, b: Model, layer_type: str | None) -> tuple[ComparedNumber, ...]:
    """Every number that either has: first those that both have and that differ, then those that
    only one has, then those that are equal; otherwise in the order of reading.

    A number that one model has for all layers stands beside each layer type's of the other.
    """
    rows_a, rows_b = _by_name(a), _by_name(b)
    found = [
        _compared(name, each, _row(rows_a, name, each), _row(rows_b, name, each))
        for name in dict.fromkeys([*rows_a, *rows_b])
        for each in _layer_types(rows_a.get(name, {}), rows_b.get(name, {}))
        if layer_type is None or each in ("", layer_type)
    ]
    return tuple(sorted(found, key=lambda row: (not row.differs, row.only_in != "")))


def _by_name(model: Model) -> _Rows:
    found: dict[str, dict[str, Resolved]] = {}
    for row in model.resolved:
        found.setdefault(row.name, {})[row.layer_type] = row
    return found


def _layer_types(a: Mapping[str, Resolved], b: Mapping[str, Resolved]) -> list[str]:
    typed = [each for each in dict.fromkeys([*a, *b]) if each]
    for_all = not typed or ("" in a and "" in b)
    return [*([""] if for_all else []), *typed]


def _row(rows: _Rows, name: str, layer_type: str) -> Resolved | None:
    by_type = rows.get(name, {})
    return by_type.get(layer_type, by_type.get(""))


def _compared(name: str, layer_type: str, a: Resolved | None, b: Resolved | None) -> ComparedNumber:
    return ComparedNumber(
        name=name,
        layer_type=layer_type,
        value_a=None if a is None else a.value,
        value_b=None if b is None else b.value,
        origin_a="" if a is None else a.origin,
        origin_b="" if b is None else b.origin,
        differs=a is None or b is None or not _equal(a.value, b.value),
    )


def _equal(a: Any, b: Any) -> bool:
    """Equal as numbers: 8 is 8.0. A switch is no number, although Python's True equals 1."""
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(_equal, a, b))
    return isinstance(a, bool) == isinstance(b, bool) and bool(a == b)
