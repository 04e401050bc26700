"""The worker process: ``python -m posviz.lab.workers.child``; only the pool starts it.

It runs one job at a time and ends when its parent has gone. What a library prints goes to the
server's log: the stream of messages is a copy of the output that nothing else knows of.
"""

from __future__ import annotations

import importlib
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from posviz.lab.errors import LabError
from posviz.lab.workers import messages
from posviz.lab.workers.job import Cancelled, Job, Progress
from posviz.parameters import ParameterError

FIRST = "1000"
"""proc(5): the system ends such a process before any other when memory runs out."""
SHORTEST_PAUSE = 0.1
"""Seconds between two reports that are sent; those between are left out."""
SHARE_OF_REPORTS = 0.1
"""The part of a job's time that the sending of its reports may take."""


def main() -> None:
    """Work until the parent has gone."""
    _first_to_go()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the server, and that ends this
    incoming, outgoing = _own_streams()
    Worker(incoming, outgoing).work()


def _first_to_go() -> None:
    """Where memory runs out, have the system end this process and not the server."""
    wish = Path("/proc/self/oom_score_adj")
    if not wish.exists():  # Linux alone has it
        return
    try:
        wish.write_text(FIRST)
    except OSError as error:  # a container may forbid it; the worker is as good without
        print(f"{wish} cannot be written: {error}", file=sys.stderr)


def _own_streams() -> tuple[IO[bytes], IO[bytes]]:
    """Copies of input and output for the messages; the numbers 0 and 1 then lead elsewhere."""
    incoming = os.fdopen(os.dup(0), "rb")
    outgoing = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return incoming, outgoing


class Worker:
    """Takes jobs from one stream and answers on another."""

    def __init__(self, incoming: IO[bytes], outgoing: IO[bytes]) -> None:
        self._incoming = incoming
        self._outgoing = outgoing
        self._jobs: queue.SimpleQueue[tuple[int, bytes]] = queue.SimpleQueue()
        self._cancelled = -1

    def work(self) -> None:
        threading.Thread(target=self._listen, daemon=True).start()
        self._send("ready")
        while True:
            number, data = self._jobs.get()
            self._run(number, data)

    def _listen(self) -> None:
        while (message := messages.read(self._incoming)) is not None:
            if message[0] == "run":
                self._jobs.put((message[1], message[2]))
            else:
                self._cancelled = message[1]
        os._exit(0)  # at once, whatever the task is doing: nobody is left to hear of it

    def _send(self, *message: Any) -> None:
        try:
            messages.write(self._outgoing, *message)
        except BrokenPipeError:
            os._exit(0)

    def _run(self, number: int, data: bytes) -> None:
        try:
            job: Job = messages.unpacked(data, "The job")
            task = _function(job)
        except LabError as error:
            self._send("failed", number, str(error), traceback.format_exc())
            return
        self._send("started", number)
        report = _Report(self._send, number, lambda: self._cancelled == number)
        try:
            result = messages.packed(task(report, **job.arguments), f"The result of {job.task}")
        except Cancelled:
            report.flush()
            self._send("cancelled", number)
        except (LabError, ParameterError) as error:
            report.flush()
            self._send("failed", number, str(error), "")
        except Exception:  # noqa: BLE001 - whatever a task raises is told, with its traceback
            report.flush()
            self._send("failed", number, _sentence(sys.exc_info()[1]), traceback.format_exc())
        else:
            self._send("done", number, result)


def _function(job: Job) -> Callable[..., Any]:
    module, _, name = job.task.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except Exception as error:
        raise LabError(
            f"The task {job.task} cannot be loaded: {type(error).__name__}: {error}."
        ) from error
    if not callable(found):
        raise LabError(f"The task {job.task} cannot be loaded: {name} is no function.")
    return found  # type: ignore[no-any-return]


def _sentence(error: BaseException | None) -> str:
    first = str(error).strip().partition("\n")[0].rstrip(".")
    kind = type(error).__name__
    if "OutOfMemory" in kind or kind == "MemoryError":
        return f"Memory ran out ({kind}{f': {first}' if first else ''}); a smaller run may fit."
    return f"The run failed with {kind}{f': {first}' if first else ''}."


class _Report:
    """What a task calls; sends no more than a reader can follow, and holds the newest back."""

    def __init__(
        self, send: Callable[..., None], number: int, is_cancelled: Callable[[], bool]
    ) -> None:
        self._send = send
        self._number = number
        self._is_cancelled = is_cancelled
        self._next = 0.0
        self._held: Progress | None = None

    def __call__(self, progress: Progress) -> None:
        self._held = progress
        if self._is_cancelled():
            raise Cancelled
        if time.monotonic() >= self._next:
            self.flush()

    def flush(self) -> None:
        """Send the newest report, if it has not been sent."""
        if self._held is None:
            return
        progress, self._held = self._held, None
        begun = time.monotonic()
        self._send("progress", self._number, messages.packed(progress, "A partial result"))
        now = time.monotonic()
        self._next = now + max(SHORTEST_PAUSE, (now - begun) / SHARE_OF_REPORTS)


if __name__ == "__main__":
    main()
