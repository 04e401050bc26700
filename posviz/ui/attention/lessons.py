"""Views that answer one question each, as addresses of the page."""

from __future__ import annotations

from collections.abc import Mapping

OFF = dict.fromkeys("bcdef", "off")
LESSONS: Mapping[str, Mapping[str, str]] = {
    "Independent content: what a rotation does": OFF
    | {"a": "rope", "b": "nope", "c": "xpos", "content": "gaussian", "question": "independent"},
    "One needle among a million": OFF
    | {
        "a": "rope",
        "b": "yarn",
        "c": "log_n",
        "d": "irope",
        "d.layer": "3",
        "e": "alibi",
        "content": "zero",
        "length": "1048576",
    },
    "YaRN with and without its factor": OFF
    | {
        "a": "rope",
        "b": "yarn",
        "c": "yarn",
        "c.attention_factor": "1",
        "content": "gaussian",
        "sigma": "2",
        "length": "65536",
    },
    "Extensions past the trained window": OFF
    | {
        "a": "rope",
        "b": "linear",
        "b.scaling_factor": "8",
        "c": "ntk_aware",
        "c.scaling_factor": "8",
        "d": "yarn",
        "d.scaling_factor": "8",
        "needle_turns": "true",
        "depth": "0.1",
    },
    "How far the heads of a bias see": OFF
    | {"a": "alibi", "b": "kerple_log", "c": "sandwich", "content": "zero", "head": "4"},
    "A window and a stack of layers": OFF
    | {"a": "sliding_window", "a.window": "512", "b": "alibi", "c": "nope", "content": "zero"},
}
"""What a lesson is called, and the address that opens it."""
