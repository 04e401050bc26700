"""What must hold of the doctor whatever it is given."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

from posviz import configs
from posviz.configs import ConfigError, Report

LONGEST_SENTENCE = 2000
LONGEST_TIME = 5.0
"""Seconds for one input, also on a busy machine; one takes milliseconds."""


def judge(given: Any, draw: random.Random) -> str:
    """Examine one input; an AssertionError says what was wrong. Returns what came of it."""
    question = {
        "runtime": draw.choice((None, *configs.RUNTIMES)),
        "target_length": draw.choice((None, None, 1, 4096, 131072, 1 << 30)),
    }
    started = time.monotonic()
    try:
        report = configs.check(given, **question)
    except ConfigError as error:
        _check_sentence(str(error))
        outcome = "refused"
    else:
        _check_report(report)
        outcome = report.severity
    taken = time.monotonic() - started
    assert taken < LONGEST_TIME, f"took {taken:.1f} s"
    return outcome


def _check_report(report: Report) -> None:
    text = json.dumps(report.as_dict(), allow_nan=False)
    assert json.loads(text)["severity"] == report.severity
    for diagnosis in report.diagnoses:
        assert diagnosis.code in configs.CODES
        _check_sentence(diagnosis.message)
        for sentence in diagnosis.runtimes.values():
            _check_sentence(sentence)
        if diagnosis.patch:
            _check_change(configs.applied(dict(report.model.config), diagnosis.patch))
    _check_change(report.patched())


def _check_change(config: dict[str, Any]) -> None:
    """A suggested change must leave a configuration, or at least something that says why not."""
    try:
        configs.read(config)
    except ConfigError as error:
        _check_sentence(str(error))


def _check_sentence(text: str) -> None:
    assert text.strip(), "an empty sentence"
    assert "\n" not in text, f"more than one line: {text!r:.200}"
    assert text.rstrip().endswith((".", "…")), f"no sentence: {text!r:.200}"
    assert len(text) <= LONGEST_SENTENCE, f"{len(text)} characters: {text!r:.200}"
    for word in ("Traceback", "object at 0x", "<class "):
        assert word not in text, f"not for people: {text!r:.200}"


def seeds() -> list[dict[str, Any]]:
    """Configurations to start from: released models, cases of practice, the documented examples."""
    from posviz.configs.checks.examples import examples

    data = Path(__file__).parents[1] / "cases" / "practice.json"
    cases = json.loads(data.read_text(encoding="utf-8"))["cases"]
    found = [dict(preset.config) for preset in configs.presets()]
    found += [case["input"]["config"] for case in cases if "config" in case["input"]]
    found += [dict(each.config) for each in examples().values() if not isinstance(each.config, str)]
    return found
