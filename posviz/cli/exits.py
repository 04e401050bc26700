"""Exit codes, and how a sentence about what went wrong reaches the person."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import typer

from posviz.configs import ConfigError, ExportError
from posviz.lab.errors import LabError
from posviz.parameters import ParameterError

FINE, WARNINGS, ERRORS, NOT_READABLE, USAGE, NOT_WRITTEN = 0, 1, 2, 3, 64, 74
"""What ``posviz check`` ends with; 64 (EX_USAGE) is a wrong option, so that 2 means one thing, and
74 (EX_IOERR) an output that cannot be written."""
INTERRUPTED = 130
"""What a shell sees of a program that Ctrl-C has ended: 128 + SIGINT."""
OF_SEVERITY = {"ok": FINE, "info": FINE, "warn": WARNINGS, "error": ERRORS}


def stop(sentence: str, code: int = ERRORS) -> NoReturn:
    """End with a sentence on standard error."""
    typer.echo(f"posviz: {sentence}", err=True)
    raise typer.Exit(code)


@contextmanager
def sentences(unreadable: int = NOT_READABLE) -> Iterator[None]:
    """What cannot be used ends the command with its sentence, never with a traceback."""
    try:
        yield
    except ConfigError as error:
        stop(str(error), unreadable)
    except (ExportError, LabError, ParameterError) as error:
        stop(str(error), ERRORS)
