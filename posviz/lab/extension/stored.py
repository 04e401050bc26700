"""Results that ship with the package, measured once; light.

``stored/<set>.json`` holds one set: the curves and grids of several methods on one model and one
text. ``python -m posviz.lab.extension`` makes them again; numbers have six significant digits.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from posviz.lab.extension.records import MEASURED, Gap, LossCurve, Numbers, PasskeyGrid
from posviz.lab.json_files import plain, write_whole

FOLDER = Path(__file__).parent / "stored"
COMMAND = "python -m posviz.lab.extension"
"""Makes the stored results again; ``--help`` lists what can be chosen."""
DEFAULT = "smollm2_12288"
_DIGITS = 6


@dataclass(frozen=True, kw_only=True)
class Stored:
    """Results of several methods on one model and one text.

    ``about`` says what was measured and how to measure it again: model, its title, text, seed, and
    the whole command. ``gaps`` are the differences of the curves to the plain model's.
    """

    name: str
    about: Mapping[str, Any]
    curves: tuple[LossCurve, ...] = ()
    gaps: tuple[Gap, ...] = ()
    grids: tuple[PasskeyGrid, ...] = ()


def path_of(name: str) -> Path:
    return FOLDER / f"{name}.json"


def names(folder: Path = FOLDER) -> tuple[str, ...]:
    """The sets that are there."""
    return tuple(sorted(path.stem for path in folder.glob("*.json")))


@functools.cache
def stored(name: str = DEFAULT) -> Stored | None:
    """A set that ships, or None where there is none of this name."""
    path = path_of(name)
    return read(path) if path.is_file() else None


def read(path: Path) -> Stored:
    """The set in a file."""
    found = json.loads(path.read_text(encoding="utf-8"))
    return Stored(
        name=path.stem,
        about=found["about"],
        curves=tuple(curve_from(one) for one in found["curves"]),
        gaps=tuple(gap_from(one) for one in found["gaps"]),
        grids=tuple(grid_from(one) for one in found["grids"]),
    )


def write(path: Path, found: Stored) -> None:
    """Write a set at once or not at all."""
    content = {"about": dict(found.about)} | {
        kind: [asdict(one) for one in getattr(found, kind)] for kind in ("curves", "gaps", "grids")
    }
    write_whole(path, plain(content, digits=_DIGITS, exact=("rope_parameters", "facts")))


def _row(values: Sequence[Any] | None) -> Numbers:
    return tuple(math.nan if value is None else value for value in values or ())


def curve_from(kept: Mapping[str, Any]) -> LossCurve:
    """A curve from its JSON."""
    return LossCurve(**{**kept, **_rows(kept), "notes": tuple(kept["notes"])})


def gap_from(kept: Mapping[str, Any]) -> Gap:
    """A difference from its JSON."""
    return Gap(**{**kept, **_rows(kept)})


def _rows(kept: Mapping[str, Any]) -> dict[str, Any]:
    spans = {
        name: None if kept[name] is None else _row(kept[name])
        for name in ("within", "beyond", "last")
    }
    rows = {name: _row(kept[name]) for name in ("positions", "mean", "low", "high")}
    return {**rows, **spans, "counts": tuple(kept["counts"])}


def grid_from(kept: Mapping[str, Any]) -> PasskeyGrid:
    """A grid from its JSON."""
    tables = {name: tuple(_row(row) for row in kept[name]) for name in MEASURED}
    rows = {name: tuple(kept[name]) for name in ("lengths", "depths", "notes")}
    return PasskeyGrid(**{**kept, **tables, **rows})
