"""The groups of controls of a board that shows results, built from the declarations."""

from __future__ import annotations

from typing import Any

from posviz.catalog import catalog, families
from posviz.encodings.base import Encoding
from posviz.parameters import Declaration
from posviz.ui.controls import PROFILE, choice, control
from posviz.ui.effects import inert_in_result
from posviz.ui.results_board.view import (
    CURSORS,
    CUSTOM,
    OFF,
    READING,
    View,
    choice_key,
    own_key,
    own_values,
    profile_of,
)

_LABELS = {"length": "positions shown"}


def groups(view: View, first: View) -> list[dict[str, Any]]:
    """All groups of controls for a view; ``first`` holds the values that they go back to."""
    parts = [_slot(view, slot) for slot in view.slots]
    return [*parts, _shown(view, first)]


def _slot(view: View, slot: str) -> dict[str, Any]:
    items = [_choice_of_encoding(slot)] if slot else []
    if slot not in view.chosen:
        return {"title": f"{slot.upper()} · none", "note": "", "items": items, "collapsed": True}
    spec = view.specs[slot]
    unseen = inert_in_result(spec, view.count)
    starts = own_values(slot, spec.id)
    items += _profile_choice(spec, slot)
    items += [
        control(
            declaration,
            name=own_key(slot, declaration.name),
            label=_label(slot, declaration),
            default=starts[own_key(slot, declaration.name)],
        )
        for declaration in spec.declarations()
        if declaration.name not in unseen
    ]
    title = f"{slot.upper()} · {spec.title}" if slot else spec.title
    note = "" if items else "nothing to set: it has no parameters"
    return {"title": title, "note": note, "items": items}


def _label(slot: str, declaration: Declaration) -> str:
    return f"{slot.upper()} {declaration.name}" if slot else declaration.name


def _choice_of_encoding(slot: str) -> dict[str, Any]:
    options = {OFF: "— none —"} if slot in ("c", "d") else {}
    options |= {
        encoding.id: f"{family}: {encoding.title}"
        for family in families()
        for encoding in catalog()
        if encoding.family == family
    }
    return choice(
        choice_key(slot),
        f"encoding {slot.upper()}",
        options,
        default=OFF if slot in ("c", "d") else next(iter(options)),
        help="Which encoding stands here; all of them are drawn on the same axes.",
    )


def _profile_choice(spec: Encoding, slot: str) -> list[dict[str, Any]]:
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


def _shown(view: View, first: View) -> dict[str, Any]:
    items = []
    for name, declaration in READING.items():
        places = view.most if name == "length" else view.extents.get(name, 0)
        if places < 2 or (name in CURSORS and name not in view.extents):
            continue
        item = control(declaration, default=first.values[name], label=_LABELS.get(name, name))
        if name == "length":
            item.update(slider=[8, min(512, places)], upper=places)
        else:
            item.update(slider=[0, places - 1], upper=places - 1, play=name == "position")
        items.append(item)
    return {"title": "What is shown", "note": "click a plot to move the cursor", "items": items}
