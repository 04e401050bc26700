"""``posviz compare``: two configurations side by side."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.text import Text

from posviz import configs
from posviz.cli.console import console, table
from posviz.cli.exits import USAGE, sentences
from posviz.cli.options import LayerType
from posviz.cli.sources import model_of, read_once
from posviz.configs import Comparison
from posviz.configs.comparison_words import sentences as measured
from posviz.configs.numbers import value_text

_HELP = "A config.json or .gguf file; - for standard input, preset:ID for a known model."


def compare(
    a: Annotated[str, typer.Argument(metavar="A", help=_HELP)],
    b: Annotated[str, typer.Argument(metavar="B", help=_HELP)],
    length: Annotated[
        int | None,
        typer.Option(
            "--length",
            metavar="N",
            help="Up to which distance scores are compared; by default the larger window.",
            show_default=False,
        ),
    ] = None,
    layer_type: LayerType = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Print the numbers that are equal too.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """The differences of two configurations: in their numbers, and in what these do."""
    read_once([a, b])
    with sentences():
        models = model_of(a), model_of(b)
    with sentences(unreadable=USAGE):  # both are read: what is wrong now is the question
        found = configs.compare(*models, layer_type=layer_type, length=length)
    if as_json:
        typer.echo(json.dumps(found.as_dict(), indent=2, ensure_ascii=False))
        return
    _print(found, everything=everything)


def _print(found: Comparison, *, everything: bool) -> None:
    out = console()
    shown = found.rows if everything else found.differing
    if shown:
        rows = [
            [
                row.layer_type or "all",
                row.name,
                value_text(row.value_a) if row.origin_a else "—",
                value_text(row.value_b) if row.origin_b else "—",
            ]
            for row in shown
        ]
        out.print(table(["layer type", "name", "A", "B"], rows))
    else:
        out.print("No number differs.")
    for note in found.notes:
        out.print(Text(note))
    for each in found.layers:
        out.print(Text(f"Layers of type {each.layer_type}:", style="bold"))
        for sentence in (*measured(each, found.length or 1), *each.notes):
            out.print(Text(f"  {sentence}"))
