"""What a worker is given, and what it says while it works and when it has done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from posviz.lab.sweep.plan import Cell


@dataclass(frozen=True)
class Task:
    """A cell with all that its measurement needs; it travels pickled."""

    cell: Cell
    text: str = field(default="", repr=False)
    model_hash: str = ""
    """Of weights, configuration and tokenizer here; a worker elsewhere must have the same."""
    version: str = ""
    """Of posviz here; a worker elsewhere must have the same one."""


@dataclass(frozen=True)
class Measured:
    """What came of a cell: numbers by name, and what else must be known about them."""

    numbers: Mapping[str, float]
    facts: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(frozen=True)
class Event:
    """News of the task at this place of the list: how far it is, or how it ended."""

    place: int
    part: float = 0.0
    measured: Measured | None = None
    problem: str = ""
    """Why there are no numbers, in a sentence."""

    @property
    def is_last(self) -> bool:
        return self.measured is not None or bool(self.problem)


def ended(place: int, came: Measured | str) -> Event:
    """The last news of a task: its numbers, or the sentence that says why there are none."""
    return Event(place, 1.0, came) if isinstance(came, Measured) else Event(place, problem=came)
