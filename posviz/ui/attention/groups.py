"""The groups of controls of the page, built from the declarations."""

from __future__ import annotations

import functools
from typing import Any

from posviz.catalog import link
from posviz.encodings.base import Encoding
from posviz.ui.attention import lead_curves
from posviz.ui.attention.lengths import heads_of, longest_of
from posviz.ui.attention.panels import longest
from posviz.ui.attention.reading import READING
from posviz.ui.attention.view import View
from posviz.ui.controls import choice, control
from posviz.ui.effects import inert_in_row
from posviz.ui.slots.groups import slot_groups

_LABELS = {
    "length": "context length ℓ",
    "trained": "trained window L",
    "content": "model of the content",
    "sigma": "σ of drawn logits",
    "match": "match g",
    "depth": "depth of the needle",
    "needle_turns": "the rotation turns the needle",
    "question": "query and key are",
    "typed_query": "typed query",
    "typed_key": "typed key",
    "place": "query in the middle",
    "window": "size of the window",
    "precision": "rounded to",
}
_CONTENT = ("content", "sigma", "match", "depth", "needle_turns", "seed")
_QUESTION = ("question", "correlation", "typed_query", "typed_key")
_ONE = ("place", "window", "precision")


def groups(view: View, first: View) -> list[dict[str, Any]]:
    """All groups of controls for a view; ``first`` holds the values that they go back to."""
    at = view.reading

    def items(*names: str) -> list[dict[str, Any]]:
        hidden = _without_effect(view)
        return [_control(name, first) for name in names if name not in hidden]

    context = items("length", "trained", "distance", "head")
    for item in context:
        if item["name"] == "length":
            item["play"] = True
        if item["name"] == "distance":
            item.update(_within(at.length, 1))
        if item["name"] == "head":
            item["slider"] = [0, max(1, _heads(view) - 1)]
    one = [*_lead(view), *items(*_ONE)]
    for item in one:
        if item["name"] == "place":
            item.update(_within(at.length, min(64, at.length - 2)))
    return [
        {
            "title": "Context",
            "note": "click a plot to move the cursor or the length",
            "items": context,
        },
        {
            "title": "Content",
            "note": "what q·k is, for weights, entropy, reach and needle",
            "items": items(*_CONTENT),
        },
        {
            "title": "Score against distance",
            "note": "three questions with three answers",
            "items": items(*_QUESTION),
        },
        *slot_groups(view, functools.partial(_inert, view)),
        {"title": "One encoding", "note": "heads, matrix, precision, bases", "items": one},
        {"title": "Stack", "note": "", "items": items("layers")},
    ]


def _within(length: int, first: int) -> dict[str, Any]:
    """What a control of a place in the context adds to its declaration: the context's end."""
    last = length - 1
    return {
        "slider": [first, last],
        "upper": last,
        "domain": f"a whole number of at least 0 and at most {last}, the end of the context",
    }


def _control(name: str, first: View) -> dict[str, Any]:
    return control(READING[name], default=first.values[name], label=_LABELS.get(name, name))


def _without_effect(view: View) -> set[str]:
    """Parameters of the page that change nothing now."""
    at, content = view.reading, view.content
    hidden: set[str] = set()
    if at.question != "given":
        hidden |= {"correlation", "typed_query", "typed_key"}
    elif at.typed_key:
        hidden |= {"correlation"}
    drawn = at.content in ("gaussian", "needle") or at.question == "independent"
    if not drawn:
        hidden |= {"sigma"}
    if not (drawn and at.sigma > 0) and not (
        at.question == "given" and not (at.typed_query and at.typed_key)
    ):
        hidden |= {"seed"}
    rows = [lead_curves.feels_place(link(item.spec), longest(view)) for item in view.shown]
    turns = any(row.turns for row in rows)
    if not turns:
        hidden |= {"needle_turns"}
    placed = any(row.placed for row in rows) or (turns and at.needle_turns)
    if not (placed or content.is_drawn or content.content == "needle"):
        hidden |= {"depth"}
    lead = view.lead
    if not lead_curves.has_stages(link(lead.spec), lead.within(at.length)):
        hidden |= {"precision"}
    if _heads(view) < 2:
        hidden |= {"head"}
    return hidden


def _heads(view: View) -> int:
    """The most heads that any encoding tells apart."""
    return max(heads_of(link(item.spec)) for item in view.shown)


def _lead(view: View) -> list[dict[str, Any]]:
    """The choice of the encoding that is shown alone, where there is more than one."""
    options = {item.slot: item.label for item in view.shown}
    if len(options) < 2:
        return []
    return [
        choice(
            "lead",
            "shown below",
            options,
            default=next(iter(options)),
            help=READING["lead"].parameter.help,
        )
    ]


def _inert(view: View, spec: Encoding) -> frozenset[str]:
    """Parameters of an encoding that change no row of logits now."""
    layout = view.reading.question == "given"
    text = link(spec)
    return inert_in_row(text, min(view.reading.length, longest_of(text)), layout)
