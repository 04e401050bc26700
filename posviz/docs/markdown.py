"""Pieces of Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Cells = Iterable[str]


def table(header: Sequence[str], body: Iterable[Cells]) -> str:
    """A Markdown table; bars inside a cell are escaped.

    >>> print(table(["a", "b"], [["1", "x|y"]]))
    | a | b |
    | --- | --- |
    | 1 | x\\|y |
    """
    lines = [header, ["---"] * len(header), *body]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines
    )
