"""How many workers a machine bears, and how much of it one job may take."""

from __future__ import annotations

import math
import os

from posviz.lab.errors import LabError

VARIABLE = "POSVIZ_WORKERS"
MOST_BY_DEFAULT = 4
"""Each warm worker may hold a model of a gigabyte."""
SECONDS = "POSVIZ_JOB_SECONDS"
SECONDS_BY_DEFAULT = 1800.0
SHARERS = "POSVIZ_WORKERS_AT_ONCE"
"""What a pool tells its workers: how many of them there may be."""


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
    if (number := _whole(text)) is not None:
        return number
    raise LabError(
        f"{VARIABLE}: the number of worker processes must be a whole number from 1; got {text!r}."
    )


def seconds_of_a_job() -> float:
    """How long one job may run: POSVIZ_JOB_SECONDS, or half an hour.

    Raises
    ------
    LabError : the variable holds no number from 1.
    """
    text = os.environ.get(SECONDS, "")
    if not text:
        return SECONDS_BY_DEFAULT
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if 1 <= seconds < math.inf:
        return seconds
    raise LabError(
        f"{SECONDS}: the seconds that one run may take must be a number from 1; got {text!r}."
    )


def sharers() -> int:
    """How many workers may share this machine's memory with this process, itself counted; 1 in a
    process that no pool has started."""
    return _whole(os.environ.get(SHARERS, "")) or 1


def _whole(text: str) -> int | None:
    plain = text.strip()
    return int(plain) if plain.isascii() and plain.isdecimal() and int(plain) >= 1 else None
