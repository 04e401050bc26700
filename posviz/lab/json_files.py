"""JSON files of results that ship; light."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any


def write_whole(path: Path, content: Mapping[str, Any], *, allow_nan: bool = True) -> None:
    """Write a file at once or not at all; ValueError for a NaN where none is allowed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".new")
    text = json.dumps(content, ensure_ascii=False, allow_nan=allow_nan, indent=0) + "\n"
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, path)


def plain(value: Any, *, digits: int, exact: Collection[str], is_exact: bool = False) -> Any:
    """What JSON can hold: rows as lists, NaN as null, numbers of so many significant digits.

    What stands under a name in ``exact`` keeps every digit.
    """
    if isinstance(value, Mapping):
        return {
            name: plain(one, digits=digits, exact=exact, is_exact=is_exact or name in exact)
            for name, one in value.items()
        }
    if isinstance(value, list | tuple):
        return [plain(one, digits=digits, exact=exact, is_exact=is_exact) for one in value]
    if not isinstance(value, float):
        return value
    if not math.isfinite(value):
        return None
    return value if is_exact else float(f"{value:.{digits}g}")
