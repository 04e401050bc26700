"""The command as a person runs it, in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from posviz.cli.commands import app

Run = Callable[..., Result]


@pytest.fixture
def run() -> Run:
    """``run("check", "config.json")``: exit code, standard output and standard error apart."""
    runner = CliRunner()

    def command(*words: str, stdin: str | bytes | None = None) -> Result:
        return runner.invoke(app, list(words), input=stdin, catch_exceptions=False)

    return command


@pytest.fixture
def config_file(tmp_path: Path) -> Callable[[Any], str]:
    """Writes a configuration, or a text, and gives the path."""

    def written(config: Any, name: str = "config.json") -> str:
        path = tmp_path / name
        path.write_text(config if isinstance(config, str) else json.dumps(config))
        return str(path)

    return written
