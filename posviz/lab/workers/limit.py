"""How many workers a machine bears."""

from __future__ import annotations

import os

from posviz.lab.errors import LabError

VARIABLE = "POSVIZ_WORKERS"
MOST_BY_DEFAULT = 4
"""Each warm worker may hold a model of a gigabyte."""


def cores() -> int:
    """Cores that this process may use; a container may have been given a few of many."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def limit_of_machine() -> int:
    """How many workers may run at once: POSVIZ_WORKERS, or half of the cores and at most four.

    Raises
    ------
    LabError : the variable holds no whole number from 1.
    """
    text = os.environ.get(VARIABLE, "")
    if not text:
        return max(1, min(MOST_BY_DEFAULT, cores() // 2))
    if text.strip().isascii() and text.strip().isdecimal() and int(text) >= 1:
        return int(text)
    raise LabError(
        f"{VARIABLE}: the number of worker processes must be a whole number from 1; got {text!r}."
    )
