"""One job of one owner, from the queue to its end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from posviz.lab.workers.job import Job, Phase, Progress, Status
from posviz.lab.workers.process import Process

SHORTEST_ESTIMATE = 1.0
"""Seconds between the first report and the one from which the time left is first estimated."""


@dataclass(eq=False)
class Run:
    """A job as the pool keeps it; only the pool, under its lock, changes it."""

    number: int
    owner: str
    job: Job
    data: bytes
    """The job as it travels."""
    is_wanted: Callable[[], bool]
    phase: Phase = "queued"
    progress: Progress | None = None
    result: Any = None
    problem: str = ""
    process: Process | None = None
    since: float = field(default_factory=time.monotonic)
    """When it was queued, and then when it was given to a worker."""
    ended: float | None = None
    cancelled: float | None = None
    """When it was told to end."""
    unwanted: float | None = None
    """Since when nobody wants it."""
    first: tuple[float, float] | None = None
    """Time and ``done`` of the first report with the present ``total``."""
    last: float = 0.0
    """Time of the newest report."""

    @property
    def is_active(self) -> bool:
        return self.ended is None

    def take(self, progress: Progress) -> None:
        """A report has come."""
        now = time.monotonic()
        before = self.progress
        if self.first is None or before is None or before.total != progress.total:
            self.first = (now, progress.done)
        self.progress, self.last = progress, now

    def end(self, phase: Phase, problem: str = "", result: Any = None) -> None:
        """It is over; what is told after a cancellation does not matter any more."""
        if self.cancelled is not None:
            phase, problem, result = "cancelled", "", None
        self.phase, self.problem, self.result = phase, problem, result
        self.ended = time.monotonic()
        self.process = None
        self.data = b""

    def seconds_left(self) -> float | None:
        """From the mean speed since the first report, which comes when a task has got ready."""
        if self.first is None or self.progress is None or not self.is_active:
            return None
        begun, at = self.first
        done, took = self.progress.done - at, self.last - begun
        if done <= 0 or took < SHORTEST_ESTIMATE:
            return None
        left = (self.progress.total - self.progress.done) * took / done
        return max(0.0, left - (time.monotonic() - self.last))

    def status(self, place: int) -> Status:
        return Status(
            phase=self.phase,
            place=place,
            progress=self.progress,
            seconds=(self.ended or time.monotonic()) - self.since,
            seconds_left=self.seconds_left(),
            result=self.result,
            problem=self.problem,
            is_cancelling=self.is_active and self.cancelled is not None,
        )
