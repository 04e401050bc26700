"""``posviz table``: the numbers of an encoding."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from posviz.catalog import link as link_of
from posviz.catalog import parse
from posviz.cli import outputs
from posviz.cli.arrays import array_named, arrays_of, one_array, table_of
from posviz.cli.exits import sentences
from posviz.cli.options import Length, Link
from posviz.parameters import ParameterError, closest
from posviz.results import Result

FORMATS = ("csv", "json", "npz")
MOST_NUMBERS = 1 << 24
"""128 MB; what reads a table of more is not a person."""


def table(
    link: Link,
    length: Length = 128,
    array: Annotated[
        str | None,
        typer.Option(
            "--array", metavar="NAME", help="This array only, such as cos.", show_default=False
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Write to this file.", show_default=False
        ),
    ] = None,
    format_: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="csv|json|npz",
            help="By default that of the file's name, else csv.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Print the numbers of an encoding: CSV for a table, JSON or NPZ for every array."""
    with sentences():
        spec = parse(link)
        kind = _format(format_, output)
        _check_size(spec, length, array)
        result = spec.encode(spec.example_positions(length))
        data = _data(result, kind, array, {"link": link_of(spec), "length": length})
    outputs.write(data, output)


def _check_size(spec: Any, length: int, array: str | None) -> None:
    """Before anything is worked out: how many numbers the largest array will hold."""
    pairs_of_positions = getattr(spec, "heads", 1) * length**2
    per_position = length * max(getattr(spec, "model_dim", 0), 1)
    if array in ("matrix", "logits"):
        numbers = pairs_of_positions
    elif array in ("angles", "cos", "sin"):
        numbers = length * getattr(spec, "head_dim", 1)
    else:
        numbers = max(spec.matrix_numbers(length), per_position)
    if numbers > MOST_NUMBERS:
        raise ParameterError(
            f"{spec.title}: --length {length} would give {numbers:,} numbers; "
            f"a table holds at most {MOST_NUMBERS:,}."
        )


def _format(asked: str | None, output: str | None) -> str:
    name = asked or (Path(output).suffix.removeprefix(".") if output else "") or "csv"
    if name not in FORMATS:
        raise ParameterError(f"There is no table format {name!r:.40}; {closest(name, FORMATS)}.")
    return name


def _data(result: Result, kind: str, array: str | None, about: dict[str, str | int]) -> bytes:
    chosen = None if array is None else {array: array_named(result, array)}
    if kind == "csv":
        columns = table_of(result) if chosen is None else one_array(*next(iter(chosen.items())))
        return outputs.as_csv(columns)
    write = outputs.as_json if kind == "json" else outputs.as_npz
    return write(about, arrays_of(result) if chosen is None else chosen)
