"""Several methods measured one after the other as one run; heavy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from posviz.configs import ConfigError, ExportError
from posviz.lab.errors import LabError
from posviz.lab.extension.passkey import grid
from posviz.lab.extension.records import LossCurve, PasskeyGrid
from posviz.lab.extension.run import measure
from posviz.lab.workers import Progress, Report
from posviz.parameters import ParameterError

R = TypeVar("R")
Several = tuple[tuple[R, ...], dict[str, str]]
"""What was measured, and by link why there is nothing of a method."""


def measure_all(report: Report, *, links: Sequence[str], **plan: Any) -> Several[LossCurve]:
    """The loss curve of every method; a method that cannot be run does not stop the others.

    ``plan`` is what :func:`posviz.lab.extension.run.measure` takes beside the link. Progress comes
    with the curves so far, the one that is being read among them.
    """
    return _each(report, links, lambda told, link: measure(told, link=link, **plan))


def grid_all(report: Report, *, links: Sequence[str], **plan: Any) -> Several[PasskeyGrid]:
    """The same for the pass keys of :func:`posviz.lab.extension.passkey.grid`."""
    return _each(report, links, lambda told, link: grid(told, link=link, **plan))


def _each(report: Report, links: Sequence[str], one: Callable[[Report, str], R]) -> Several[R]:
    found: list[R] = []
    problems: dict[str, str] = {}
    for place, link in enumerate(links):

        def told(progress: Progress, place: int = place, link: str = link) -> None:
            now = () if progress.partial is None else (progress.partial,)
            report(
                Progress(
                    done=place * progress.total + progress.done,
                    total=len(links) * progress.total,
                    note=f"{link}, {place + 1} of {len(links)}: {progress.note}",
                    partial=(*found, *now),
                )
            )

        try:
            found.append(one(told, link))
        except (ParameterError, LabError, ConfigError, ExportError) as error:
            problems[link] = str(error)
    return tuple(found), problems
