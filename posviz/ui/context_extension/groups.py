"""The groups of controls beside the panels, built from the declarations."""

from __future__ import annotations

from typing import Any

from posviz.catalog import get
from posviz.parameters import number_text
from posviz.ui.context_extension.view import (
    OFF,
    READING,
    SHARED,
    SLOTS,
    View,
    declaration_of,
    first_view,
    methods_on_offer,
    own_declarations,
)
from posviz.ui.controls import control

SHARED_LABELS = {
    "base": "base",
    "head_dim": "head dimension D",
    "original_max_position_embeddings": "trained window L",
    "scaling_factor": "scaling factor s",
}


def groups(view: View) -> list[dict[str, Any]]:
    """All groups of controls for a view."""
    first = first_view(view.source, view.model, view.layer_type)
    parts = [_aim(view, first)]
    parts += [_slot(view, first, slot) for slot in SLOTS]
    parts.append(_cursor(view))
    profiles = _profiles(view)
    return [*parts, profiles] if profiles else parts


def _aim(view: View, first: View) -> dict[str, Any]:
    items = []
    for name in SHARED:
        found = declaration_of(name, view.values)
        assert found is not None
        items.append(control(found[0], label=SHARED_LABELS[name], default=first.values[name]))
    derived = round(view.trained_length * view.values["scaling_factor"])
    items.append(control(READING["target"], label="target length L′", auto=f"L · s = {derived:,}"))
    return {"title": "Model and aim", "note": "shared by all methods", "items": items}


def _slot(view: View, first: View, slot: str) -> dict[str, Any]:
    chosen = view.values[slot]
    letter = slot.upper()
    choices = {OFF: "— none —", **methods_on_offer()}
    items: list[dict[str, Any]] = [
        {
            "kind": "choice",
            "name": slot,
            "label": f"method {letter}",
            "help": "Which extension this line shows; every method draws on the same axes.",
            "unit": "",
            "optional": False,
            "auto": "",
            "default": first.values[slot],
            "choices": [{"value": value, "label": label} for value, label in choices.items()],
        }
    ]
    if chosen != OFF:
        same = first.values[slot] == chosen
        for declaration in own_declarations(chosen):
            key = f"{slot}.{declaration.name}"
            items.append(
                control(
                    declaration,
                    name=key,
                    label=f"{letter} {declaration.name}",
                    default=first.values[key] if same else None,
                    auto=_auto(view, slot, declaration.name) if declaration.optional else "",
                )
            )
    title = f"{letter} · {get(chosen).title}" if chosen != OFF else f"{letter} · none"
    return {
        "title": title,
        "note": "",
        "items": items,
        "slot": SLOTS.index(slot),
        "collapsed": chosen == OFF,
    }


def _auto(view: View, slot: str, name: str) -> str:
    """What a parameter that is left out amounts to, where the result tells."""
    if name != "attention_factor":
        return "not set"
    spec = view.spec(slot)
    return f"{number_text(round(spec.magnitude(view.target_length), 6))} from s"


def _cursor(view: View) -> dict[str, Any]:
    pairs = view.unscaled.pairs
    pair = control(READING["pair"], label="pair", default=pairs // 2)
    pair.update(slider=[0, pairs - 1], upper=pairs - 1, upper_included=True)
    distance = control(READING["distance"], label="distance")
    distance.update(slider=[1, max(2, view.target_length)])
    position = control(READING["position"], label="position")
    position.update(slider=[0, view.target_length], play=True)
    needle = control(READING["needle"], label="needle weight at L")
    return {
        "title": "Cursor",
        "note": "click a plot to move it",
        "items": [pair, distance, position, needle],
    }


def _profiles(view: View) -> dict[str, Any] | None:
    profiles = view.profiles()
    if profiles is None:
        return None
    options = [{"value": name, "label": name} for name in profiles.names]
    items = [
        {
            "kind": "choice",
            "name": name,
            "label": f"implementation {letter}",
            "help": "Who computes this method; the last panel shows A against B.",
            "unit": "",
            "optional": False,
            "auto": "",
            "default": chosen,
            "choices": options,
        }
        for name, letter, chosen in (
            ("profile_a", "A", profiles.first[0]),
            ("profile_b", "B", profiles.second[0]),
        )
    ]
    return {"title": "Implementations", "note": profiles.method, "items": items}
