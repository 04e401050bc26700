"""One call at a time, timed, while somebody is told that it still runs."""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from posviz.lab.kernels.devices import PeakMemory, synchronize

PAUSE = 0.2
"""Seconds between two looks at a call."""
REPETITIONS = 5
ENOUGH_SECONDS = 1.0
"""No further repetition is begun once they have taken this together."""


class GivenUp(Exception):  # noqa: N818 - no error: nobody waits for the result
    """A call ended early because nobody waits for it."""


class Watch:
    """Whether anybody still waits for what runs.

    ``look`` is called about five times a second; what it raises ends the waiting.
    """

    def __init__(self, look: Callable[[], None]) -> None:
        self._look = look
        self._is_over = threading.Event()

    def look(self) -> None:
        try:
            self._look()
        except BaseException:
            self._is_over.set()
            raise

    def go_on(self) -> None:
        """Between the steps of a call: raises GivenUp where nobody waits any more."""
        if self._is_over.is_set():
            raise GivenUp


def watched(call: Callable[[], Any], watch: Watch) -> Any:
    """The result of a call that runs in a thread of its own while ``watch`` looks.

    A kernel cannot be stopped halfway: a step that nobody waits for runs to its end, unheard.
    """
    outcome: list[Any] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            outcome.append(call())
        except BaseException as error:  # noqa: BLE001 - raised again below, where it was called
            failure.append(error)

    thread = threading.Thread(target=work, name="posviz-kernel", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(PAUSE)
        watch.look()
    if failure:
        raise failure[0]
    return outcome[0]


@dataclass(frozen=True)
class Measured:
    """What a call gave and what it took."""

    result: Any
    seconds: float
    peak_bytes: int | None


def measured(call: Callable[[], Any], watch: Watch, device: str) -> Measured:
    """One call with its time and its peak of memory."""
    begun = time.perf_counter()

    def complete() -> tuple[Any, int | None]:
        found = PeakMemory(device).during(call)
        synchronize(device)
        return found

    result, peak = watched(complete, watch)
    return Measured(result, time.perf_counter() - begun, peak)


def timed(
    call: Callable[[], Any], watch: Watch, device: str, seconds_left: float
) -> tuple[float, int]:
    """Median seconds of a few calls after a first one that is not counted, and how many."""
    taken: list[float] = []

    def repeat() -> None:
        while len(taken) < REPETITIONS and sum(taken) < min(ENOUGH_SECONDS, seconds_left):
            watch.go_on()
            begun = time.perf_counter()
            call()
            synchronize(device)
            taken.append(time.perf_counter() - begun)

    watched(repeat, watch)
    return statistics.median(taken), len(taken)
