"""Tasks on processes of this machine; one that dies is replaced, and its task is tried again."""

from __future__ import annotations

import signal
import sys
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from posviz.lab.sweep.child import serve
from posviz.lab.sweep.tasks import Event, Task

TRIES = 3
"""How often a task is begun whose process dies."""
SECONDS_TO_END = 5.0
"""Until a process that was asked to end is killed."""


@dataclass
class Worker:
    """A process, this end of the pipe to it, and the place of the task that it has."""

    process: BaseProcess
    pipe: Connection
    place: int | None = None

    def give(self, place: int, task: Task) -> None:
        """Hand it a task; one that is dead already is noticed when its pipe is read."""
        self.place = place
        with suppress(ConnectionError):
            self.pipe.send(task)

    def part(self) -> None:
        """Ask it to end: an idle one sees that its pipe has, and cleans up behind itself."""
        if self.place is not None:
            self.process.terminate()
        self.pipe.close()

    def end(self) -> None:
        """Wait for its end, and make an end of it if need be; it holds nothing to be lost."""
        self.process.join(SECONDS_TO_END)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


def outcomes(tasks: Sequence[Task], processes: int, threads: int) -> Iterator[Event]:
    """News of all tasks as they come; the last of each is its result or its problem.

    Parameters
    ----------
    processes : how many run at once, at least 1.
    threads : of torch in each of them.
    """
    waiting = deque(range(len(tasks)))
    tries: Counter[int] = Counter()
    workers: list[Worker] = []
    try:
        while waiting or any(worker.place is not None for worker in workers):
            _hand_out(tasks, waiting, tries, workers, processes, threads)
            for pipe in wait([each.pipe for each in workers if each.place is not None]):
                worker = next(each for each in workers if each.pipe is pipe)
                event = _news(worker)
                if event is None:
                    workers.remove(worker)
                    event = _died(worker, tries, waiting)
                if event is not None:
                    yield event
    finally:
        for worker in workers:
            worker.part()
        for worker in workers:
            worker.end()


def _hand_out(
    tasks: Sequence[Task],
    waiting: deque[int],
    tries: Counter[int],
    workers: list[Worker],
    processes: int,
    threads: int,
) -> None:
    """New processes up to the number that may run, and a task for every idle one."""
    busy = sum(each.place is not None for each in workers)
    # All are started before the first gets its task: a long text is taken only by one that is up.
    for _ in range(min(processes, busy + len(waiting)) - len(workers)):
        workers.append(_started(processes, threads))
    for idle in [each for each in workers if each.place is None][: len(waiting)]:
        place = waiting.popleft()
        tries[place] += 1
        idle.give(place, tasks[place])


def _news(worker: Worker) -> Event | None:
    """What a process says; None where it has died."""
    try:
        said: Event = worker.pipe.recv()
    except (EOFError, OSError):
        return None
    assert worker.place is not None
    event = Event(worker.place, said.part, said.measured, said.problem)
    if event.is_last:
        worker.place = None
    return event


def _died(worker: Worker, tries: Counter[int], waiting: deque[int]) -> Event | None:
    """The task of a dead process is the next to be tried, or has a problem."""
    worker.part()
    worker.end()
    place = worker.place
    assert place is not None
    if tries[place] < TRIES:
        waiting.appendleft(place)
        return None
    return Event(place, problem=_reason(worker.process.exitcode, tries[place]))


def _reason(code: int | None, tries: int) -> str:
    how = f"with exit code {code}"
    if code is not None and code < 0:
        how = f"by signal {-code}"
        if code == -signal.SIGKILL if sys.platform != "win32" else False:
            how += ", most likely for lack of memory; fewer --processes need less"
    return f"The process that measured this was ended {tries} times, the last time {how}."


def _started(processes: int, threads: int) -> Worker:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs, processes, threads), daemon=True)
    with _without_interrupts():
        process.start()
    theirs.close()  # so that the pipe ends when the process does
    return Worker(process, ours)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """A process that is started meanwhile never sees Ctrl-C; this one sees it afterwards."""
    if sys.platform == "win32":  # there the process itself ignores it, a moment later
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
