"""Cases on which real tools of this field went wrong, each re-derived by its author.

``practice.json`` holds them whole: what is given, which severity, numbers and ideas are expected,
which outcomes fail the case, and why.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from posviz.configs import Report

_FILE = Path(__file__).parent / "practice.json"
CASES: Mapping[str, Mapping[str, Any]] = {
    case["id"]: case for case in json.loads(_FILE.read_text(encoding="utf-8"))["cases"]
}

LAYER_TYPES = {
    "full": "full_attention",
    "sliding": "sliding_attention",
    "global": "full_attention",
    "local": "sliding_attention",
}
"""What the cases call the layer types, and their names in a configuration."""


def given(name: str) -> Mapping[str, Any]:
    """What the case gives."""
    return CASES[name]["input"]  # type: ignore[no-any-return]


def expected(name: str) -> Mapping[str, Any]:
    """The numbers that the case expects."""
    return CASES[name]["expect"]["values"]  # type: ignore[no-any-return]


def severity(name: str) -> str:
    return str(CASES[name]["expect"]["severity"])


def near(value: Any, relative: float = 1e-6) -> Any:
    """Equal to the tolerance that the cases state."""
    return pytest.approx(value, rel=relative)


def sentences(report: Report) -> str:
    """Everything that a report says."""
    said = [diagnosis.message for diagnosis in report.diagnoses]
    said += [text for each in report.diagnoses for text in each.runtimes.values()]
    return " ".join(said)


def missing_ideas(text: str, patterns: Iterable[str]) -> list[str]:
    """The patterns that the text does not hold, whatever the case of its letters."""
    return [pattern for pattern in patterns if not re.search(pattern, text, re.IGNORECASE)]


def check_says(name: str, text: str, patterns: Sequence[str]) -> None:
    """Every idea of the case has a pattern, and the text has them all."""
    assert len(patterns) == len(CASES[name]["expect"]["say"])
    assert missing_ideas(text, patterns) == []


def value(found: Report, name: str) -> Any:
    """A number of the report under the name that a case gives it."""
    name = name.replace("global_layers", "global.layers")
    part, _, rest = name.partition(".")
    layer = LAYER_TYPES.get(part)
    name = f"{layer}.{rest}" if layer else name
    places = [found.values, *(diagnosis.values for diagnosis in found.diagnoses)]
    for place in places:
        for key in (name, rest):
            if key and key in place:
                return place[key]
    index = re.fullmatch(r"inv_freq\[(\d+)\]", rest if layer else name)
    assert index is not None, f"the report has no {name}"
    return found.model.rotation(layer).inv_freq[int(index[1])]
