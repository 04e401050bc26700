"""The groups of controls of the page, built from the declarations."""

from __future__ import annotations

from typing import Any

from posviz.catalog import link
from posviz.encodings.base import Encoding
from posviz.lab.training.tasks import TASKS
from posviz.measures import row_refusal
from posviz.ui.controls import choice, control
from posviz.ui.effects import inert_in_row
from posviz.ui.slots.groups import slot_groups
from posviz.ui.train_short.curves import curves_of
from posviz.ui.train_short.fitting import SIZES, fitted_in_words
from posviz.ui.train_short.reading import READING
from posviz.ui.train_short.view import View

_LABELS = {
    "length": "length of training L",
    "width": "width d",
    "heads": "heads H",
    "sequences": "sequences per step",
    "learning_rate": "step size",
    "bias_rate": "step size of biases, times",
    "embedding_scale": "size of token vectors, times",
    "test_up_to": "test up to, times L",
    "test_sequences": "sequences of each test",
    "test_length": "read at test length",
    "step": "read at step",
}
_MODEL = ("layers", "width", "heads")
_TRAINING = (
    "length", "steps", "sequences", "learning_rate", "bias_rate", "embedding_scale", "seed",
)  # fmt: skip
_TEST = ("test_up_to", "test_sequences")
_LENGTHS = frozenset({"original_max_position_embeddings", "max_position_embeddings"})
"""Left alone they follow the length of training, so that what they do is seen in training only."""
_FAR = 512
"""Tokens of the row of logits on which a parameter is tried for its effect. What depends on the
content has no such row, and to try it takes too long: all that it has is shown."""


def groups(view: View, first: View) -> list[dict[str, Any]]:
    """All groups of controls for a view; ``first`` holds the values that they go back to."""

    def items(*names: str) -> list[dict[str, Any]]:
        hidden = _without_effect(view)
        return [
            control(READING[name], default=first.values[name], label=_LABELS.get(name, name))
            for name in names
            if name not in hidden
        ]

    read = items("test_length", "step")
    for item in read:
        ends = {
            "test_length": [view.plan.length // 2, view.plan.longest],
            "step": [0, view.plan.steps],
        }
        item["slider"] = ends[item["name"]]
    return [
        {"title": "Task", "note": view.plan.about.asks, "items": [_task()]},
        *_encodings(view),
        {"title": "Model", "note": "", "items": items(*_MODEL)},
        {
            "title": "Training",
            "note": "nothing is trained before the button above is pressed",
            "items": items(*_TRAINING),
        },
        {"title": "Test", "note": "", "items": items(*_TEST)},
        {"title": "Cursor", "note": "click a plot to move it", "items": read},
    ]


def _encodings(view: View) -> list[dict[str, Any]]:
    """All choices together, then a folded group for each encoding that has something to set."""
    found = slot_groups(view, _inert)
    choices = {"title": "Encodings", "note": "", "items": [group["items"][0] for group in found]}
    told = _fitted(view)
    own = [
        {
            **group,
            "items": group["items"][1:],
            "collapsed": True,
            "note": told.get(group["title"], group["note"]),
        }
        for group in found
        if group["items"][1:]
    ]
    return [choices, *own]


def _fitted(view: View) -> dict[str, str]:
    """Title of a group to what its encoding was really trained with, where that differs."""
    found = {}
    for curve in curves_of(view):
        one = curve.trained
        if one is not None and (note := fitted_in_words(curve.item.spec, one)):
            found[curve.item.label] = note
    return found


def _task() -> dict[str, Any]:
    declaration = READING["task"]
    return choice(
        declaration.name,
        declaration.name,
        {task: TASKS[task].title for task in declaration.choices},
        default=declaration.default,
        help=declaration.parameter.help,
    )


def _without_effect(view: View) -> set[str]:
    """Parameters of the plan that change nothing now."""
    has_biases = any(spec.is_learned and spec.family == "bias" for spec in view.specs.values())
    return set() if has_biases else {"bias_rate"}


def _inert(spec: Encoding) -> frozenset[str]:
    """Parameters of an encoding that change nothing: sizes are those of the model that is trained,
    whatever the encoding's own say."""
    if row_refusal(spec):
        return SIZES
    return (inert_in_row(link(spec), _FAR, True) - _LENGTHS) | SIZES
