"""The groups of controls of a board that shows results, built from the declarations."""

from __future__ import annotations

from typing import Any

from posviz.ui.controls import control
from posviz.ui.effects import inert_in_result
from posviz.ui.results_board.view import CURSORS, READING, View
from posviz.ui.slots.groups import slot_groups

_LABELS = {"length": "positions shown"}


def groups(view: View, first: View) -> list[dict[str, Any]]:
    """All groups of controls for a view; ``first`` holds the values that they go back to."""
    slots = slot_groups(view, lambda spec: inert_in_result(spec, view.count))
    return [*slots, _shown(view, first)]


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
