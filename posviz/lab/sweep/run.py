"""A whole sweep: what is kept is read, the rest is measured and kept as it comes."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import posviz
from posviz.lab.extension.identity import model_hash
from posviz.lab.sweep import cluster, pool
from posviz.lab.sweep.kept import Kept
from posviz.lab.sweep.plan import Cell, Sweep
from posviz.lab.sweep.tasks import Event, Measured, Task
from posviz.lab.workers.limit import cores

Tell = Callable[[Cell, Event], None]
"""Called with every piece of news of a cell that is being measured."""


@dataclass(frozen=True)
class Row:
    """A cell and what came of it: numbers, or the reason why there are none."""

    cell: Cell
    numbers: Mapping[str, float] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    """How long the measurement took, when it was made."""
    problem: str = ""


@dataclass(frozen=True)
class Run:
    """A sweep that is about to be run: its tasks, and the rows that are there already."""

    tasks: tuple[Task, ...]
    rows: dict[Cell, Row]
    kept: Kept

    @property
    def measured(self) -> tuple[Task, ...]:
        """The cells that have their numbers by now."""
        rows = self.rows
        return tuple(
            task for task in self.tasks if task.cell in rows and not rows[task.cell].problem
        )

    @property
    def missing(self) -> tuple[Task, ...]:
        """What is still to be measured."""
        return tuple(task for task in self.tasks if task.cell not in self.rows)

    def finish(
        self,
        *,
        processes: int | None = None,
        scheduler: str | None = None,
        tell: Tell | None = None,
    ) -> tuple[Row, ...]:
        """All rows, in the order of the sweep's cells; every cell is kept as soon as it is there.

        Parameters
        ----------
        processes : of this machine; by default one per core, at most one per missing cell.
        scheduler : address of a Dask scheduler, whose workers measure in the place of processes.

        Raises
        ------
        LabError : a scheduler that cannot be used.
        """
        if scheduler is not None:
            cluster.check(scheduler)  # also when nothing is left to be measured
        missing = self.missing
        # Closed whatever happens: its processes end before anybody hears of what did.
        with closing(_news(missing, processes, scheduler)) as news:
            for event in news:
                task = missing[event.place]
                if event.is_last:
                    self.rows[task.cell] = self._row(task, event)
                if tell is not None:
                    tell(task.cell, event)
        return tuple(self.rows[task.cell] for task in self.tasks)

    def _row(self, task: Task, event: Event) -> Row:
        if event.measured is None:
            return Row(task.cell, problem=event.problem)
        self.kept.write(task, event.measured)
        return _row(task.cell, event.measured)


def prepare(sweep: Sweep, folder: Path) -> Run:
    """Find the models, and read what a folder keeps of the sweep.

    Raises
    ------
    LabError : a model that is not there.
    """
    hashes = {name: model_hash(source) for name, source in sweep.sources().items()}
    tasks = tuple(_task(sweep, cell, hashes) for cell in sweep.cells())
    kept = Kept(folder)
    run = Run(tasks, {}, kept)
    for task in tasks:
        if found := kept.read(task):
            run.rows[task.cell] = _row(task.cell, found)
    return run


def _row(cell: Cell, found: Measured) -> Row:
    return Row(cell, found.numbers, found.facts, found.seconds)


def _task(sweep: Sweep, cell: Cell, hashes: Mapping[str, str]) -> Task:
    if cell.is_alone:
        return Task(cell, version=posviz.__version__)
    return Task(cell, sweep.text, hashes[cell.model], posviz.__version__)


def _news(
    tasks: Sequence[Task], processes: int | None, scheduler: str | None
) -> Generator[Event, None, None]:
    if not tasks:
        return
    if scheduler is not None:
        yield from cluster.outcomes(tasks, scheduler)
    else:
        count = min(processes or cores(), len(tasks))
        yield from pool.outcomes(tasks, count, max(1, cores() // count))
