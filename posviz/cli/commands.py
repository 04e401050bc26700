"""The commands, their examples, and the one place where a usage mistake gets its exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import typer

from posviz.cli.catalog import list_
from posviz.cli.check import check, fix
from posviz.cli.compare import compare
from posviz.cli.exits import NOT_WRITTEN, USAGE
from posviz.cli.export import export
from posviz.cli.plot import plot
from posviz.cli.serve import serve
from posviz.cli.solve import app as solve
from posviz.cli.sweep import sweep
from posviz.cli.table import table

app = typer.Typer(
    name="posviz",
    help="Positional encodings at the command line: check a model's configuration, write settings "
    "for a runtime, solve for lengths and bases, print and plot encodings.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

_EXAMPLES: dict[Callable[..., Any], str] = {
    check: """
    posviz check config.json
    posviz check config.json --runtime vllm --target-length 131072
    posviz check model.gguf --json
    cat config.json | posviz check -
    """,
    fix: """
    posviz fix config.json > better.json
    posviz fix config.json --code PV113 --code PV120
    posviz fix config.json --target-length 65536
    """,
    compare: """
    posviz compare a.json b.json
    posviz compare preset:qwen2.5-7b-yarn config.json --length 32768 --json
    """,
    export: """
    posviz export config.json --to vllm
    posviz export config.json --to llama_cpp --target-length 65536
    posviz export preset:qwen3-0.6b --to transformers --link yarn --target-length 131072
    """,
    table: """
    posviz table 'yarn?scaling_factor=8'
    posviz table alibi --length 512 -o alibi.npz
    posviz table rope --array cos --length 16 --format json
    """,
    plot: """
    posviz plot 'yarn?scaling_factor=8' -o yarn.html
    posviz plot rope 'linear?scaling_factor=4' 'yarn?scaling_factor=4' -o three.svg
    posviz plot alibi --list
    """,
    list_: """
    posviz list
    posviz list presets
    posviz list codes --json
    """,
    sweep: """
    posviz sweep rope 'yarn?scaling_factor=4' alibi --length 4096 --length 32768
    posviz sweep rope 'yarn?scaling_factor=2' --length 12288 --model smollm2 -o losses.csv
    posviz sweep --file sweep.json --scheduler tcp://HOST:8786
    """,
    serve: """
    posviz serve
    posviz serve --port 8080 --host 0.0.0.0
    """,
}


def _add(command: Callable[..., Any], name: str) -> None:
    examples = "\n".join(line.strip() for line in _EXAMPLES[command].strip().splitlines())
    app.command(name, epilog=f"\b\nExamples:\n{examples}")(command)


for _command in _EXAMPLES:
    _add(_command, _command.__name__.rstrip("_"))
app.add_typer(solve, name="solve")


# A wrong option would end with 2 too, which is what `check` says of a configuration.
typer.BadParameter.__bases__[0].exit_code = USAGE  # type: ignore[attr-defined]


def run() -> None:
    """Run the command that the arguments name."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal that has no Greek letters shows their code points.
            stream.reconfigure(errors="backslashreplace")
    try:
        app()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        print(f"posviz: The output cannot be written: {reason}.", file=sys.stderr)
        # What could not be written must not be tried again when Python ends.
        os._exit(NOT_WRITTEN)
