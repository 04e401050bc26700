"""``posviz list``: the encodings, the model presets, the runtimes, the codes of diagnoses."""

from __future__ import annotations

import json
from typing import Annotated, Literal

import typer

from posviz import configs, families
from posviz.catalog import catalog
from posviz.cli.console import console, table
from posviz.cli.exits import sentences
from posviz.configs.writers import TITLES
from posviz.parameters import ParameterError, closest

What = Literal["encodings", "presets", "runtimes", "codes"]
Rows = list[dict[str, str]]


def list_(
    what: Annotated[What, typer.Argument(help="What to list.")] = "encodings",
    family: Annotated[
        str | None,
        typer.Option("--family", metavar="NAME", help="Encodings of this family only."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List encodings, model presets, runtimes or the codes of diagnoses."""
    if family is not None and what != "encodings":
        raise typer.BadParameter("--family belongs to the list of encodings.")
    with sentences():
        rows = _ROWS[what](family)
    if as_json:
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    console().print(table(list(rows[0]), ([*row.values()] for row in rows)))


def _encodings(family: str | None) -> Rows:
    if family is not None and family not in families():
        raise ParameterError(f"There is no family {family!r}; {closest(family, list(families()))}.")
    return [
        {"id": each.id, "title": each.title, "family": each.family, "year": str(each.year)}
        for each in catalog()
        if family in (None, each.family)
    ]


def _presets(family: str | None) -> Rows:
    return [
        {"id": f"preset:{each.id}", "name": each.name, "window": str(each.window)}
        for each in configs.presets()
    ]


def _runtimes(family: str | None) -> Rows:
    return [{"id": name, "title": title} for name, title in TITLES.items()]


def _codes(family: str | None) -> Rows:
    return [{"code": code, "what it is about": text} for code, text in configs.CODES.items()]


_ROWS = {"encodings": _encodings, "presets": _presets, "runtimes": _runtimes, "codes": _codes}
