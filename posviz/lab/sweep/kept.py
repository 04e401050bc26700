"""Cells that were measured, as files: what is there is not measured again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from posviz.lab.extension.cache import Cache, folder, key_of
from posviz.lab.extension.identity import versions
from posviz.lab.extension.plan import Plan
from posviz.lab.hashes import text_hash
from posviz.lab.sweep.tasks import Measured, Task
from posviz.parameters import is_finite_number

FORMAT = 2
"""Another number whenever the same cell gives other numbers: older files are then left alone."""


def default_folder() -> Path:
    """Where cells are kept when nobody says where: beside the results of the pages."""
    return folder().with_name("sweep")


class Kept:
    """A folder with one file per cell, named by the hash of all that its numbers depend on."""

    def __init__(self, root: Path) -> None:
        self._cache = Cache(root)

    @property
    def problem(self) -> str:
        """Why nothing can be kept, in a sentence; empty where nothing went wrong."""
        return self._cache.problem

    def read(self, task: Task) -> Measured | None:
        """What was measured, or None. A file that holds something else is one that is not there."""
        found = self._cache.read(key(task)) or {}
        numbers, facts, seconds = (found.get(name) for name in ("numbers", "facts", "seconds"))
        if not isinstance(numbers, dict) or not isinstance(facts, dict) or not numbers:
            return None
        if not all(is_finite_number(one) for one in (*numbers.values(), seconds)):
            return None
        return Measured(numbers, facts, float(cast(float, seconds)))

    def write(self, task: Task, measured: Measured) -> None:
        """Keep it: the whole file or none, also when the process is killed meanwhile."""
        self._cache.write(key(task), {"of": about(task), **asdict(measured)})


def key(task: Task) -> str:
    """The name of a cell's file."""
    return key_of(about(task))


def about(task: Task) -> Mapping[str, Any]:
    """All that the numbers of a cell depend on; where a model lies is not among it."""
    cell = task.cell
    known = {"sweep": FORMAT, "version": task.version, "link": cell.link, "length": cell.length}
    if cell.is_alone:
        return known
    run = Plan()  # a cell runs with the defaults of the rest
    return {
        **known,
        "model": task.model_hash,
        "text": text_hash(task.text),
        "chunk": run.chunk,
        "dtype": run.dtype,
        "versions": versions(),
    }
