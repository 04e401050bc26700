"""What ``posviz sweep`` says on standard error while it measures."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from posviz.cli.console import console

if TYPE_CHECKING:
    from posviz.lab.sweep.plan import Cell
    from posviz.lab.sweep.run import Run
    from posviz.lab.sweep.tasks import Event


class Lines:
    """A line for every cell that is done; under them, on a terminal, a bar for the whole."""

    def __init__(self, run: Run) -> None:
        self._count = len(run.tasks)
        self._kept = self._count - len(run.missing)
        self._parts: dict[Cell, float] = {}
        self._done = 0
        self._started = time.monotonic()
        self._out: Console = console(stderr=True)
        self._bar = Progress(
            BarColumn(),
            TextColumn("{task.completed:.1f} of {task.total} cells{task.fields[left]}"),
            console=self._out,
            transient=True,
            disable=not self._out.is_terminal,
        )
        self._task = self._bar.add_task("", total=len(run.missing), left="")

    def __enter__(self) -> Lines:
        self._bar.start()
        if self._kept:
            self._say(f"{self._kept} of {self._count} cells are kept from before.")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def tell(self, cell: Cell, event: Event) -> None:
        """News of a cell."""
        self._parts[cell] = 1.0 if event.is_last else event.part
        if event.is_last:
            self._done += 1
            measured = event.measured
            how = event.problem if measured is None else f"{measured.seconds:.1f} s"
            self._say(f"[{self._kept + self._done}/{self._count}] {cell}: {how}")
        self._bar.update(self._task, completed=sum(self._parts.values()), left=self._left())

    def _left(self) -> str:
        done = sum(self._parts.values())
        total = self._count - self._kept
        if not done or done >= total:
            return ""
        seconds = (time.monotonic() - self._started) * (total - done) / done
        return f", about {_duration(seconds)} left"

    def _say(self, line: str) -> None:
        self._out.print(Text(line), soft_wrap=True)


def _duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
