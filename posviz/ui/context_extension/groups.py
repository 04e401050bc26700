"""The groups of controls beside the panels, built from the declarations."""

from __future__ import annotations

from typing import Any

from posviz.catalog import get
from posviz.encodings.rotary import RotaryEncoding
from posviz.parameters import Declaration, number_text
from posviz.ui.context_extension.pad import AXES, pad_axes
from posviz.ui.context_extension.view import (
    CUSTOM,
    NO_PROFILES,
    OFF,
    READING,
    SHARED,
    SLOTS,
    View,
    declaration_of,
    first_view,
    method_values,
    methods_on_offer,
    own_declarations,
    profile_of,
    profiles_of,
)
from posviz.ui.controls import PROFILE, choice, control
from posviz.ui.effects import inert

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
    parts += [part for slot in SLOTS for part in _slot(view, first, slot)]
    parts.append(_cursor(view))
    parts += _pad(view)
    profiles = _profiles(view)
    return [*parts, profiles] if profiles else parts


def _aim(view: View, first: View) -> dict[str, Any]:
    items = []
    for name in SHARED:
        found = declaration_of(name, view.values)
        assert found is not None
        items.append(control(found[0], label=SHARED_LABELS[name], default=first.values[name]))
    items.append(
        control(
            READING["target"],
            default=first.values["target"],
            label="target length L′",
            auto=_auto_target(view),
            auto_value=round(view.trained_length * view.values["scaling_factor"]),
        )
    )
    return {"title": "Model and aim", "note": "shared by all methods", "items": items}


def _slot(view: View, first: View, slot: str) -> list[dict[str, Any]]:
    """A method's group, and one for the switches that set implementations apart."""
    letter = slot.upper()
    chosen = view.values[slot]
    if chosen == OFF:
        items = [_method_choice(slot, first)]
        return [{"title": f"{letter} · none", "note": "", "items": items, "collapsed": True}]
    encoding = get(chosen)
    spec = view.spec(slot)
    unseen = inert(spec, view.target_length)
    own = {
        declaration.name: _own(view, first, slot, declaration)
        for declaration in own_declarations(chosen)
        if declaration.name not in unseen
    }
    switches = {
        name for name, item in own.items() if item["kind"] != "number" or name in _set_by(spec)
    }
    title = f"{letter} · {encoding.title}"
    knobs = [item for name, item in own.items() if name not in switches]
    parts: list[dict[str, Any]] = [
        {"title": title, "note": "", "items": [_method_choice(slot, first), *knobs]}
    ]
    finer = [item for name, item in own.items() if name in switches]
    if finer:
        parts.append(
            {
                "title": f"{title}: implementation",
                "note": "who computes it how",
                "items": [*_profile_choice(view, slot), *finer],
                "collapsed": True,
            }
        )
    return parts


def _set_by(spec: RotaryEncoding) -> set[str]:
    """Parameters that some named implementation of the method sets."""
    return {name for values in profiles_of(spec).values() for name in values}


def _own(view: View, first: View, slot: str, declaration: Declaration) -> dict[str, Any]:
    key = f"{slot}.{declaration.name}"
    same = first.values[slot] == view.values[slot]
    start = first.values if same else method_values(slot, view.values[slot], view.values)
    return control(
        declaration,
        name=key,
        label=f"{slot.upper()} {declaration.name}",
        default=start[key],
        auto=_auto(view, slot, declaration.name) if declaration.optional else "",
        auto_value=_auto_value(view, slot, declaration.name),
    )


def _method_choice(slot: str, first: View) -> dict[str, Any]:
    return choice(
        slot,
        f"method {slot.upper()}",
        {OFF: "— none —", **methods_on_offer()},
        default=first.values[slot],
        help="Which extension this line shows; every method draws on the same axes.",
    )


def _profile_choice(view: View, slot: str) -> list[dict[str, Any]]:
    spec = view.spec(slot)
    names = list(profiles_of(spec))
    if not names:
        return []
    labels = {name: name for name in names} | {CUSTOM: "— as set below —"}
    return [
        choice(
            f"{slot}.{PROFILE}",
            f"{slot.upper()} as computed by",
            labels,
            default=profile_of(spec),
            help="Sets the switches below to what this implementation does.",
        )
    ]


def autos(view: View) -> dict[str, str]:
    """What the parameters that are left out amount to, by the names of their controls."""
    found = {"target": _auto_target(view)}
    for slot, chosen in view.methods.items():
        for declaration in own_declarations(chosen):
            if declaration.optional:
                found[f"{slot}.{declaration.name}"] = _auto(view, slot, declaration.name)
    return found


def _auto_target(view: View) -> str:
    return f"L · s = {round(view.trained_length * view.values['scaling_factor']):,}"


def _auto(view: View, slot: str, name: str) -> str:
    """What a parameter that is left out amounts to, where the result tells."""
    value = _auto_value(view, slot, name)
    return "not set" if value is None else f"{number_text(value)} from s"


def _auto_value(view: View, slot: str, name: str) -> float | None:
    if name != "attention_factor":
        return None
    return round(view.spec(slot).magnitude(view.target_length), 6)


def _cursor(view: View) -> dict[str, Any]:
    pairs = view.unscaled.pairs
    pair = control(READING["pair"], label="pair", default=pairs // 2)
    pair.update(slider=[0, pairs - 1], upper=pairs - 1, upper_included=True)
    distance = control(READING["distance"], default=READING["distance"].default, label="distance")
    distance.update(slider=[1, max(2, view.target_length)])
    position = control(READING["position"], default=READING["position"].default, label="position")
    step = max(1, view.target_length // 400)
    position.update(slider=[0, view.target_length], step=step, play=True)
    needle = control(
        READING["needle"], default=READING["needle"].default, label="needle weight at L"
    )
    return {
        "title": "Cursor",
        "note": "click a plot to move it",
        "items": [pair, distance, position, needle],
    }


def _pad(view: View) -> list[dict[str, Any]]:
    """The weight of the proposal, and which map to show where there are two."""
    offered = pad_axes(view)
    if not offered:
        return []
    items = [control(READING["weight"], default=READING["weight"].default, label="weight w")]
    if len(offered) > 1:
        help_text = READING["pad"].parameter.help
        options = {axes: AXES[axes] for axes in offered}
        items.insert(0, choice("pad", "map of", options, default="ramp", help=help_text))
    return [{"title": "Two costs", "note": "drag the point on the map", "items": items}]


def _profiles(view: View) -> dict[str, Any] | None:
    profiles = view.profiles()
    if profiles is None:
        return None
    items = [
        choice(
            name,
            f"implementation {letter}",
            {"": f"page's choice: {shown}", **{each: each for each in profiles.names}},
            default="",
            help="Who computes this method; the last panel shows 1 against 2.",
        )
        for name, letter, shown in zip(NO_PROFILES, "12", profiles.chosen, strict=True)
    ]
    return {"title": "Implementations compared", "note": profiles.method, "items": items}
