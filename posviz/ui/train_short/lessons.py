"""Views that answer one question each, as addresses of the page."""

from __future__ import annotations

from collections.abc import Mapping

_OFF = dict.fromkeys("bcdef", "off")
LESSONS: Mapping[str, Mapping[str, str]] = {
    "Why sinusoids break": _OFF | {"a": "sinusoidal", "b": "learned", "c": "rope", "d": "nope"},
    "ALiBi stays flat": _OFF | {"a": "alibi", "b": "kerple_log", "c": "t5", "d": "rope"},
    "Extension without fine-tuning": _OFF | {"a": "rope", "b": "alibi"},
    "… where far tokens matter": _OFF | {"a": "rope", "b": "alibi", "task": "retrieval"},
    "Flip-flop memory": _OFF
    | {"a": "sinusoidal", "b": "rope", "c": "alibi", "d": "nope", "task": "flip_flop"},
    "Copy and reverse to eight times the length": _OFF
    | {"a": "rope", "b": "alibi", "c": "nope", "d": "t5", "task": "copy"},
}
"""What a lesson is called, and the address that opens it."""
