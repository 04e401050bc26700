"""One job of one owner, from the queue to its end."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from posviz.lab.workers.job import Job, Phase, Progress, Status
from posviz.lab.workers.limit import SECONDS
from posviz.lab.workers.process import Process

LONGEST_START = 120.0
"""Seconds that a worker and the modules of a task may take to be loaded."""
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
    began: float | None = None
    """When its task began."""
    ended: float | None = None
    cancelled: float | None = None
    """When it was told to end, because somebody wished it."""
    overdue: float | None = None
    """When it was told to end, because it had run for as long as a job may."""
    unwanted: float | None = None
    """Since when nobody wants it."""
    first: tuple[float, float] | None = None
    """Time and ``done`` of the first report with the present ``total``."""
    last: float = 0.0
    """Time of the newest report."""

    @property
    def is_active(self) -> bool:
        return self.ended is None

    @property
    def told(self) -> float | None:
        """When it was first told to end."""
        return min((at for at in (self.cancelled, self.overdue) if at is not None), default=None)

    def is_overdue(self, most_seconds: float) -> bool:
        """Whether its task has run for so long; to begin it may take two minutes in any case."""
        if self.began is None:
            return time.monotonic() - self.since > max(most_seconds, LONGEST_START)
        return time.monotonic() - self.began > most_seconds

    def wait_again(self) -> None:
        """Back to the queue: the worker that was to take it has gone before it began."""
        self.phase, self.process, self.since = "queued", None, time.monotonic()

    def take(self, progress: Progress) -> None:
        """A report has come; one without a result so far leaves the last one standing."""
        now = time.monotonic()
        before = self.progress
        if progress.partial is None and before is not None:
            progress = replace(progress, partial=before.partial)
        if self.first is None or before is None or before.total != progress.total:
            self.first = (now, progress.done)
        self.progress, self.last = progress, now

    def end(self, phase: Phase, problem: str = "", result: Any = None) -> None:
        """It is over; what is told after a cancellation does not matter any more."""
        if self.cancelled is not None:
            phase, problem, result = "cancelled", "", None
        elif self.overdue is not None and phase != "done":
            phase, problem, result = "failed", self._too_long(), None
        self.phase, self.problem, self.result = phase, problem, result
        self.ended = time.monotonic()
        self.process = None
        self.data = b""

    def _too_long(self) -> str:
        assert self.overdue is not None
        has_some = self.progress is not None and self.progress.partial is not None
        kept = "what was finished by then is kept" if has_some else "nothing was finished by then"
        seconds = self.overdue - (self.began or self.since)
        return (
            f"The run was ended after {seconds:,.0f} s, the longest that this "
            f"server gives one run ({SECONDS}); {kept}. A smaller run may fit."
        )

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
            is_cancelling=self.is_active and self.told is not None,
        )
