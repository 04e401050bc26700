"""The worker processes of a pool: taken on when needed, ended when idle or when they must."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from posviz.lab.workers.limit import cores
from posviz.lab.workers.process import Process, environment
from posviz.lab.workers.run import Run


@dataclass(eq=False)
class Worker:
    """A process with what is known of it."""

    process: Process
    run: Run | None = None
    module: str = ""
    """Of its last task: what it has loaded is used again by the same one."""
    since: float = 0.0
    """When it became idle."""
    is_ending: bool = False
    has_served: bool = False
    """Whether it has had a run before the present one."""

    def take(self, run: Run) -> None:
        """Have it work on a run."""
        self.run, self.module = run, run.job.module
        run.process, run.phase, run.since = self.process, "starting", time.monotonic()
        self.process.send("run", run.number, run.data)

    def rest(self) -> None:
        """Its run is over."""
        self.run, self.since, self.has_served = None, time.monotonic(), True

    def end(self) -> None:
        """Kill it; its end is heard of."""
        if not self.is_ending:
            self.is_ending = True
            self.process.kill()


class Crew:
    """At most ``limit`` workers; every call is made under the lock of the pool."""

    def __init__(
        self,
        limit: int,
        idle_seconds: float,
        grace: float,
        hear: Callable[[Process, tuple[Any, ...] | None], None],
    ) -> None:
        self.workers: list[Worker] = []
        self._limit = limit
        self._idle_seconds = idle_seconds
        self._grace = grace
        self._hear = hear
        # Now and not at the first start of a worker: a page's folder is in Python's path only while
        # the page runs.
        self._variables = environment(max(1, cores() // limit), limit)

    def of(self, process: Process) -> Worker:
        """The worker that is this process."""
        return next(worker for worker in self.workers if worker.process is process)

    def free(self, module: str) -> Worker | None:
        """An idle worker, the one that knows the module if there is one, or a new one; None where
        all are busy.

        Raises
        ------
        OSError : the machine gives no further process.
        """
        idle = [worker for worker in self.workers if worker.run is None and not worker.is_ending]
        if idle:
            return max(idle, key=lambda worker: (worker.module == module, worker.since))
        if len(self.workers) >= self._limit:
            return None
        self.workers.append(Worker(Process(self._variables, self._hear)))
        return self.workers[-1]

    def end_what_must(self) -> None:
        """End who has been idle for long, and whose run does not end though it was told to."""
        now = time.monotonic()
        for worker in self.workers:
            worker.process.look()
            run = worker.run
            if run is None:
                if now - worker.since > self._idle_seconds:
                    worker.end()
            elif run.told is not None and now - run.told > self._grace:
                worker.end()
