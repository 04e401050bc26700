"""A process of the pool: one task after the other, until it is ended or its parent is gone."""

from __future__ import annotations

import os
import signal
from multiprocessing.connection import Connection
from types import FrameType

from posviz.lab.sweep.tasks import Event, ended
from posviz.lab.workers import Progress
from posviz.lab.workers.process import environment


def serve(pipe: Connection, processes: int, threads: int) -> None:
    """Measure what comes through the pipe and send :class:`Event` back.

    ``processes`` is how many of them share the machine's memory.
    """
    os.environ.update(environment(threads, processes))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    signal.signal(signal.SIGTERM, _end)
    from posviz.lab.sweep.measuring import attempt  # what loads slowly, loads here

    def report(progress: Progress) -> None:
        pipe.send(Event(0, part=progress.part))

    try:
        while True:
            pipe.send(ended(0, attempt(pipe.recv(), report, threads)))
    except (EOFError, ConnectionError):
        return  # the parent is gone


def _end(number: int, frame: FrameType | None) -> None:
    """End as Python does, so that libraries clean up behind themselves."""
    raise SystemExit(0)
