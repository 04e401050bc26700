"""What is asked of a worker, what it tells while it works, and how the job stands."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from posviz.lab.errors import LabError

Phase = Literal["queued", "starting", "running", "done", "failed", "cancelled"]

_TASK = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True)
class Job:
    """A function to be called in a worker process: ``function(report, **arguments)``.

    Raises
    ------
    LabError : the task is not written ``dotted.module:function``.
    """

    task: str
    """Module and function: "posviz.lab.kernels.run:measure"."""
    arguments: dict[str, Any] = field(default_factory=dict)
    """Plain data; it travels pickled."""

    def __post_init__(self) -> None:
        if not _TASK.fullmatch(self.task):
            raise LabError(
                f'Job: task must be written "dotted.module:function"; got {self.task!r}.'
            )

    @property
    def module(self) -> str:
        return self.task.partition(":")[0]


@dataclass(frozen=True)
class Progress:
    """How far a job is, in a unit of its own."""

    done: float
    total: float
    note: str = ""
    """What is being done, in a few words."""
    partial: Any = None
    """A result so far, small, to be drawn while the job runs."""

    @property
    def part(self) -> float:
        """What is done, from 0 to 1."""
        return min(1.0, max(0.0, self.done / self.total)) if self.total > 0 else 0.0


Report = Callable[[Progress], None]
"""Called by a task about every second or more often; raises Cancelled when the job is to end."""


class Cancelled(Exception):  # noqa: N818 - no error: somebody wished it
    """The job is not wanted any more; a task lets it pass."""


@dataclass(frozen=True)
class Status:
    """How a job stands."""

    phase: Phase
    place: int = 0
    """Position in the queue, 1 is next; 0 when it does not wait."""
    progress: Progress | None = None
    """What the task reported last; it stays when the job has ended."""
    seconds: float = 0.0
    """How long the job waits, while it is queued; then how long it has run, or ran."""
    seconds_left: float | None = None
    """Estimated from the reports; None until there are two of them."""
    result: Any = None
    problem: str = ""
    """Why there is no result, in a sentence for the person."""
    is_cancelling: bool = False
    """Whether it was told to end and has not yet."""

    @property
    def is_active(self) -> bool:
        """Whether it waits or runs."""
        return self.phase in ("queued", "starting", "running")
