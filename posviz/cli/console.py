"""How things look on a terminal; plain text where there is none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

_STYLES = {"error": "bold red", "warn": "bold yellow", "info": "cyan", "ok": "green"}


_NARROWEST = 20
_WHOLE = ("layer type", "name", "code", "id", "length")
"""Columns whose cells are names, which nobody can read cut in two."""


def console(*, stderr: bool = False) -> Console:
    """A console as wide as the terminal; where that says nothing usable, 80 columns."""
    found = Console(highlight=False, stderr=stderr)
    if found.width >= _NARROWEST:
        return found
    return Console(highlight=False, stderr=stderr, width=80)


def severity(name: str) -> Text:
    """A severity in its colour, and always as a word too."""
    return Text(name, style=_STYLES[name])


def table(titles: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> Table:
    """A table without a frame, whose cells are never read as markup."""
    result = Table(box=None, pad_edge=False, header_style="bold")
    for name in titles:
        result.add_column(name, overflow="fold", no_wrap=name in _WHOLE)
    for row in rows:
        result.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    return result
