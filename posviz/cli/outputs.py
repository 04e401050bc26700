"""Results as a file or on standard output: CSV, JSON, NPZ."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np

from posviz.cli.arrays import Values, rows_of
from posviz.cli.exits import ERRORS, stop

Format = Literal["csv", "json", "npz"]


def as_csv(table: Mapping[str, Values]) -> bytes:
    """A header and one row each; numbers with every digit that they have."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table)
    writer.writerows(rows_of(table))
    return text.getvalue().encode()


def as_json(about: Mapping[str, Any], arrays: Mapping[str, Values]) -> bytes:
    """One object; what JSON has no number for (an infinite wavelength) is null."""
    plain = {name: _plain(values) for name, values in arrays.items()}
    return (json.dumps({**about, **plain}, ensure_ascii=False) + "\n").encode()


def as_npz(about: Mapping[str, Any], arrays: Mapping[str, Values]) -> bytes:
    """Arrays by name, as ``numpy.load`` reads them."""
    buffer = io.BytesIO()
    words = {name: np.array(value) for name, value in about.items()}
    np.savez_compressed(buffer, **words, **arrays)  # type: ignore[arg-type]
    return buffer.getvalue()


def write(data: bytes, file: str | None) -> None:
    """To the file, or to standard output for none or ``-``."""
    if file in (None, "-"):
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
        return
    assert file is not None
    try:
        Path(file).write_bytes(data)
    except OSError as error:
        stop(f"{file} cannot be written: {error.strerror or type(error).__name__}.", ERRORS)


def _plain(values: Values) -> Any:
    if values.dtype.kind != "f" or bool(np.isfinite(values).all()):
        return values.tolist()
    plain = values.astype(object)
    plain[~np.isfinite(values)] = None
    return plain.tolist()
