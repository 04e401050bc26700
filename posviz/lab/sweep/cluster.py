"""Tasks on the workers of an existing Dask cluster."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

from posviz.lab.errors import LabError
from posviz.lab.installed import is_installed
from posviz.lab.sweep.tasks import Event, Task, ended
from posviz.parameters import shortened

if TYPE_CHECKING:
    from distributed import Client, Future

PACKAGE = "distributed"
SECONDS_TO_ANSWER = 5
MOST_OPEN = 1000
"""Tasks that the scheduler holds at a time."""
_ADDRESS = re.compile(r"((tcp|tls|ws|wss)://)?[^\s/:]+:\d{1,5}")
HOW_TO_INSTALL = (
    "--scheduler needs dask.distributed, which is not installed here: with pip, "
    "posviz[distributed] installs it."
)


def outcomes(tasks: Sequence[Task], address: str) -> Iterator[Event]:
    """News of all tasks as they end.

    A task whose worker dies is given to another one by the scheduler, as often as its setting
    ``distributed.scheduler.allowed-failures`` says (3 when nobody changed it).

    Raises
    ------
    LabError : dask.distributed is not installed; no scheduler answers at the address, or it has no
        workers; it went away while tasks were open.
    """
    with _without_its_log(), _connected(address) as client:
        from distributed import as_completed

        from posviz.lab.sweep.measuring import attempt_there

        open_: dict[Future[Any], int] = {}
        ends = as_completed(loop=client.loop)

        def submit(place: int) -> None:
            # A task carries its text: one copy for all could die with the worker that has it.
            future = client.submit(attempt_there, tasks[place], pure=False)
            open_[future] = place
            ends.add(future)

        places = iter(range(len(tasks)))
        try:
            for place in islice(places, MOST_OPEN):
                submit(place)
            for future in ends:
                yield _event(open_.pop(future), future, address)
                for place in islice(places, 1):
                    submit(place)
        finally:
            if client.status == "running":
                client.cancel(list(open_))


@contextmanager
def _without_its_log() -> Iterator[None]:
    """What goes wrong with the connection is told in a sentence, not in tracebacks."""
    log = logging.getLogger("distributed.client")
    before = log.level
    log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(before)


def check(address: str) -> None:
    """Whether a scheduler could be asked at all.

    Raises
    ------
    LabError : dask.distributed is not installed, or this is no address.
    """
    if not is_installed(PACKAGE):
        raise LabError(HOW_TO_INSTALL)
    if not _ADDRESS.fullmatch(address):
        raise LabError(
            "--scheduler must be the address of a Dask scheduler, such as tcp://HOST:8786; got "
            f"{shortened(address)}."
        )


@contextmanager
def _connected(address: str) -> Iterator[Client]:
    check(address)
    from distributed import Client

    try:
        client = Client(address, timeout=SECONDS_TO_ANSWER, set_as_default=False)
    except OSError:
        raise LabError(
            f"No Dask scheduler answered at {address} within {SECONDS_TO_ANSWER} seconds; "
            "`dask scheduler` starts one and prints its address."
        ) from None
    try:
        if not client.scheduler_info(n_workers=1)["workers"]:
            raise LabError(
                f"The Dask scheduler at {address} has no workers; `dask worker {address} "
                "--nthreads 1` starts one."
            )
        yield client
    finally:
        client.close()


def _event(place: int, future: Future[Any], address: str) -> Event:
    if future.status == "finished":
        return ended(place, future.result())
    if future.status == "error":
        return Event(place, problem=_reason(future.exception()))
    raise LabError(
        f"The Dask scheduler at {address} went away before all cells were measured; what was "
        "measured is kept."
    )


def _reason(error: BaseException | None) -> str:
    from distributed.scheduler import KilledWorker

    if isinstance(error, KilledWorker):
        return (
            "The Dask workers that measured this died one after the other, most likely for lack of "
            "memory."
        )
    return f"The Dask worker could not measure this: {type(error).__name__}: {error}"
