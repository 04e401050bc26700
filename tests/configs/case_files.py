"""Reads the data files beside these tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data"


def cases(name: str) -> list[dict[str, Any]]:
    """The cases of a data file; a file's own tolerance is given to each case without one."""
    content = json.loads((DATA / name).read_text(encoding="utf-8"))
    shared = content.get("tol")
    return [{"tol": shared, **case} for case in content["cases"]]


def by_id(name: str) -> dict[str, dict[str, Any]]:
    return {case["id"]: case for case in cases(name)}
