"""``posviz sweep``: links × lengths × models as one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from posviz.cli import outputs
from posviz.cli.exits import ERRORS, INTERRUPTED, WARNINGS, sentences, stop
from posviz.parameters import ParameterError

if TYPE_CHECKING:
    from posviz.lab.sweep.run import Row, Run

FORMATS = ("csv", "json")


def sweep(
    links: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[LINK...]",
            help="Encodings such as 'yarn?scaling_factor=8'. In a model, what a link leaves out is "
            "the model's own.",
            show_default=False,
        ),
    ] = None,
    length: Annotated[
        list[int] | None,
        typer.Option(
            "--length",
            metavar="N",
            min=1,
            max=1 << 22,
            help="A context length in tokens; give it once for each. [default: 4096]",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="NAME",
            help="smollm2, or the path of a model's folder or GGUF file: its loss with each link. "
            "none measures the encodings alone, without any model. [default: none]",
            show_default=False,
        ),
    ] = None,
    text: Annotated[
        Path | None,
        typer.Option(
            "--text",
            metavar="FILE",
            help="What the models read, in UTF-8; by default a book of 120,000 characters.",
            show_default=False,
        ),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(
            "--file",
            metavar="FILE",
            help='The sweep as JSON in the place of all of these: {"links": [...], "lengths": '
            '[...], "models": [...], "text": "FILE"}; - for standard input.',
            show_default=False,
        ),
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(
            "--processes",
            metavar="N",
            min=1,
            max=4096,
            help="How many cells are measured at once; by default as many as there are cores.",
            show_default=False,
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            metavar="ADDRESS",
            help="Measure on the workers of this Dask cluster, such as tcp://HOST:8786.",
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
    output: Annotated[
        str | None,
        typer.Option(
            "-o", "--output", metavar="FILE", help="Write to this file.", show_default=False
        ),
    ] = None,
) -> None:
    """Measure encodings at many lengths, alone or in language models, as one table.

    An encoding alone: entropy of its weights (nats), reach (tokens that hold 99 % of the weight),
    needle (weight of one matching key half-way back) and short_range_cost of a rotation; in a
    model: loss_within and loss_beyond its trained window (nats per token).

    A cell that was measured is kept and never measured again: a sweep that was ended goes on where
    it was. The exit code is 0 when every cell has its numbers, 1 when some have not, 2 when none
    has, and 130 after Ctrl-C.
    """
    if as_json and as_csv:
        raise typer.BadParameter("--json and --csv exclude each other.")
    if scheduler is not None and processes is not None:
        raise typer.BadParameter("--processes is for this machine; a scheduler has its own.")
    from posviz.cli import sweep_input  # the lab is loaded only where it is needed

    asked = sweep_input.Asked(links, length, model, text)
    with sentences():
        kind = _format(as_json, as_csv, output)
        run = sweep_input.prepared(asked, file)
        rows = _finished(run, processes, scheduler)
    if run.kept.problem:
        typer.echo(f"posviz: {run.kept.problem}", err=True)
    _print(rows, kind, output)
    missing = sum(bool(row.problem) for row in rows)
    if missing:
        raise typer.Exit(ERRORS if missing == len(rows) else WARNINGS)


def _format(as_json: bool, as_csv: bool, output: str | None) -> str:
    """How the rows are written; empty for a table on the terminal."""
    if as_json or as_csv:
        return "json" if as_json else "csv"
    if output in (None, "-"):
        return ""
    assert output is not None
    kind = Path(output).suffix.removeprefix(".").lower()
    if kind not in FORMATS:
        raise ParameterError(
            f"The name of the file must end in .csv or .json, or --csv or --json must be given; "
            f"got {output!r:.60}."
        )
    return kind


def _finished(run: Run, processes: int | None, scheduler: str | None) -> tuple[Row, ...]:
    from posviz.cli.sweep_progress import Lines

    try:
        with Lines(run) as lines:
            return run.finish(processes=processes, scheduler=scheduler, tell=lines.tell)
    except KeyboardInterrupt:
        rest = run.kept.problem or "They are kept; the same command goes on from there."
        stop(
            f"Ended. {len(run.measured)} of {len(run.tasks)} cells are measured. {rest}",
            INTERRUPTED,
        )


def _print(rows: tuple[Row, ...], kind: str, output: str | None) -> None:
    from posviz.cli import sweep_table

    if kind == "":
        sweep_table.show(rows)
    else:
        write = sweep_table.as_json if kind == "json" else sweep_table.as_csv
        outputs.write(write(rows), output)
