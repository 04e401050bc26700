"""The values of a page with slots: who stands where, with which parameters of their own."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from posviz.catalog import get
from posviz.encodings.base import Encoding
from posviz.parameters import Declaration
from posviz.ui.controls import PROFILE, as_typed
from posviz.ui.slots.choice import CUSTOM, OFF, Slots, choice_key, own_key


@dataclass(frozen=True)
class SlottedView:
    """Values for all controls of a page; every value has the type of its declaration."""

    slots: Slots
    values: Mapping[str, Any]

    @property
    def chosen(self) -> dict[str, str]:
        """Slot to encoding id, for the slots that are in use."""
        return chosen_in(self.values, self.slots)

    @functools.cached_property
    def specs(self) -> dict[str, Encoding]:
        """The spec of every slot in use; raises ParameterError for one that cannot be made."""
        return {slot: spec_in(self.values, slot) for slot in self.chosen}


def chosen_in(values: Mapping[str, Any], slots: Slots) -> dict[str, str]:
    """Slot to encoding id, for the slots that are in use."""
    named = {slot: values[choice_key(slot)] for slot in slots.names}
    return {slot: encoding_id for slot, encoding_id in named.items() if encoding_id != OFF}


def spec_in(values: Mapping[str, Any], slot: str) -> Encoding:
    """The spec of a slot in use; ParameterError where its values do not go together."""
    encoding = get(values[choice_key(slot)])
    names = [declaration.name for declaration in encoding.declarations()]
    return encoding(**{name: values[own_key(slot, name)] for name in names})


def own_values(slot: str, encoding_id: str) -> dict[str, Any]:
    """A slot's choice with the defaults of its parameters."""
    values: dict[str, Any] = {choice_key(slot): encoding_id}
    if encoding_id != OFF:
        values.update({own_key(slot, d.name): d.default for d in get(encoding_id).declarations()})
    return values


def first_values(slots: Slots, chosen: Mapping[str, str]) -> dict[str, Any]:
    """The values of all slots, every parameter at its default; slots not named are empty."""
    values: dict[str, Any] = {}
    for slot in slots.names:
        values.update(own_values(slot, chosen.get(slot, OFF)))
    return values


def take_slots(values: Mapping[str, Any], slots: Slots, sent: Mapping[str, Any]) -> dict[str, Any]:
    """The values with what was sent for the slots: choices, parameters, names of implementations.

    Values that belong to no slot stay as they are. Whether the parameters go together is not
    looked at: making the specs does that.

    Raises
    ------
    ParameterError : an encoding that cannot stand in its slot, or a value of the wrong type.
    """
    taken = dict(values)
    for slot in slots.names:
        _take_choice(taken, slots, slot, sent)
    by_profile: dict[str, Any] = {}
    for slot, encoding_id in chosen_in(taken, slots).items():
        encoding = get(encoding_id)
        before = values[choice_key(slot)]
        for declaration in encoding.declarations():
            name = own_key(slot, declaration.name)
            if name in sent and not _belonged_to_another(before, encoding_id, declaration):
                taken[name] = as_typed(declaration, encoding.title, sent[name])
        by_profile.update(_of_profile(values, encoding, slot, sent.get(own_key(slot, PROFILE))))
    return taken | by_profile


def _take_choice(values: dict[str, Any], slots: Slots, slot: str, sent: Mapping[str, Any]) -> None:
    """Put another encoding in a slot; what it shares by name and kind with the old one stays."""
    key = choice_key(slot)
    old, new = values[key], sent.get(key, values[key])
    if new == old:
        return
    slots.check(slot, new)
    if new == OFF:
        values[key] = OFF
        return
    kept = {name: values[name] for name in own_values(slot, old)}
    known = {} if old == OFF else {d.name: d for d in get(old).declarations()}
    values.update(own_values(slot, new))
    for declaration in get(new).declarations():
        if known.get(declaration.name) == declaration:
            name = own_key(slot, declaration.name)
            values[name] = kept[name]


def _belonged_to_another(before: str, encoding_id: str, declaration: Declaration) -> bool:
    """Whether a value that was sent was set for a parameter that the old encoding had, not this."""
    if before in (encoding_id, OFF):
        return False
    return declaration not in get(before).declarations()


def _of_profile(
    before: Mapping[str, Any], encoding: type[Encoding], slot: str, name: Any
) -> dict[str, Any]:
    """The values that choosing a named implementation sets."""
    if not isinstance(name, str) or name not in encoding.profiles:
        return {}
    if before[choice_key(slot)] == encoding.id and profile_of(spec_in(before, slot)) == name:
        return {}
    return {own_key(slot, key): value for key, value in encoding.profiles[name].items()}


def profile_of(spec: Encoding) -> str:
    """The first named implementation that computes as the spec does, or CUSTOM."""
    for name, values in spec.profiles.items():
        if all(getattr(spec, key) == value for key, value in values.items()):
            return name
    return CUSTOM
