"""``posviz sweep``: the table and its files, what is said, and how it ends."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from posviz.lab.language_model.sources import ALLOW

CELLS = ("sweep", "rope", "alibi", "learned", "--length", "64", "--length", "600")


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where cells are kept during a test."""
    monkeypatch.setenv("POSVIZ_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(ALLOW, "")  # what the command allows ends with the test
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path / "cache" / "sweep"


def test_a_sweep_is_a_table_then_csv_then_json_of_the_same_cells(run, tmp_path: Path) -> None:
    first = run(*CELLS, "--processes", "1")
    assert first.exit_code == 1  # learned positions end at 512
    lines = [line.split() for line in first.stdout.splitlines()]
    assert lines[0] == ["model", "link", "length", "entropy", "reach", "needle", "short_range_cost"]
    assert lines[3] == ["none", "alibi", "64", "1.7035", "10", "0.0016054", "—"]
    assert lines[6] == ["none", "learned", "600", "—", "—", "—", "—"]
    reason = "Learned positions: length must be a whole number of at most 512"
    assert f"learned at 600 tokens: {reason}" in first.stdout
    assert "[6/6] " in first.stderr
    assert "kept from before" not in first.stderr

    second = run(*CELLS, "--csv")
    assert "5 of 6 cells are kept from before." in second.stderr
    rows = list(csv.DictReader(io.StringIO(second.stdout)))
    assert [(row["link"], row["length"]) for row in rows[:2]] == [("rope", "64"), ("rope", "600")]
    assert rows[5]["problem"].startswith(reason)
    assert rows[5]["entropy"] == rows[2]["short_range_cost"] == ""

    file = tmp_path / "rows.json"
    assert run(*CELLS, "-o", str(file)).stdout == ""
    found = json.loads(file.read_text())["rows"]
    assert float(rows[2]["entropy"]) == found[2]["numbers"]["entropy"]
    assert found[2]["numbers"]["entropy"] == pytest.approx(1.70349917, rel=1e-7)
    assert (found[5]["numbers"], found[5]["problem"]) == ({}, rows[5]["problem"])


def test_a_file_says_what_the_arguments_would(run, tmp_path: Path) -> None:
    sweep = {"links": ["alibi", "nope"], "lengths": [64, 65]}
    file = tmp_path / "sweep.json"
    file.write_text(json.dumps(sweep))
    by_file = run("sweep", "--file", str(file), "--csv", "--processes", "1")
    by_input = run("sweep", "--file", "-", "--csv", stdin=json.dumps(sweep))
    by_words = run("sweep", "alibi", "nope", "--length", "64", "--length", "65", "--csv")
    assert by_file.exit_code == by_input.exit_code == by_words.exit_code == 0
    assert by_file.stdout == by_input.stdout == by_words.stdout
    assert "4 of 4 cells are kept from before." in by_words.stderr


def test_a_sweep_of_which_nothing_could_be_measured_ends_with_2(run) -> None:
    result = run("sweep", "rope_2d", "--length", "64")
    assert result.exit_code == 2
    assert "its positions stand on a grid" in result.stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["yarm"], "There is no encoding 'yarm'; closest: yarn."),
        (["rope", "--model", "smollm3"], "There is no model 'smollm3'; closest: smollm2"),
        (
            ["rope", "--model", "/nowhere/model.gguf"],
            "The model '/nowhere/model.gguf': there is no such folder or file on this machine.",
        ),
        (
            ["rope", "--model", "x/", "--text", "/nowhere/a.txt"],
            "/nowhere/a.txt cannot be read: ",
        ),
        (["rope", "--scheduler", "nonsense"], "--scheduler must be the address of a Dask"),
        (["rope", "-o", "rows.xlsx"], "The name of the file must end in .csv or .json"),
        (["--file", "/nowhere/sweep.json"], "/nowhere/sweep.json cannot be read: No such file"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_used_is_a_sentence(run, words: list[str], sentence: str) -> None:
    result = run("sweep", *words)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[1]", "The sweep - must be a JSON object; got [1]."),
        ("{", "The sweep - is not JSON: "),
        ("[" * 100_000, "The sweep - is not JSON: "),
        ('{"links": ["rope"]}', "The sweep -: the field lengths is missing."),
        ('{"link": []}', "The sweep -: there is no field 'link'; closest: links."),
        ('{"links": ["rope"], "lengths": [0]}', "Sweep: lengths must be a whole number of at"),
        ('{"links": [["rope"]], "lengths": [1]}', "Sweep: links must be a list of texts; got"),
        ('{"links": ["rope"], "lengths": {"a": 1}}', "Sweep: lengths must be a list of at least"),
        ('{"links": ["rope"], "lengths": [1], "text": 3}', "text must be the name of a file; got"),
        ('{"links": ["rope"], "lengths": [1], "models": "x"}', "Sweep: models must be a list"),
    ],
)
def test_a_file_that_is_no_sweep_is_a_sentence(run, text: str, sentence: str) -> None:
    result = run("sweep", "--file", "-", stdin=text)
    assert result.exit_code == 2
    assert sentence in result.stderr


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["rope", "--length", "0"],
        ["rope", "--length", "many"],
        ["rope", "--processes", "0"],
        ["rope", "--json", "--csv"],
        ["rope", "--file", "sweep.json"],
        ["rope", "--scheduler", "tcp://localhost:1", "--processes", "2"],
    ],
    ids=" ".join,
)
def test_a_wrong_option_of_a_sweep_ends_with_64(run, words: list[str]) -> None:
    result = run("sweep", *words)
    assert result.exit_code == 64
    assert "Traceback" not in result.stderr


def test_a_scheduler_that_does_not_answer_is_a_sentence(run, monkeypatch) -> None:
    monkeypatch.setattr("posviz.lab.sweep.cluster.SECONDS_TO_ANSWER", 1)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        result = run("sweep", "rope", "--scheduler", address)
    assert result.exit_code == 2
    assert f"No Dask scheduler answered at {address} within" in result.stderr


def test_cells_that_cannot_be_kept_are_printed_all_the_same(run, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file in the place of the folder")
    result = run("sweep", "nope", "--length", "64")
    assert result.exit_code == 0
    assert "4.1589" in result.stdout  # ln 64
    assert "Nothing can be kept in " in result.stderr


def test_ctrl_c_ends_with_130_and_leaves_no_process_behind(kept: Path) -> None:
    lengths = [str((1 << 22) - step) for step in range(40)]
    words = [word for length in ("16", *lengths) for word in ("--length", length)]
    code = "from posviz.cli import main\nif __name__ == '__main__': main()"
    sweep = subprocess.Popen(
        [sys.executable, "-c", code, "sweep", "rope", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert sweep.stderr is not None
    assert sweep.stderr.readline().startswith("[1/41] ")
    os.killpg(sweep.pid, signal.SIGINT)  # as a terminal does it: to the workers, too
    out, err = sweep.communicate(timeout=60)
    assert sweep.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    count = len(list(kept.glob("*.json")))
    assert 1 <= count < 41
    assert err.endswith(
        f"posviz: Ended. {count} of 41 cells are measured. They are kept; the same command goes on "
        "from there.\n"
    )
    end = time.monotonic() + 20
    while running(sweep.pid) and time.monotonic() < end:
        time.sleep(0.05)
    assert running(sweep.pid) == []


def running(group: int) -> list[str]:
    """Processes of a group that have not ended."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                found.append(" ".join(process.cmdline()))
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return found
