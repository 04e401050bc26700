"""Every check, then every test, browser tests at the end: `make test`."""

from __future__ import annotations

import os
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import check
import chromium
import stages

NO_BROWSER = (
    "browser tests did NOT run: no Chromium was found "
    "(install the package chromium, or name a browser with CHROMIUM=...)"
)


BROWSER = ("tests/browser", "tests/cli")
"""Folders with tests that need a browser: to collect all others takes half a minute."""
TWO = ("-n", "2")
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Two processes that each calculate on both cores wait for one another a quarter of their time."""


def pytest(
    name: str, counts: Counter[str], *arguments: str, env: Mapping[str, str] = {}
) -> stages.Stage:
    """Run pytest and add what it counted; its output is shown as it comes."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", f"--junitxml={report}", *arguments]
        stage = stages.run(name, command, quiet=False, env=env)
        found = read_counts(report)
    counts.update(found)
    # A collection error counts nothing, and an empty run proves nothing.
    passed = stage.passed and found["passed"] > 0
    return replace(stage, passed=passed, note=in_words(found))


def fuzz() -> stages.Stage:
    """Broken configurations for two minutes in CI, for a moment elsewhere."""
    seconds = "120" if os.environ.get("CI") == "true" else "10"
    return stages.run("fuzz", [sys.executable, "scripts/fuzz.py", "--seconds", seconds])


def read_counts(report: Path) -> Counter[str]:
    """Passed, failed and skipped tests of a JUnit report; an error counts as failed."""
    found: Counter[str] = Counter()
    if report.exists():
        for suite in ElementTree.parse(report).iter("testsuite"):
            numbers = {key: int(suite.get(key, 0)) for key in ("tests", "failures", "errors")}
            failed = numbers["failures"] + numbers["errors"]
            skipped = int(suite.get("skipped", 0))
            found.update(passed=numbers["tests"] - failed - skipped, failed=failed, skipped=skipped)
    return found


def in_words(counts: Counter[str]) -> str:
    """``12 passed, 0 failed``, with ``, 3 skipped`` when there are any."""
    skipped = f", {counts['skipped']} skipped" if counts["skipped"] else ""
    return f"{counts['passed']} passed, {counts['failed']} failed{skipped}"


def main() -> int:
    counts: Counter[str] = Counter()
    # Fuzzing takes one core for its two minutes: beside the checks, which take the other, and then
    # beside tests that count no seconds of the clock.
    with ThreadPoolExecutor(max_workers=1) as beside:
        broken_inputs = beside.submit(fuzz)
        done = check.check()
        done.append(pytest("tests", counts, "-m", "not browser", *TWO, env=ONE_THREAD))
        done.append(broken_inputs.result())
    browser = chromium.find()
    if browser:
        shared = ("-m", "browser and not alone", *TWO, "--dist", "loadfile")
        done.append(pytest("browser", counts, *BROWSER, *shared))
        done.append(pytest("alone", counts, *BROWSER, "-m", "browser and alone"))
    print("\n" + stages.summary(done))
    print(f"browser tests ran in {browser}" if browser else NO_BROWSER)
    print(in_words(counts))
    missing = not browser and os.environ.get("CI") == "true"
    if missing:
        print("CI needs the browser tests: failed")
    return int(missing or not all(stage.passed for stage in done))


if __name__ == "__main__":
    sys.exit(main())
