"""Format, lint, types, layers, Dockerfile and generated documentation: `make check`."""

from __future__ import annotations

import sys
from pathlib import Path

import stages

BIN = Path(sys.executable).parent


def check() -> list[stages.Stage]:
    """Run every stage, also after one that failed, so that one call shows everything."""
    commands = {
        "format": [str(BIN / "ruff"), "format", "--check", "--quiet", "--diff"],
        "lint": [str(BIN / "ruff"), "check"],
        "types": [str(BIN / "mypy")],
        "layers": [str(BIN / "lint-imports")],
        "dockerfile": [str(BIN / "hadolint"), "Dockerfile"],
        "docs": [sys.executable, "-m", "posviz.docs", "--check"],
    }
    return [stages.run(name, command) for name, command in commands.items()]


if __name__ == "__main__":
    done = check()
    print(stages.summary(done))
    sys.exit(not all(stage.passed for stage in done))
