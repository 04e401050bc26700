"""The rows of a sweep: for a person, as CSV, as JSON."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from posviz.cli.console import console, table

if TYPE_CHECKING:
    from posviz.lab.sweep.run import Row

_CELL = ("model", "link", "length")


def names(rows: Sequence[Row]) -> list[str]:
    """Names of all numbers, in the order in which they first appear."""
    return list(dict.fromkeys(name for row in rows for name in row.numbers))


def show(rows: Sequence[Row]) -> None:
    """A table, and under it the reasons of the cells that have no numbers."""
    found = names(rows)
    out = console()
    lines = [
        [row.cell.model, row.cell.link, str(row.cell.length)]
        + [_short(row.numbers.get(name)) for name in found]
        for row in rows
    ]
    out.print(table([*_CELL, *found], lines))
    for row in rows:
        if row.problem:
            out.print(Text(f"{row.cell}: {row.problem}"))


def as_csv(rows: Sequence[Row]) -> bytes:
    """A header and one row each; numbers with every digit that they have."""
    found = names(rows)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*_CELL, *found, "problem"])
    for row in rows:
        cell = [row.cell.model, row.cell.link, row.cell.length]
        writer.writerow([*cell, *(row.numbers.get(name, "") for name in found), row.problem])
    return text.getvalue().encode()


def as_json(rows: Sequence[Row]) -> bytes:
    """One object per row; what JSON has no number for is null."""
    plain = [
        {
            "model": row.cell.model,
            "link": row.cell.link,
            "length": row.cell.length,
            "numbers": {name: _finite(value) for name, value in row.numbers.items()},
            "facts": dict(row.facts),
            "seconds": row.seconds,
            "problem": row.problem,
        }
        for row in rows
    ]
    return (json.dumps({"rows": plain}, indent=2, ensure_ascii=False) + "\n").encode()


def _short(value: float | None) -> str:
    if value is None:
        return "—"
    return f"{value:.0f}" if float(value).is_integer() else f"{value:.5g}"


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value
