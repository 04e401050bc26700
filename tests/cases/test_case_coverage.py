"""Every case of practice is asked about, and in full."""

from __future__ import annotations

import re
from pathlib import Path

from tests.cases.practice import CASES
from tests.cases.test_case_configs import SAYS

_HERE = Path(__file__).parent
_TOLD = re.compile(r'check_says\(\s*"(B\d+)"')


def test_every_case_is_tested() -> None:
    text = " ".join(path.read_text(encoding="utf-8") for path in _HERE.glob("test_case_*.py"))
    assert [name for name in CASES if f'"{name}"' not in text] == []


def test_every_case_with_something_to_say_is_asked_for_it() -> None:
    asked = {
        name
        for path in _HERE.glob("test_case_*.py")
        for name in _TOLD.findall(path.read_text(encoding="utf-8"))
    }
    silent = {name for name, case in CASES.items() if not case["expect"]["say"]}
    assert set(CASES) - silent <= asked | set(SAYS)


def test_there_are_45_cases() -> None:
    assert len(CASES) == 45
    for case in CASES.values():
        assert set(case) == {"id", "input", "expect", "why"}
        assert case["expect"]["severity"] in ("ok", "info", "warn", "error")
