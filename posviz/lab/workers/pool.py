"""The pool: a queue, a few worker processes, and a thread that keeps both in order."""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from posviz.lab.errors import LabError
from posviz.lab.workers import messages
from posviz.lab.workers.crew import Crew, Worker
from posviz.lab.workers.job import Job, Status
from posviz.lab.workers.limit import limit_of_machine, seconds_of_a_job
from posviz.lab.workers.process import Process
from posviz.lab.workers.run import Run

TICK = 0.2
"""Seconds between two looks at what runs, and how long a change may go unnoticed."""
SLOW_TICK = 1.0
"""The same while there are only results, whose owners may leave."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Ticket:
    """A job was taken on."""

    owner: str
    number: int


class Pool:
    """Runs jobs, first come first served, at most ``limit`` at once and one for each owner.

    A worker stays for ``idle_seconds`` after its last job, with what it has loaded. A cancelled job
    has ``grace`` seconds to end before its worker is killed. A job that nobody has wanted for
    ``unwanted_seconds`` is cancelled and forgotten; so is the result of one that has ended. A job
    that has run for ``most_seconds`` is told to end like a cancelled one, and has failed; what it
    has reported stays in its status.

    Any thread may call any method. :meth:`close` leaves no process and no thread behind; a server
    that dies without it takes its workers with it.

    Raises
    ------
    LabError : no limit is given and POSVIZ_WORKERS holds none; or the same of ``most_seconds`` and
        POSVIZ_JOB_SECONDS.
    """

    def __init__(
        self,
        limit: int | None = None,
        idle_seconds: float = 120.0,
        grace: float = 3.0,
        unwanted_seconds: float = 10.0,
        most_seconds: float | None = None,
    ) -> None:
        self.limit = limit_of_machine() if limit is None else limit
        if self.limit < 1:
            raise LabError(f"Pool: limit must be a whole number from 1; got {limit}.")
        self.most_seconds = seconds_of_a_job() if most_seconds is None else most_seconds
        self._crew = Crew(self.limit, idle_seconds, grace, self._hear)
        self._unwanted_seconds = unwanted_seconds
        self._changed = threading.Condition()
        self._numbers = itertools.count()
        self._queue: list[Run] = []
        self._runs: dict[str, Run] = {}
        self._keeper: threading.Thread | None = None
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def submit(self, owner: str, job: Job, is_wanted: Callable[[], bool] = lambda: True) -> Ticket:
        """Queue a job; what the owner's last one left is forgotten.

        Raises
        ------
        LabError : the owner's last job has not ended; the arguments cannot be sent; the pool is
            closed.
        """
        data = messages.packed(job, f"The arguments of {job.task}")
        with self._changed:
            if self._is_closed:
                raise LabError("The pool of workers is closed; no run can be started.")
            before = self._runs.get(owner)
            if before is not None and before.is_active:
                raise LabError(
                    "One run at a time: your last one has not ended; wait for it or cancel it."
                )
            run = Run(next(self._numbers), owner, job, data, is_wanted)
            self._runs[owner] = run
            self._queue.append(run)
            if self._keeper is None:
                self._keeper = threading.Thread(
                    target=self._keep, daemon=True, name="posviz-workers"
                )
                self._keeper.start()
            self._changed.notify_all()
            return Ticket(owner, run.number)

    def status(self, owner: str) -> Status | None:
        """How the owner's last job stands; None when there is none, or it was forgotten."""
        with self._changed:
            run = self._runs.get(owner)
            if run is None:
                return None
            return run.status(self._queue.index(run) + 1 if run in self._queue else 0)

    def cancel(self, owner: str) -> None:
        """Have the owner's job end; nothing happens where none waits or runs."""
        with self._changed:
            run = self._runs.get(owner)
            if run is not None:
                self._cancel(run)

    def forget(self, owner: str) -> None:
        """Drop what is kept of the owner's job; one that waits or runs is cancelled."""
        with self._changed:
            run = self._runs.pop(owner, None)
            if run is not None:
                self._cancel(run)

    def close(self) -> None:
        """Cancel everything and end every worker; returns when all of them have gone.

        What their tasks have started is killed with them.
        """
        with self._changed:
            self._is_closed = True
            for run in self._runs.values():
                if run.is_active:
                    run.cancelled = run.cancelled or time.monotonic()
                    run.end("cancelled")
            self._queue.clear()
            self._runs.clear()
            processes = [worker.process for worker in self._crew.workers]
            for process in processes:
                process.kill()
            self._changed.notify_all()
        for process in processes:
            process.join()
        if self._keeper is not None:
            self._keeper.join()

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *reason: object) -> None:
        self.close()

    # --- below, the lock is held, except in _keep, _ask_owners and _hear

    def _cancel(self, run: Run) -> None:
        if not run.is_active or run.cancelled is not None:
            return
        was_told = run.told is not None
        run.cancelled = time.monotonic()
        if was_told:
            return
        if run.process is None:
            self._queue.remove(run)
            run.end("cancelled")
        else:
            run.process.send("cancel", run.number)
        self._changed.notify_all()

    def _keep(self) -> None:
        while True:
            self._ask_owners()
            with self._changed:
                if self._is_closed:
                    return
                self._end_what_is_overdue()
                self._crew.end_what_must()
                self._start_what_can()
                self._changed.wait(self._pause())

    def _pause(self) -> float | None:
        """How long to wait for a change before the next look."""
        if self._crew.workers or self._queue:
            return TICK
        return SLOW_TICK if self._runs else None

    def _ask_owners(self) -> None:
        """Look who has gone. The question is somebody else's code: no lock is held meanwhile."""
        with self._changed:
            runs = list(self._runs.values())
        for run in runs:
            try:
                is_wanted = run.is_wanted()
            except Exception:  # noqa: BLE001 - the keeper must go on; the log has the reason
                _log.exception("It could not be asked whether %s is wanted", run.job.task)
                is_wanted = False
            with self._changed:
                now = time.monotonic()
                run.unwanted = None if is_wanted else run.unwanted or now
                if run.unwanted is None or now - run.unwanted < self._unwanted_seconds:
                    continue
                if self._runs.get(run.owner) is run:
                    del self._runs[run.owner]
                self._cancel(run)

    def _end_what_is_overdue(self) -> None:
        now = time.monotonic()
        for worker in self._crew.workers:
            run = worker.run
            if run is not None and run.told is None and run.is_overdue(self.most_seconds):
                run.overdue = now
                worker.process.send("cancel", run.number)

    def _start_what_can(self) -> None:
        while self._queue:
            run = self._queue[0]
            try:
                worker = self._crew.free(run.job.module)
            except OSError as error:
                self._queue.pop(0)
                run.end("failed", f"No worker could be started: {error.strerror or error}.")
                continue
            if worker is None:
                return
            self._queue.pop(0)
            worker.take(run)

    def _hear(self, process: Process, message: tuple[Any, ...] | None) -> None:
        """Take what a worker says; this runs on the thread that reads from it."""
        value = None
        if message is not None and message[0] in ("progress", "done"):
            what = "The result" if message[0] == "done" else "A report"
            try:
                value = messages.unpacked(message[2], what)
            except LabError as error:
                message = ("unreadable", message[1], str(error), "")
        with self._changed:
            worker = self._crew.of(process)
            run = worker.run
            if message is None:
                self._crew.workers.remove(worker)
                if run is not None and run.is_active:
                    self._lost(worker, run)
            elif run is not None and message[0] != "ready" and message[1] == run.number:
                self._take(worker, run, message, value)
            self._changed.notify_all()

    def _lost(self, worker: Worker, run: Run) -> None:
        """The worker of a run has gone. One that had been idle may have died before it was asked:
        where it has not begun, the run is the next one again, once."""
        if run.phase == "starting" and worker.has_served and run.told is None:
            run.wait_again()
            self._queue.insert(0, run)
        else:
            run.end("failed", worker.process.end_in_words())

    def _take(self, worker: Worker, run: Run, message: tuple[Any, ...], value: Any) -> None:
        kind = message[0]
        if kind == "started":
            run.phase, run.began = "running", time.monotonic()
            return
        if kind == "progress":
            run.take(value)
            return
        if kind == "unreadable":
            run.end("failed", message[2])
            worker.end()  # its task may still go on
            return
        if kind == "failed" and message[3]:
            _log.error("%s failed:\n%s", run.job.task, message[3])
        run.end(kind, message[2] if kind == "failed" else "", value)
        worker.rest()
