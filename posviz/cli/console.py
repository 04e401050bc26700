"""How things look on a terminal; plain text where there is none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

_STYLES = {"error": "bold red", "warn": "bold yellow", "info": "cyan", "ok": "green"}


def console(*, err: bool = False) -> Console:
    """A console that keeps whole words, values and long settings together."""
    return Console(stderr=err, highlight=False, soft_wrap=False)


def severity(name: str) -> Text:
    """A severity in its colour, and always as a word too."""
    return Text(name, style=_STYLES[name])


def table(titles: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> Table:
    """A table without a frame, whose cells are never read as markup."""
    result = Table(box=None, pad_edge=False, header_style="bold")
    for name in titles:
        result.add_column(name, overflow="fold")
    for row in rows:
        result.add_row(*(cell if isinstance(cell, Text) else Text(cell) for cell in row))
    return result
