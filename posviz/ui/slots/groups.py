"""The groups of controls of the slots, built from the declarations."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from posviz.catalog import families
from posviz.encodings.base import Encoding
from posviz.parameters import Declaration
from posviz.ui.controls import PROFILE, choice, control
from posviz.ui.slots.choice import CUSTOM, OFF, Slots, choice_key, own_key, slot_title
from posviz.ui.slots.values import SlottedView, profile_of

Inert = Callable[[Encoding], Collection[str]]
"""Names of a spec's parameters that change nothing on the page."""


def slot_groups(view: SlottedView, inert: Inert) -> list[dict[str, Any]]:
    """A group of controls for every slot; a parameter that is inert now has no control."""
    return [_group(view, slot, inert) for slot in view.slots.names]


def _group(view: SlottedView, slot: str, inert: Inert) -> dict[str, Any]:
    items = [_choice_of_encoding(view.slots, slot)] if slot else []
    if slot not in view.chosen:
        return {"title": slot_title(slot, "none"), "note": "", "items": items, "collapsed": True}
    spec = view.specs[slot]
    unseen = inert(spec)
    items += _choice_of_profile(spec, slot)
    items += [
        control(
            declaration,
            name=own_key(slot, declaration.name),
            label=_label(slot, declaration),
            default=declaration.default,
        )
        for declaration in spec.declarations()
        if declaration.name not in unseen
    ]
    note = "" if items else "nothing to set: it has no parameters"
    return {"title": slot_title(slot, spec.title), "note": note, "items": items}


def _label(slot: str, declaration: Declaration) -> str:
    return f"{slot.upper()} {declaration.name}" if slot else declaration.name


def _choice_of_encoding(slots: Slots, slot: str) -> dict[str, Any]:
    options = {OFF: "— none —"} if slot in slots.may_be_empty else {}
    options |= {
        encoding.id: f"{family}: {encoding.title}"
        for family in families()
        for encoding in slots.offered
        if encoding.family == family
    }
    return choice(
        choice_key(slot),
        f"encoding {slot.upper()}",
        options,
        default=next(iter(options)),
        help="Which encoding stands here; all of them are drawn on the same axes.",
    )


def _choice_of_profile(spec: Encoding, slot: str) -> list[dict[str, Any]]:
    if not spec.profiles:
        return []
    labels = {name: name for name in spec.profiles} | {CUSTOM: "— as set below —"}
    return [
        choice(
            own_key(slot, PROFILE),
            f"{slot.upper()} as computed by".strip(),
            labels,
            default=profile_of(type(spec)()),
            help="Sets the parameters below to what this implementation does.",
        )
    ]
