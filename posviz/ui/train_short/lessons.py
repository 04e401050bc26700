"""Views that answer one question each, as addresses of the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from posviz.ui.train_short.reading import POINTED
from posviz.ui.train_short.view import DEFAULTS

_OFF = dict.fromkeys("bcdef", "off")


@dataclass(frozen=True)
class Lesson:
    """An address of the page, and what to look for in the view that it opens."""

    address: Mapping[str, str]
    look: str


_LESSONS = {
    "Why sinusoids break": (
        {"a": "sinusoidal", "b": "learned", "c": "rope", "d": "nope"},
        "Right after L the sinusoidal and the learned curve jump: the vectors that are added there "
        "never met training. RoPE goes on for a while, since what it meets are differences.",
    ),
    "ALiBi stays flat": (
        {"a": "alibi", "b": "kerple_log", "c": "t5", "d": "rope"},
        "Three biases hold their loss to eight times L, because far tokens hardly weigh; whether "
        "they could use them is another question (Flip-flop memory).",
    ),
    "Extension without fine-tuning": (
        {"a": "rope", "b": "alibi"},
        "The last two plots: one trained RoPE model, tested with other frequencies. By parts and "
        "YaRN, which leave the fast pairs alone, lead in both counts.",
    ),
    "… where far tokens matter": (
        {"a": "rope", "b": "alibi", "task": "retrieval"},
        "The token to find stands one segment back, in the last two plots farther than in any "
        "training. Compare by parts and YaRN: the same frequencies, without and with temperature.",
    ),
    "Flip-flop memory": (
        {"a": "sinusoidal", "b": "rope", "c": "alibi", "d": "nope", "task": "flip_flop"},
        "Compare “as trained” with “longer” and “sparser” in the bars: which encoding forgets with "
        "length, and which with rare writes?",
    ),
    "Copy": (
        {"a": "rope", "b": "alibi", "c": "nope", "d": "t5", "task": "copy"},
        "The token to copy is one row back, and rows grow with the test. RoPE copies at L and is "
        "lost at 2 L, where the row is farther away than any was in training; ALiBi still "
        "copies most of it there. At 8 L every one is wrong more than half of the time.",
    ),
    "Reverse": (
        {"a": "rope", "b": "xpos", "c": "learned", "d": "alibi", "task": "reverse"},
        "Here the distance to the token differs at every step, and far ones are as frequent as "
        "near ones. In these few steps none learns it whole, not even at L; at 2 L all are near "
        "guessing.",
    ),
}
LESSONS: Mapping[str, Lesson] = {
    title: Lesson(_OFF | address, look) for title, (address, look) in _LESSONS.items()
}
"""What a lesson is called, and what it is."""


def lesson_of(address: Mapping[str, str]) -> str:
    """The title of the lesson whose view an address opens, wherever it is read; else empty."""
    shown = {**DEFAULTS, **{name: text for name, text in address.items() if name not in POINTED}}
    return next(
        (title for title, one in LESSONS.items() if {**DEFAULTS, **one.address} == shown), ""
    )
