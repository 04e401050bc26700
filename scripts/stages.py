"""Runs the stages of a check one after the other and sums them up, one line a stage."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Stage:
    """What came of one stage; ``note`` says what passed or failed alone cannot."""

    name: str
    passed: bool
    seconds: float
    note: str = ""

    @property
    def line(self) -> str:
        outcome = "passed" if self.passed else "FAILED"
        return f"{self.name:<12}{outcome}{self.seconds:>8.1f} s  {self.note}".rstrip()


def run(
    name: str, command: Sequence[str], *, quiet: bool = True, env: Mapping[str, str] = {}
) -> Stage:
    """Run one command from the repository's root; a quiet one shows its output when it fails.

    ``env`` is what its environment has beside that of this process.
    """
    print(f"{name} ...", flush=True)
    started = time.monotonic()
    result = subprocess.run(
        command,
        cwd=ROOT,
        check=False,
        env={**os.environ, **env},
        text=True,
        stdout=subprocess.PIPE if quiet else None,
        stderr=subprocess.STDOUT if quiet else None,
    )
    if result.returncode and quiet:
        print(result.stdout, flush=True)
    return Stage(name, result.returncode == 0, time.monotonic() - started)


def summary(stages: Sequence[Stage]) -> str:
    """One line a stage."""
    return "\n".join(stage.line for stage in stages)
