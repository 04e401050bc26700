"""Curves that ship: read, and written by ``python -m posviz.lab.training``.

A file is one training: ``stored/<task>/<link>_<seed>.json``; extension without fine-tuning is
``stored/extension/<task>_<seed>.json``. Numbers have five significant digits; null stands for NaN.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from posviz.lab.json_files import plain, write_whole
from posviz.lab.training.trained import Extended, Trained

FOLDER = Path(__file__).parent / "stored"
RECIPE = 1
"""Raised whenever the code changes the numbers that come out: older files are then made again."""
COMMAND = "python -m posviz.lab.training"
"""Makes the stored curves again; ``--help`` lists what can be chosen."""
_DIGITS = 5


def stored(task: str, link: str, seed: int = 0) -> Trained | None:
    """The stored training of this encoding on this task, or None."""
    return next((one for one in stored_for(task, seed) if one.link == link), None)


@functools.cache
def stored_for(task: str, seed: int = 0) -> tuple[Trained, ...]:
    """All stored trainings on a task with this seed, by link."""
    files = sorted((FOLDER / task).glob(f"*_{seed}.json"))
    return tuple(_trained(read(path)) for path in files)


@functools.cache
def stored_extension(task: str, seed: int = 0) -> Extended | None:
    """The stored extension without fine-tuning of a model trained on this task, or None."""
    path = FOLDER / "extension" / f"{task}_{seed}.json"
    return _extended(read(path)) if path.exists() else None


def file_of(task: str, link: str, seed: int) -> Path:
    """Where a training is stored; a link's values become part of the name."""
    name = link.replace("?", "-").replace("&", "-").replace("=", "-")
    return FOLDER / task / f"{name}_{seed}.json"


def is_current(path: Path, plan: Mapping[str, Any]) -> bool:
    """Whether a file holds a whole result of this plan, made by this code.

    How long a training may take changes nothing in one that came to its end.
    """
    if not path.exists():
        return False
    kept = read(path)
    is_cut = any("was cut" in note or "was ended" in note for note in kept["notes"])
    same_plan = _without_limit(kept["plan"]) == _without_limit(plan)
    return kept["recipe"] == RECIPE and same_plan and not is_cut


def _without_limit(plan: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in plan.items() if name != "most_seconds"}


def read(path: Path) -> dict[str, Any]:
    found = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(found, dict)
    return found


def write(path: Path, result: Trained | Extended) -> None:
    """Write a result at once or not at all."""
    # NaN is null; a plan is kept as it is.
    numbers = plain(asdict(result), digits=_DIGITS, exact=("plan",))
    write_whole(path, {"recipe": RECIPE, **numbers})


def _row(values: Iterable[Any]) -> tuple[float, ...]:
    return tuple(math.nan if value is None else value for value in values)


def _trained(kept: dict[str, Any]) -> Trained:
    kept.pop("recipe")
    rows = {name: _row(kept[name]) for name in ("loss", "positions", "by_position")}
    tables = {
        name: {variant: _row(row) for variant, row in kept[name].items()}
        for name in ("scores", "answers", "low", "high")
    }
    return Trained(
        **{
            **kept,
            **rows,
            **tables,
            "steps": tuple(kept["steps"]),
            "lengths": tuple(kept["lengths"]),
            "notes": tuple(kept["notes"]),
        }
    )


def _extended(kept: dict[str, Any]) -> Extended:
    kept.pop("recipe")
    tables = {
        name: {method: _row(row) for method, row in kept[name].items()}
        for name in ("loss", "at_end", "right", "at_training_length", "curves")
    }
    rows = {name: _row(kept[name]) for name in ("factors", "positions")}
    return Extended(**{**kept, **tables, **rows, "notes": tuple(kept["notes"])})
