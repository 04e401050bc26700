"""JSON objects and lists that nobody can change; JSON, ``isinstance`` and ``==`` see plain ones.

``dict(…)``, ``list(…)`` and :mod:`copy` give ordinary ones, which can be changed.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, NoReturn


def _refuse(self: object, *_: object, **__: object) -> NoReturn:
    kind = "object" if isinstance(self, dict) else "list"
    raise TypeError(f"This {kind} is read-only; copy it first.")


class ReadOnlyDict(dict[str, Any]):
    """A JSON object that was read."""

    __slots__ = ()
    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = __ior__ = _refuse

    def __copy__(self) -> dict[str, Any]:
        return dict(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return {name: copy.deepcopy(value, memo) for name, value in self.items()}

    def __reduce_ex__(self, _: Any) -> tuple[Any, ...]:
        return ReadOnlyDict, (dict(self),)


class ReadOnlyList(list[Any]):
    """A JSON list that was read."""

    __slots__ = ()
    __setitem__ = __delitem__ = append = extend = insert = remove = pop = _refuse
    clear = sort = reverse = __iadd__ = __imul__ = _refuse

    def __copy__(self) -> list[Any]:
        return list(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return [copy.deepcopy(value, memo) for value in self]

    def __reduce_ex__(self, _: Any) -> tuple[Any, ...]:
        return ReadOnlyList, (list(self),)


def read_only(value: Any) -> Any:
    """The same with every object and list inside read-only; other values as they are."""
    if isinstance(value, ReadOnlyDict | ReadOnlyList):
        return value
    if isinstance(value, Mapping):
        return ReadOnlyDict({name: read_only(item) for name, item in value.items()})
    if isinstance(value, list):
        return ReadOnlyList(read_only(item) for item in value)
    return tuple(read_only(item) for item in value) if type(value) is tuple else value
