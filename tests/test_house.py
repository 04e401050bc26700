"""Installation, check and container: what `make run`, `make test` and the image promise."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shlex
import socket
import subprocess
import sys
import threading
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import check
import chromium
import install
import pytest
import run_tests
import serve
import stages
import streamlit.config
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent


def pinned(*files: str) -> dict[str, str]:
    """Version of each package that the files pin; a line of any other form is an error."""
    versions = {}
    for file in files:
        for line in (ROOT / file).read_text(encoding="utf-8").splitlines():
            if line and not line.startswith(("#", "-r ")):
                name, version = re.fullmatch(r"([\w.-]+)==([\w.]+)", line).groups()  # type: ignore[union-attr]
                versions[canonicalize_name(name)] = version
    return versions


@pytest.mark.parametrize("name", ["lite", "full", "dev"])
def test_the_pins_are_closed_and_agree_with_each_other(name: str) -> None:
    versions = pinned(*install.SETS[name])
    problems = []
    for package in versions:
        for text in importlib.metadata.requires(package) or []:
            wish = Requirement(text)
            if wish.marker is None or wish.marker.evaluate({"extra": ""}):
                version = versions.get(canonicalize_name(wish.name))
                if version is None or not wish.specifier.contains(version):
                    problems.append(f"{package} needs {text}; pinned: {version}")
    assert problems == []


def test_every_dependency_of_the_package_is_pinned_within_its_bounds() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lite, full = pinned(*install.SETS["lite"]), pinned(*install.SETS["full"])
    for text in project["dependencies"]:
        assert Requirement(text).specifier.contains(lite[canonicalize_name(Requirement(text).name)])
    assert Requirement(project["optional-dependencies"]["torch"][0]).specifier.contains(
        full["torch"]
    )
    assert "torch" not in lite
    models = pinned(*install.SETS["models"])
    for text in project["optional-dependencies"]["models"]:
        name = canonicalize_name(Requirement(text).name)
        assert Requirement(text).specifier.contains(models[name])
    assert "transformers" not in full


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A copy of the requirements, and the list of what pip is asked to install there."""
    for file in [*install.SETS["dev"], "pyproject.toml"]:
        (tmp_path / file).write_bytes((ROOT / file).read_bytes())
    (tmp_path / ".venv").mkdir()
    calls: list[str] = []
    monkeypatch.setattr(install, "ROOT", tmp_path)
    monkeypatch.setattr(install, "STAMP", tmp_path / ".venv" / "stamp.json")
    monkeypatch.setattr(install, "works", lambda: True)
    monkeypatch.setattr(install, "pip", lambda *arguments: calls.append(arguments[-1]))
    return calls


def test_a_second_installation_does_nothing(house: list[str]) -> None:
    install.install("full")
    assert house == ["requirements.txt", "."]
    install.install("full")
    install.install("lite")
    assert house == ["requirements.txt", "."]


def test_each_set_is_upgraded_to_the_next_larger_one(house: list[str]) -> None:
    for name in ("lite", "full", "models", "dev", "models", "full"):
        install.install(name)
    assert house == [
        "requirements-lite.txt",
        ".",
        "requirements.txt",
        ".",
        "requirements-models.txt",
        ".",
        "requirements-dev.txt",
        ".",
    ]


@pytest.mark.parametrize(
    ("file", "by_lite"),
    [("requirements-lite.txt", True), ("pyproject.toml", True), ("requirements-dev.txt", False)],
)
def test_the_first_call_that_needs_a_change_installs_all_that_was_there(
    house: list[str], file: str, by_lite: bool
) -> None:
    install.install("dev")
    house.clear()
    with (install.ROOT / file).open("a") as changed:
        changed.write("# changed\n")
    install.install("lite")
    assert house == (["requirements-dev.txt", "."] if by_lite else [])
    install.install("dev")
    assert house == ["requirements-dev.txt", "."]


def test_an_interrupted_installation_is_done_again(
    house: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    install.install("lite")

    def interrupted(*arguments: str) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(install, "pip", interrupted)
        with pytest.raises(KeyboardInterrupt):
            install.install("full")
    house.clear()
    install.install("lite")
    assert house == ["requirements-lite.txt", "."]


def find_python(folder: Path, pythons: dict[str, str], **environment: str) -> tuple[int, str, str]:
    """Run scripts/find-python where only these commands exist; a value is the fake's script."""
    for name, script in pythons.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    result = subprocess.run(
        ["/bin/sh", ROOT / "scripts" / "find-python"],
        env={"PATH": str(folder), **environment},
        check=False,
        capture_output=True,
        text=True,
    )
    return result.returncode, result.stdout.strip(), result.stderr.strip()


OLD = "exit 0"
WITHOUT_VENV = 'case "$2" in *ensurepip*) exit 1;; *) echo 3.13;; esac'
GOOD = 'case "$2" in *ensurepip*) exit 0;; *) echo 3.12;; esac'


def test_the_newest_python_that_can_make_a_venv_is_chosen(tmp_path: Path) -> None:
    pythons = {"python3": OLD, "python3.13": WITHOUT_VENV, "python3.12": GOOD, "python3.11": GOOD}
    assert find_python(tmp_path, pythons) == (0, "python3.12", "")
    assert find_python(tmp_path, pythons, PYTHON="python3.11") == (0, "python3.11", "")


def test_without_a_usable_python_one_sentence_says_what_to_do(tmp_path: Path) -> None:
    assert find_python(tmp_path, {"python3": OLD}) == (
        1,
        "",
        "PosViz needs Python 3.11 to 3.14 and found none: install one or name it with PYTHON=...",
    )
    assert find_python(tmp_path, {"python3": WITHOUT_VENV}) == (
        1,
        "",
        "Python 3.13 has no working venv module: install it with 'apt-get install python3.13-venv' "
        "(Debian, Ubuntu) or name another with PYTHON=...",
    )
    assert find_python(tmp_path, {"mine": OLD}, PYTHON="mine") == (
        1,
        "",
        "PYTHON=mine is not a Python of version 3.11 to 3.14.",
    )


def test_a_taken_port_is_skipped_on_either_loopback_address() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert not serve.is_free(port, "127.0.0.1")
        assert not serve.is_free(port, "0.0.0.0")
        assert serve.free_port(port, "127.0.0.1") > port
    assert serve.is_free(port, "127.0.0.1")


@pytest.mark.parametrize("text", ["http", "0", "65536", "-1", ""])
def test_a_port_that_is_none_is_reported(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", text)
    with pytest.raises(SystemExit, match="PORT must be a whole number from 1 to 65535; got"):
        serve.first_port()


def test_a_failing_stage_shows_its_output_and_fails(capfd: pytest.CaptureFixture[str]) -> None:
    stage = stages.run("lint", [sys.executable, "-c", "print('reason'); raise SystemExit(3)"])
    assert capfd.readouterr().out == "lint ...\nreason\n\n"
    assert re.fullmatch(r"lint +FAILED +\d+\.\d s", stage.line)


def test_counts_of_two_reports_add_up(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(
        '<testsuites><testsuite tests="9" failures="1" errors="1" skipped="2"/></testsuites>'
    )
    counts = run_tests.read_counts(report)
    assert run_tests.in_words(counts) == "5 passed, 2 failed, 2 skipped"
    assert run_tests.in_words(counts + counts) == "10 passed, 4 failed, 4 skipped"


@pytest.mark.parametrize(("ci", "status"), [("true", 1), ("", 0)])
def test_without_a_chromium_the_last_lines_say_so_and_ci_fails(
    ci: str, status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def one_test(name: str, counts: Counter[str], *arguments: str, **more: object) -> stages.Stage:
        counts["passed"] += 1
        return stages.Stage(name, passed=True, seconds=0)

    monkeypatch.setattr(check, "check", lambda: [stages.Stage("format", passed=True, seconds=0)])
    monkeypatch.setattr(run_tests, "pytest", one_test)
    monkeypatch.setattr(run_tests, "fuzz", lambda: stages.Stage("fuzz", passed=True, seconds=0))
    monkeypatch.setattr(chromium, "find", lambda: None)
    monkeypatch.setenv("CI", ci)
    assert run_tests.main() == status
    lines = capsys.readouterr().out.splitlines()
    assert run_tests.NO_BROWSER in lines[-3:]
    assert "1 passed, 0 failed" in lines[-2:]


def test_every_option_of_the_streamlit_configuration_exists() -> None:
    text = (ROOT / ".streamlit" / "config.toml").read_text()
    known = set(streamlit.config._config_options_template)

    def names(value: object, prefix: str) -> Iterator[str]:
        if isinstance(value, dict):
            for key, inner in value.items():
                yield from names(inner, f"{prefix}.{key}" if prefix else key)
        else:
            yield prefix

    assert set(names(tomllib.loads(text), "")) - known == set()


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize(("theme", "background"), [("light", "#FFFFFF"), ("dark", "#0E1117")])
def test_the_primary_colour_is_readable_as_text(theme: str, background: str) -> None:
    themes = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())["theme"]
    lights = sorted([luminance(themes[theme]["primaryColor"]), luminance(background)])
    assert (lights[1] + 0.05) / (lights[0] + 0.05) >= 4.5


@contextmanager
def server_that_answers(body: bytes) -> Iterator[int]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Keep the test's output clean."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def health_commands() -> list[list[str]]:
    dockerfile = (ROOT / "Dockerfile").read_text()
    compose = (ROOT / "compose.yaml").read_text()
    in_dockerfile = re.search(r"^HEALTHCHECK .* CMD (\[.*\])$", dockerfile, re.MULTILINE)
    in_compose = re.search(r"- (import urllib.*)$", compose, re.MULTILINE)
    assert in_dockerfile is not None
    assert in_compose is not None
    return [json.loads(in_dockerfile[1]), ["python", "-c", in_compose[1]]]


@pytest.mark.parametrize(("body", "healthy"), [(b"ok", True), (b"<html>ok</html>", False)])
def test_the_health_checks_compare_the_body(body: bytes, healthy: bool) -> None:
    for command in health_commands():
        with server_that_answers(body) as port:
            code = command[2].replace("8501", str(port))
            result = subprocess.run([sys.executable, *command[1:2], code], check=False)
        assert (result.returncode == 0) is healthy


def test_the_image_gets_its_requirements_before_its_code_and_only_what_is_sent() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    copied = [shlex.split(line)[1:-1] for line in lines if line.startswith("COPY")]
    assert copied[0] == ["requirements-lite.txt", "requirements.txt"]
    sent = {
        line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"
    }
    assert {name for names in copied for name in names} == sent


def test_ci_runs_what_a_newcomer_would() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    assert script.rstrip().splitlines()[-1] == "make test"
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
    assert "pip install" not in script


def test_every_test_that_needs_a_browser_stands_where_they_are_looked_for() -> None:
    marked = {
        path.relative_to(ROOT)
        for path in (ROOT / "tests").rglob("test_*.py")
        if re.search(r"^(?!\s*#).*pytest\.mark\.browser", path.read_text("utf-8"), re.MULTILINE)
        and path != Path(__file__)
    }
    assert len(marked) > 5
    outside = [
        path for path in marked if not {str(one) for one in path.parents} & set(run_tests.BROWSER)
    ]
    assert outside == []
