"""Specs carried over to the attention page, as the parameters of its address."""

from __future__ import annotations

from collections.abc import Iterable

from posviz.encodings.base import Encoding
from posviz.measures import LONGEST_CONTEXT
from posviz.parameters import number_text
from posviz.ui.attention.reading import READING
from posviz.ui.attention.view import SLOTS
from posviz.ui.slots.choice import OFF, choice_key, own_key


def parameters(
    specs: Iterable[Encoding],
    *,
    length: int | None = None,
    trained: int | None = None,
    match: float | None = None,
) -> dict[str, str]:
    """The address parameters that open the attention page with these specs, the first in slot A,
    and with a context, a trained window and the logit of a match where they are given."""
    found: dict[str, str] = {}
    carried = list(specs)
    for place, slot in enumerate(SLOTS.names):
        if place >= len(carried):
            if slot in SLOTS.may_be_empty:
                found[choice_key(slot)] = OFF
            continue
        spec = carried[place]
        found[choice_key(slot)] = spec.id
        for declaration in spec.declarations():
            value = getattr(spec, declaration.name)
            if value != declaration.default:
                found[own_key(slot, declaration.name)] = declaration.format(value)
    for name, value in (("length", length), ("trained", trained)):
        if value is not None:
            lowest = int(READING[name].lower or 0)
            found[name] = str(min(max(value, lowest), LONGEST_CONTEXT))
    if match is not None:
        found["match"] = number_text(round(match, 4))
    return found
