"""What ships of observations made once: drawn before a run, and where no model is installed; light.

``stored/<name>.json`` holds one record; ``python -m posviz.lab.language_model`` makes them again.
Arrays are kept as base64 of their deflated bytes: short ones in single precision, longer ones in
half precision, and the longest, which are drawn and not computed with, with 8 bits of each number.
"""

from __future__ import annotations

import base64
import functools
import json
import zlib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from posviz.lab.json_files import write_whole
from posviz.lab.language_model.records import HeadMap, Observation, Permuted, QueriesKeys

FOLDER = Path(__file__).parent / "stored"
COMMAND = "python -m posviz.lab.language_model"
"""Makes the stored observations again."""
KEPT: Mapping[str, type] = {
    "observation": Observation,
    "head_map": HeadMap,
    "queries_keys": QueriesKeys,
    "permuted": Permuted,
}
"""Name of a file to the record in it: the default text, head and order of the page."""
_HALVES = 4096
"""Numbers of an array from which on it is kept in half precision, to 1 part in 2,000."""
_COARSE = 100_000
"""Numbers of an array from which on each is kept to 1 part in 230."""
_DROPPED = 3
"""Bits of a half that a coarse number does without."""
_DIGITS = 6

R = TypeVar("R")


def stored(record: type[R]) -> R | None:
    """The record of this type that ships, or None where there is none."""
    name = next(name for name, kept in KEPT.items() if kept is record)
    found = _read(name)
    assert found is None or isinstance(found, record)
    return found


@functools.cache
def _read(name: str) -> Any:
    path = FOLDER / f"{name}.json"
    return read(path, KEPT[name]) if path.is_file() else None


def read(path: Path, record: type[R]) -> R:
    """The record in a file."""
    kept = json.loads(path.read_text(encoding="utf-8"))
    return record(**{field.name: _made(kept[field.name]) for field in fields(record)})  # type: ignore[arg-type]


def write(path: Path, record: Any) -> None:
    """Write a record at once or not at all."""
    write_whole(path, {one.name: _plain(getattr(record, one.name)) for one in fields(record)})


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return _packed(value)
    if isinstance(value, Mapping):
        return {"mapping": {name: _plain(one) for name, one in value.items()}}
    if isinstance(value, tuple):
        return {"row": [_plain(one) for one in value]}
    if isinstance(value, float | np.floating):
        return float(f"{value:.{_DIGITS}g}")
    return value


def _packed(array: np.ndarray) -> dict[str, Any]:
    shape = list(array.shape)
    if array.dtype.kind != "f":
        return {"shape": shape, "numbers": array.ravel().tolist()}
    kind = "<f4" if array.size < _HALVES else "<f2"
    numbers = np.ascontiguousarray(array, dtype=kind).ravel()
    if array.size >= _COARSE:
        half = np.uint16(1 << (_DROPPED - 1))
        mask = np.uint16(0xFFFF << _DROPPED & 0xFFFF)
        numbers = ((numbers.view("<u2") + half) & mask).view("<f2")
    # All first bytes, then all second ones: likes stand together and deflate to less.
    planes = numbers.view(np.uint8).reshape(-1, numbers.itemsize).T.tobytes()
    packed = base64.b64encode(zlib.compress(planes, 9)).decode()
    return {"shape": shape, "kind": kind, "packed": packed}


def _made(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "mapping" in value:
        return {name: _made(one) for name, one in value["mapping"].items()}
    if "row" in value:
        return tuple(_made(one) for one in value["row"])
    if "numbers" in value:
        return np.asarray(value["numbers"]).reshape(value["shape"])
    kind = np.dtype(value["kind"])
    planes = np.frombuffer(zlib.decompress(base64.b64decode(value["packed"])), dtype=np.uint8)
    numbers = planes.reshape(kind.itemsize, -1).T.copy().view(kind)
    return numbers.astype(np.float32).reshape(value["shape"])
