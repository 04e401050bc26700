"""What ``posviz sweep`` is asked for: by its arguments, or by a JSON file."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from posviz import lab
from posviz.cli.sources import STDIN
from posviz.lab.errors import LabError
from posviz.lab.language_model.sources import allow_paths
from posviz.lab.sweep.kept import default_folder
from posviz.lab.sweep.plan import ALONE, Sweep
from posviz.lab.sweep.run import Run, prepare
from posviz.parameters import closest, shortened

FIELDS = ("links", "lengths", "models", "text")
BOOK = Path(lab.__file__).parent / "passages" / "alice.txt"
MOST_BYTES = 10_000_000


@dataclass(frozen=True)
class Asked:
    """The arguments, None where they were not given."""

    links: list[str] | None
    lengths: list[int] | None
    models: list[str] | None
    text: Path | None


def prepared(asked: Asked, file: str | None) -> Run:
    """The sweep, with what is kept of it.

    Raises
    ------
    LabError, ParameterError : a file, a text, a model or a part of the sweep that cannot be used.
    """
    given = (asked.links, asked.lengths, asked.models, asked.text)
    if file is not None and any(one is not None for one in given):
        raise typer.BadParameter("--file stands in the place of LINK, --length, --model, --text.")
    if file is None and not asked.links:
        raise typer.BadParameter("give at least one LINK, or --file.")
    allow_paths()
    parts = _of_file(file) if file is not None else _of_arguments(asked)
    return prepare(Sweep(**parts), default_folder())


def _of_arguments(asked: Asked) -> dict[str, Any]:
    models = tuple(asked.models or (ALONE,))
    return {
        "links": tuple(asked.links or ()),
        "lengths": tuple(asked.lengths or (4096,)),
        "models": models,
        "text": _text(asked.text, models),
    }


def _of_file(name: str) -> dict[str, Any]:
    found = _json(name)
    for field in found:
        if field not in FIELDS:
            raise LabError(
                f"The sweep {name}: there is no field {shortened(field)}; {closest(field, FIELDS)}."
            )
    for field in ("links", "lengths"):
        if field not in found:
            raise LabError(f"The sweep {name}: the field {field} is missing.")
    models = found.get("models", [ALONE])
    text = found.get("text")
    if text is not None and not isinstance(text, str):
        raise LabError(f"The sweep {name}: text must be the name of a file; got {shortened(text)}.")
    beside = Path() if name == STDIN else Path(name).parent
    file = None if text is None else beside / text
    return {**found, "models": models, "text": _text(file, models)}


def _json(name: str) -> Mapping[str, Any]:
    data = sys.stdin.buffer.read(MOST_BYTES + 1) if name == STDIN else _bytes(Path(name))
    try:
        found = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise LabError(f"The sweep {name} is not JSON: {error}.") from None
    if not isinstance(found, dict):
        raise LabError(f"The sweep {name} must be a JSON object; got {shortened(found)}.")
    return found


def _text(file: Path | None, models: object) -> str:
    """What the models read; empty where there is none."""
    if models in ((ALONE,), [ALONE]):
        return ""
    if file is None:
        return _bytes(BOOK).decode()
    try:
        return _bytes(file).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise LabError(f"The text {file} is not in UTF-8.") from None


def _bytes(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            data = opened.read(MOST_BYTES + 1)
    except OSError as error:
        raise LabError(
            f"{file} cannot be read: {error.strerror or type(error).__name__}."
        ) from None
    except ValueError:  # a null byte
        raise LabError(f"{shortened(str(file))} can be the name of no file.") from None
    if len(data) > MOST_BYTES:
        raise LabError(f"{file} must have at most {MOST_BYTES:,} bytes.")
    return data
