"""The server's side of one worker process: started, spoken to, ended, and what its end means."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from posviz.lab.workers import messages
from posviz.lab.workers.limit import SHARERS

GATHERING = 1.0
"""Seconds in which the last words of a process that has ended are read."""


def environment(threads: int, limit: int) -> dict[str, str]:
    """What a worker is started with: no network for models, its share of the cores, and how many
    share the memory."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
    return {
        **os.environ,
        **dict.fromkeys(names, str(threads)),
        SHARERS: str(limit),
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "TOKENIZERS_PARALLELISM": "false",
        # What can be imported here can be imported there, installed or not.
        "PYTHONPATH": os.pathsep.join(os.path.abspath(entry) for entry in sys.path),
    }


class Process:
    """A worker process. ``hear`` gets its messages, then None, all on a thread of its own."""

    def __init__(
        self, variables: Mapping[str, str], hear: Callable[[Process, tuple[Any, ...] | None], None]
    ) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "posviz.lab.workers.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=dict(variables),
            start_new_session=True,  # so that what a task starts can be ended with it
        )
        self._hear = hear
        self._died: float | None = None
        self._outbox: queue.SimpleQueue[tuple[Any, ...] | None] = queue.SimpleQueue()
        self._threads = [
            threading.Thread(target=work, daemon=True, name=f"posviz-worker-{self.pid}")
            for work in (self._listen, self._speak)
        ]
        for thread in self._threads:
            thread.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, *message: Any) -> None:
        """Say something, without waiting until it is heard; a process that has gone hears nothing,
        and its end is told by itself."""
        self._outbox.put(message)

    def kill(self) -> None:
        """End it and everything that it has started, at once."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def look(self) -> None:
        """End what a dead process has left behind: a child of it may hold the stream open."""
        if self._process.poll() is None:
            return
        self._died = self._died or time.monotonic()
        if time.monotonic() - self._died > GATHERING:
            self.kill()

    def join(self) -> None:
        """Wait until it has ended and nothing of it is left."""
        for thread in self._threads:
            thread.join()

    def _speak(self) -> None:
        stream = self._process.stdin
        assert stream is not None
        with contextlib.suppress(BrokenPipeError), stream:
            while (message := self._outbox.get()) is not None:
                messages.write(stream, *message)

    def _listen(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        try:
            with stream:
                while (message := messages.read(stream)) is not None:
                    self._hear(self, message)
        finally:
            self._finish()

    def _finish(self) -> None:
        # One that has closed its stream and goes on is no worker any more.
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GATHERING)
        self.kill()
        self._process.wait()
        self._outbox.put(None)
        self._hear(self, None)

    def end_in_words(self) -> str:
        """Why it has ended, in a sentence for the person whose job it ran."""
        code = self._process.returncode
        if code == -signal.SIGKILL:
            return (
                "The worker was ended by the system (signal 9), most likely for lack of memory; "
                "a smaller run may fit. Nothing else was harmed, and the run can be started again."
            )
        if code is not None and code < 0:
            return (
                f"The worker crashed ({_name(-code)}, signal {-code}); nothing else was harmed, "
                "and the run can be started again."
            )
        return (
            f"The worker ended without an answer (exit status {code}); "
            "the server's log may say why, and the run can be started again."
        )


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "an unnamed signal"
