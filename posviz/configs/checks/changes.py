"""Several suggested changes of one configuration, of which none undoes another."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from posviz.configs.checks.diagnosis import Diagnosis, Operation

_Place = tuple[str, ...]
_NOTHING = object()
"""Stands for the value at a place that does not exist."""


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What comes of several suggested changes.

    Attributes
    ----------
    config : the changed configuration.
    made : the diagnoses whose changes are in it, the gravest first.
    left_out : those whose changes a graver one left no place for, that would undo it, or that make
        the whole graver; examine the changed configuration again, which may need them no more.
    """

    config: dict[str, Any]
    made: tuple[Diagnosis, ...]
    left_out: tuple[Diagnosis, ...]


def together(config: Mapping[str, Any], diagnoses: Iterable[Diagnosis]) -> Changes:
    """Every change in turn, whole or not at all; each was written for ``config`` itself.

    What stands as it is wanted already counts as made. A change is left out where its place is
    gone, or where something that an earlier change set or removed would not stay so.
    """
    result, wishes = copy.deepcopy(dict(config)), _Wishes()
    made: list[Diagnosis] = []
    left_out: list[Diagnosis] = []
    for diagnosis in diagnoses:
        if diagnosis.patch:
            fits = _is_made(result, diagnosis.patch, wishes)
            (made if fits else left_out).append(diagnosis)
    return Changes(config=result, made=tuple(made), left_out=tuple(left_out))


def together_for_the_better(
    config: Mapping[str, Any],
    diagnoses: Iterable[Diagnosis],
    is_graver: Callable[[Mapping[str, Any]], bool],
) -> Changes:
    """The same, less those that make the configuration graver than it is.

    Each is right by itself, but two can meet: one names the rope type, and the other corrects the
    name of a key that only counts from then on.
    """
    wanted = [each for each in diagnoses if each.patch]
    changes = together(config, wanted)
    if not changes.made or not is_graver(changes.config):
        return changes
    made = together(config, _harmless(config, [], wanted, is_graver))
    left_out = tuple(each for each in wanted if not any(each is other for other in made.made))
    return Changes(config=made.config, made=made.made, left_out=left_out)


def _harmless(
    config: Mapping[str, Any],
    before: list[Diagnosis],
    group: list[Diagnosis],
    is_graver: Callable[[Mapping[str, Any]], bool],
) -> list[Diagnosis]:
    """Those before, and as many of the group as can join them; by halves, since few cannot."""
    if not group or not is_graver(together(config, [*before, *group]).config):
        return [*before, *group]
    if len(group) == 1:
        return before
    middle = len(group) // 2
    first = _harmless(config, before, group[:middle], is_graver)
    return _harmless(config, first, group[middle:], is_graver)


class _Wishes:
    """What earlier changes made of each place that they touched."""

    def __init__(self) -> None:
        self._values: dict[_Place, Any] = {}
        self._below: dict[_Place, list[_Place]] = {}

    def add(self, place: _Place, value: Any) -> None:
        if place not in self._values:
            for end in range(len(place)):
                self._below.setdefault(place[:end], []).append(place)
        self._values[place] = value if value is _NOTHING else copy.deepcopy(value)

    def around(self, place: _Place) -> Iterator[tuple[_Place, Any]]:
        """Those at the place, above it and below it."""
        above = (place[:end] for end in range(len(place) + 1))
        for each in (*above, *self._below.get(place, ())):
            if each in self._values:
                yield each, self._values[each]


def _is_made(config: dict[str, Any], patch: Sequence[Operation], wishes: _Wishes) -> bool:
    """Whether the change fits; where it does not, the configuration stays as it was."""
    before: list[tuple[dict[str, Any], dict[str, Any]]] = []
    places = [_place(operation["path"]) for operation in patch]
    fits = all(
        _is_applied(config, place, operation, before)
        for place, operation in zip(places, patch, strict=True)
    )
    only_removes = all(operation["op"] == "remove" for operation in patch)
    if not fits or not all(_is_kept(config, place, wishes, only_removes) for place in places):
        for holder, entries in reversed(before):
            holder.clear()
            holder.update(entries)
        return False
    for place in places:
        wishes.add(place, _value(config, place))
    return True


def _is_applied(
    config: dict[str, Any],
    place: _Place,
    operation: Operation,
    before: list[tuple[dict[str, Any], dict[str, Any]]],
) -> bool:
    """Whether the operation had its place; what the object around it held goes to ``before``.

    The changes that checks suggest set and remove members of objects, never entries of lists.
    """
    holder = _value(config, place[:-1])
    if not place or not isinstance(holder, dict):
        return False
    key, wanted = place[-1], operation.get("value")
    missing = key not in holder
    if operation["op"] == "remove":
        if not missing:
            before.append((holder, dict(holder)))
            del holder[key]
        return True
    if missing and operation["op"] == "replace":
        return False
    if missing or not _same(holder[key], wanted):
        before.append((holder, dict(holder)))
        holder[key] = copy.deepcopy(wanted)
    return True


def _is_kept(config: dict[str, Any], place: _Place, wishes: _Wishes, only_removes: bool) -> bool:
    """Whether everything around the place is still as earlier changes wanted it.

    Where the object around a removed entry is gone, the entry may have moved elsewhere with it,
    unless the change moves nothing.
    """
    return all(
        _same(_value(config, other), wanted)
        and (wanted is not _NOTHING or only_removes or _value(config, other[:-1]) is not _NOTHING)
        for other, wanted in wishes.around(place)
    )


def _place(pointer: str) -> _Place:
    parts = pointer.split("/")[1:]
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in parts)


def _value(config: Any, place: _Place) -> Any:
    for name in place:
        if not isinstance(config, dict) or name not in config:
            return _NOTHING
        config = config[name]
    return config


def _same(one: Any, two: Any) -> bool:
    """Whether JSON means the same by both: 4 and 4.0 are one number, true is none."""
    if isinstance(one, dict) and isinstance(two, Mapping):
        return one.keys() == two.keys() and all(_same(one[name], two[name]) for name in one)
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(_same, one, two))
    return isinstance(one, bool) == isinstance(two, bool) and bool(one == two)
