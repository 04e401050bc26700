"""``posviz check`` and ``posviz fix``: examine configurations, and apply what is suggested."""

from __future__ import annotations

import json
import shlex
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from posviz import configs
from posviz.cli.console import console, severity, table
from posviz.cli.exits import NOT_READABLE, OF_SEVERITY, USAGE, sentences, stop
from posviz.cli.options import File, Runtime, TargetLength
from posviz.cli.sources import read_once, source, title
from posviz.configs import ConfigError, Diagnosis, Report
from posviz.configs.numbers import value_text
from posviz.configs.writers import TITLES


def check(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...",
            help="config.json or .gguf files; - for standard input, preset:ID for a known model.",
        ),
    ],
    runtime: Runtime = None,
    target_length: TargetLength = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the report as JSON, one object for each file.")
    ] = False,
    numbers: Annotated[
        bool, typer.Option("--numbers", help="Print every resolved number and its origin too.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Leave out what is ok or only good to know.")
    ] = False,
) -> None:
    """Examine model configurations; say what is right, odd or wrong, and what to change.

    The exit code is that of the gravest file: 0 fine, 1 warnings, 2 errors, 3 not readable.
    """
    read_once(files)
    gravest, printed = 0, []
    for name in files:
        try:
            report = configs.check(source(name), runtime=runtime, target_length=target_length)
        except ConfigError as error:
            gravest = max(gravest, NOT_READABLE)
            printed.append({"file": name, "unreadable": str(error)})
            if not as_json:
                typer.echo(f"posviz: {title(name)}: {error}", err=True)
            continue
        gravest = max(gravest, OF_SEVERITY[report.severity])
        printed.append({"file": name, **report.as_dict()})
        if not as_json:
            _print(name, report, numbers=numbers, quiet=quiet)
    if as_json:
        found: Any = printed[0] if len(files) == 1 else printed
        typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
    raise typer.Exit(gravest)


def fix(
    file: File,
    codes: Annotated[
        list[str] | None,
        typer.Option("--code", metavar="PV…", help="Apply these only; may be given several times."),
    ] = None,
    runtime: Runtime = None,
    target_length: TargetLength = None,
) -> None:
    """Print the configuration with the changes that `posviz check` suggests."""
    with sentences():
        report = configs.check(source(file), runtime=runtime, target_length=target_length)
    with sentences(unreadable=USAGE):
        changes = report.changes(*(codes or ()))
    names = {} if report.model.gguf is None else report.model.gguf.names
    for each in changes.made:
        typer.echo(f"posviz: {each.code}: {each.change(names)}.", err=True)
    for each in changes.left_out:
        typer.echo(
            f"posviz: {each.code} was left out, since it does not go with the changes above: check "
            "the result.",
            err=True,
        )
    if report.model.gguf is not None:
        stop(
            "This is a GGUF file, whose metadata this command does not write: change the keys "
            "above with llama.cpp's --override-kv, or convert the model again."
        )
    if not changes.made:
        typer.echo("posviz: No diagnosis suggests a change; this is the file as it was.", err=True)
    typer.echo(json.dumps(changes.config, indent=2, ensure_ascii=False))


def _print(name: str, report: Report, *, numbers: bool, quiet: bool) -> None:
    out = console()
    # A path is not broken into lines, so that it can be picked up whole.
    out.print(Text.assemble(title(name), ": ", severity(report.severity)), soft_wrap=True)
    shown = [each for each in report.diagnoses if not (quiet and each.severity in ("ok", "info"))]
    lines = Table.grid(padding=(0, 1))
    for each in shown:
        lines.add_row("", severity(each.severity), Text(each.code), _body(each, report))
    out.print(lines)
    hides = any(each.severity == "error" for each in shown) and not report.model.gguf
    if hides and any(each.patch for each in shown if each.severity == "error"):
        out.print(Text("  What follows from these numbers is looked at once they are right:"))
        out.print(Text(f"  posviz fix {shlex.quote(name)} | posviz check -"), soft_wrap=True)
    if numbers:
        out.print(_numbers(report))


def _body(diagnosis: Diagnosis, report: Report) -> Text:
    where = f"({diagnosis.layer_type}) " if diagnosis.layer_type else ""
    lines = [Text(f"{where}{diagnosis.message}")]
    lines += [
        Text(f"{TITLES.get(runtime, runtime)}: {sentence}", style="dim")
        for runtime, sentence in diagnosis.unsaid.items()
    ]
    if diagnosis.patch:
        names = {} if report.model.gguf is None else report.model.gguf.names
        lines.append(Text(f"Suggested: {diagnosis.change(names)}."))
    return Text("\n").join(lines)


def _numbers(report: Report) -> Any:
    several = len(report.model.layer_types) > 1
    titles = [*(["layer type"] if several else []), "name", "value", "origin"]
    rows = [
        [
            *([row.layer_type or "all"] if several else []),
            row.name,
            value_text(row.value),
            row.origin,
        ]
        for row in report.model.resolved
    ]
    return table(titles, rows)


__all__ = ["check", "fix"]
