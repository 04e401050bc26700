"""``posviz check`` and ``posviz fix``: examine configurations, and apply what is suggested."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.padding import Padding
from rich.text import Text

from posviz import configs
from posviz.cli.console import console, severity, table
from posviz.cli.exits import NOT_READABLE, OF_SEVERITY, sentences
from posviz.cli.options import File, Runtime, TargetLength
from posviz.cli.sources import source, title
from posviz.configs import ConfigError, Diagnosis, Report
from posviz.configs.numbers import value_text


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
        changed = report.patched(*(codes or ()))
    chosen = [each for each in report.diagnoses if each.patch and (not codes or each.code in codes)]
    for each in chosen:
        typer.echo(f"posviz: {each.code}: {_patch_text(each)}", err=True)
    if not chosen:
        typer.echo("posviz: No diagnosis suggests a change; this is the file as it was.", err=True)
    typer.echo(json.dumps(changed, indent=2, ensure_ascii=False))


def _print(name: str, report: Report, *, numbers: bool, quiet: bool) -> None:
    out = console()
    out.print(Text.assemble(title(name), ": ", severity(report.severity)))
    for each in report.diagnoses:
        if quiet and each.severity in ("ok", "info"):
            continue
        where = f" ({each.layer_type})" if each.layer_type else ""
        out.print(Text.assemble("  ", severity(each.severity), f" {each.code}{where}  "), end="")
        out.print(Text(each.message))
        for runtime, sentence in each.runtimes.items():
            out.print(Padding(Text(f"{runtime}: {sentence}", style="dim"), (0, 0, 0, 8)))
        if each.patch:
            out.print(Padding(Text(f"Suggested: {_patch_text(each)}"), (0, 0, 0, 8)))
    if numbers:
        out.print(_numbers(report))


def _patch_text(diagnosis: Diagnosis) -> str:
    """The suggested change in words."""
    parts = []
    for operation in diagnosis.patch:
        key = operation["path"].removeprefix("/").replace("/", ".")
        if operation["op"] == "remove":
            parts.append(f"remove {key}")
        else:
            parts.append(f"set {key} to {json.dumps(operation['value'], ensure_ascii=False)}")
    return "; ".join(parts) + "."


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
