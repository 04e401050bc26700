"""Hooks that the whole test suite shares. Keep it small: fixtures belong beside their tests."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

# ---- Reference cases that cannot hold, each with its reason, in every test summary. ----

_EXCEPTIONS_FILE = Path(__file__).parent / "reference_exceptions.json"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    exceptions = json.loads(_EXCEPTIONS_FILE.read_text(encoding="utf-8"))
    terminalreporter.section("reference exceptions")
    if not exceptions:
        terminalreporter.line("none: every reference case holds within its own tolerance")
    for case, reason in exceptions.items():
        terminalreporter.line(f"{case}: {reason}")


# ---- End of the reference exceptions. ----

_MAIN = sys.modules["__main__"]


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown() -> None:
    # Streamlit's AppTest leaves its script as __main__; processes that a later test spawns would
    # import it first, and fail.
    sys.modules["__main__"] = _MAIN
