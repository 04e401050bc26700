"""``posviz serve``: the app starts from the command, and an installation brings its files."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
import tomllib
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from posviz.cli import serve

ROOT = Path(__file__).resolve().parents[2]


def test_the_app_is_found_in_the_repository() -> None:
    assert serve.home() == ROOT


def test_an_installation_brings_the_app_its_pages_and_its_settings() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for folder, patterns in project["tool"]["setuptools"]["data-files"].items():
        place = Path(folder.removeprefix("share/posviz").removeprefix("/"))
        for pattern in patterns:
            found = list(ROOT.glob(pattern))
            assert found, pattern
            assert all(file.parent == ROOT / place for file in found)
    assert set(project["tool"]["setuptools"]["data-files"]) == {
        "share/posviz",
        "share/posviz/.streamlit",
        "share/posviz/pages",
    }


def test_a_missing_app_is_a_sentence(monkeypatch, tmp_path: Path, capsys) -> None:
    monkeypatch.setattr(serve, "__file__", str(tmp_path / "a" / "b" / "serve.py"))
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    with pytest.raises(Exception) as stopped:  # noqa: PT011  typer's own Exit
        serve.home()
    assert stopped.value.exit_code == 2
    assert "app.py was found neither in" in capsys.readouterr().err


def test_the_command_serves_the_app_and_a_signal_ends_it(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    code = "from posviz.cli import main; main()"
    command = [sys.executable, "-c", code, "serve", "--port", str(port)]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        assert _health(port, until=time.monotonic() + 60) == b"ok"
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def _health(port: int, until: float) -> bytes:
    while time.monotonic() < until:
        try:
            address = f"http://127.0.0.1:{port}/_stcore/health"
            with urllib.request.urlopen(address, timeout=4) as reply:
                return bytes(reply.read())
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.2)
    return b""
