"""One cell measured, in a worker process. The lab's heavy modules are imported for models only."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from typing import Any

import posviz
from posviz.lab.errors import LabError
from posviz.lab.sweep.core import predicted
from posviz.lab.sweep.tasks import Measured, Task
from posviz.lab.workers import Progress, Report
from posviz.parameters import ParameterError

_log = logging.getLogger(__name__)
_one_model_run = threading.Lock()
"""Two threads must not share a loaded model: a run sets how it attends, and hangs hooks into it."""


def attempt(task: Task, report: Report, threads: int) -> Measured | str:
    """The numbers of a cell, or the sentence that says why there are none."""
    try:
        return measure(task, report, threads)
    except (LabError, ParameterError) as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - whatever a cell raises is its row's reason
        _log.exception("%s", task.cell)
        return f"This failed with {type(error).__name__}: {error}."


def attempt_there(task: Task) -> Measured | str:
    """The same on a worker of a Dask cluster, with as many threads as that worker has."""
    from distributed import get_worker

    return attempt(task, _nobody_listens, get_worker().state.nthreads)


def measure(task: Task, report: Report, threads: int) -> Measured:
    """A cell's numbers.

    Raises
    ------
    LabError, ParameterError : a cell that cannot be measured; a worker whose posviz or whose model
        is not that of whoever asked.
    """
    if task.version != posviz.__version__:
        raise LabError(
            f"The worker has posviz {posviz.__version__}; the sweep needs {task.version}."
        )
    started = time.perf_counter()
    facts: Mapping[str, Any] = {}
    if task.cell.is_alone:
        numbers = predicted(task.cell.link, task.cell.length)
    else:
        with _one_model_run:
            numbers, facts = _in_model(task, report, threads)
    return Measured(numbers, facts, time.perf_counter() - started)


def _in_model(task: Task, report: Report, threads: int) -> tuple[dict[str, float], dict[str, Any]]:
    from posviz.lab.sweep.losses import losses

    return losses(task, report, threads)


def _nobody_listens(progress: Progress) -> None:
    pass
