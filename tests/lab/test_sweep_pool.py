"""Sweeps on processes of this machine: what is kept, what a killed process costs, what is said."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import posviz
from posviz import parse
from posviz.lab.errors import LabError
from posviz.lab.extension import identity
from posviz.lab.sweep import pool
from posviz.lab.sweep.kept import Kept, key
from posviz.lab.sweep.measuring import attempt
from posviz.lab.sweep.plan import MOST_CELLS, Cell, Sweep
from posviz.lab.sweep.run import prepare
from posviz.lab.sweep.tasks import Event, Task
from posviz.measures import Content, context_curves, short_range_cost
from posviz.parameters import ParameterError

SWEEP = Sweep(("rope", "yarn?scaling_factor=4", "alibi", "learned"), (64, 300, 1024))


@pytest.fixture(scope="module")
def expected() -> list[dict[str, float]]:
    """The numbers of every cell of SWEEP, by the core's own functions."""
    return [numbers(cell) for cell in SWEEP.cells()]


def numbers(cell: Cell) -> dict[str, float]:
    spec = parse(cell.link)
    curves = context_curves(spec, [cell.length], content=Content(content="same"))
    if not curves.lengths.size:  # beyond what was learned
        return {}
    found = {name: getattr(curves, name)[0] for name in ("entropy", "reach", "needle")}
    if cell.link != "alibi" and cell.link != "learned":
        change = short_range_cost(spec, length=cell.length).change
        found["short_range_cost"] = np.abs(change).max()
    return found


def test_the_table_holds_what_the_core_says_in_the_order_of_the_cells(
    tmp_path: Path, expected: list[dict[str, float]]
) -> None:
    rows = prepare(SWEEP, tmp_path).finish(processes=1)
    assert [row.cell for row in rows] == list(SWEEP.cells())
    assert [(cell.link, cell.length) for cell in SWEEP.cells()[:4]] == [
        ("rope", 64),
        ("rope", 300),
        ("rope", 1024),
        ("yarn?scaling_factor=4", 64),
    ]
    assert [row.numbers for row in rows] == expected
    assert [row.problem for row in rows] == [""] * 11 + [
        "Learned positions: length must be a whole number of at most 512 for this encoding; "
        "got 1024."
    ]
    # By hand: ALiBi's first of 8 slopes is 1/2, so the weights are a geometric series of e^(-1/2).
    kept = np.exp(-0.5)
    entropy = 0.5 * kept / (1 - kept) - np.log(1 - kept)
    assert rows[8].numbers["entropy"] == pytest.approx(entropy, rel=1e-12)


def test_what_is_kept_is_not_measured_again(tmp_path: Path) -> None:
    first = Sweep(("rope", "alibi"), (64,))
    rows = prepare(first, tmp_path).finish(processes=1)
    files = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(files) == 2
    more = prepare(Sweep(("alibi", "nope", "rope"), (64,)), tmp_path)
    assert [task.cell.link for task in more.missing] == ["nope"]
    told: list[str] = []
    found = more.finish(processes=1, tell=lambda cell, event: told.append(cell.link))
    assert told == ["nope"]
    assert [found[2], found[0]] == list(rows)
    assert {path: path.stat().st_mtime_ns for path in files} == files
    assert not prepare(first, tmp_path).missing
    next(iter(files)).write_text('{"numbers": 3}')  # a file of something else
    assert len(prepare(first, tmp_path).missing) == 1


def test_a_kept_cell_is_that_of_its_link_length_model_text_and_versions() -> None:
    cell = Cell("rope", 64, "/models/a")
    task = Task(cell, "a text", "hash of the weights", "1.0")
    others = [
        replace(task, cell=replace(cell, link="alibi")),
        replace(task, cell=replace(cell, length=65)),
        replace(task, text="another"),
        replace(task, model_hash="of others"),
        replace(task, version="1.1"),
        replace(task, cell=Cell("rope", 64)),
    ]
    assert len({key(one) for one in (task, *others)}) == 7
    assert key(task) == key(replace(task, cell=replace(cell, model="/moved/a")))
    alone = Task(Cell("rope", 64), version="1.0")
    assert key(alone) == key(replace(alone, text="nobody reads it"))


def test_a_cell_in_a_model_is_measured_again_when_a_package_that_runs_it_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    task = Task(Cell("rope", 64, "/models/a"), "a text", "hash of the weights", "1.0")
    alone = Task(Cell("rope", 64), version="1.0")
    before, before_alone = key(task), key(alone)
    for name in ("torch", "transformers", "tokenizers", "gguf"):
        found = identity.versions()
        assert name in found
        with monkeypatch.context() as patch:
            changed = found | {name: "another"}
            patch.setattr("posviz.lab.sweep.kept.versions", lambda changed=changed: changed)
            assert key(task) != before
            assert key(alone) == before_alone
    assert key(task) == before


@pytest.mark.parametrize(
    "content",
    [
        {"numbers": {"entropy": "abc"}, "facts": {}, "seconds": 1.0},
        {"numbers": {"entropy": float("nan")}, "facts": {}, "seconds": 1.0},
        {"numbers": {}, "facts": {}, "seconds": 1.0},
        {"numbers": {"entropy": 1.0}, "facts": {}, "seconds": float("nan")},
        {"numbers": {"entropy": 1.0}, "facts": [], "seconds": 1.0},
    ],
)
def test_a_kept_file_that_holds_no_numbers_is_one_that_is_not_there(
    content: dict[str, Any], tmp_path: Path
) -> None:
    task = Task(Cell("rope", 64), version="1.0")
    Kept(tmp_path)._cache.write(key(task), content)
    assert Kept(tmp_path).read(task) is None


def test_processes_that_are_killed_cost_nothing(
    tmp_path: Path, expected: list[dict[str, float]]
) -> None:
    killed: list[int] = []

    def kill(cell: Cell, event: Event) -> None:
        if not killed:
            for process in multiprocessing.active_children():
                assert process.pid is not None
                os.kill(process.pid, signal.SIGKILL)
                killed.append(process.pid)

    rows = prepare(SWEEP, tmp_path).finish(processes=2, tell=kill)
    assert len(killed) == 2
    assert [row.numbers for row in rows] == expected
    assert multiprocessing.active_children() == []


def test_a_sweep_that_was_ended_goes_on_where_it_was(
    tmp_path: Path, expected: list[dict[str, float]]
) -> None:
    def end_after_three(cell: Cell, event: Event) -> None:
        if len(list(tmp_path.iterdir())) == 3:
            raise KeyboardInterrupt

    ended = prepare(SWEEP, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        ended.finish(processes=1, tell=end_after_three)
    assert multiprocessing.active_children() == []
    assert len(ended.measured) == 3
    going_on = prepare(SWEEP, tmp_path)
    assert len(going_on.missing) == 9
    assert [row.numbers for row in going_on.finish(processes=1)] == expected


def test_a_cell_whose_process_dies_each_time_has_a_reason_in_the_place_of_numbers(
    tmp_path: Path,
) -> None:
    over = threading.Event()
    killed: list[int] = []

    def kill_each() -> None:
        while not over.is_set():
            for process in multiprocessing.active_children():
                if process.pid is not None and process.pid not in killed:
                    killed.append(process.pid)
                    os.kill(process.pid, signal.SIGKILL)
            time.sleep(0.002)

    killer = threading.Thread(target=kill_each)
    killer.start()
    try:
        (row,) = prepare(Sweep(("rope",), (1 << 22,)), tmp_path).finish()
    finally:
        over.set()
        killer.join()
    assert row.problem == (
        "The process that measured this was ended 3 times, the last time by signal 9, most likely "
        "for lack of memory; fewer --processes need less."
    )
    assert len(killed) == pool.TRIES
    assert list(tmp_path.iterdir()) == []


def test_a_process_ends_when_whoever_started_it_is_gone() -> None:
    worker = pool._started(1, 1)
    worker.pipe.close()
    worker.process.join(60)
    assert worker.process.exitcode == 0


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"links": ("yarm",)}, "There is no encoding 'yarm'; closest: yarn."),
        ({"links": ("yarn?factor=2",)}, "there is no parameter 'factor'"),
        ({"links": ()}, "Sweep: links must be a list of at least one entry; got none."),
        ({"links": "rope"}, "Sweep: links must be a list of at least one entry; got 'rope'."),
        ({"links": (3,)}, "Sweep: links must be a list of texts; got 3."),
        ({"lengths": (0,)}, "Sweep: lengths must be a whole number of at least 1 and at most"),
        ({"lengths": (True,)}, "lengths must be a whole number"),
        ({"lengths": (2.5,)}, "lengths must be a whole number"),
        ({"models": ()}, "Sweep: models must be a list of at least one entry; got none."),
        ({"text": 7}, "Sweep: text must be text; got 7."),
    ],
)
def test_parts_that_cannot_be_used_are_named(values: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError) as caught:
        Sweep(**{"links": ("rope",), "lengths": (64,), **values})  # type: ignore[arg-type]
    assert words in str(caught.value)


def test_a_model_needs_a_text_and_a_sweep_has_an_end(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="a model needs a text to read"):
        Sweep(("rope",), (64,), ("smollm2",), "  ")
    with pytest.raises(LabError, match="at most 100,000 cells; got 100,001"):
        Sweep(("rope",), tuple(range(1, MOST_CELLS + 2)))
    with pytest.raises(LabError, match="There is no model 'smollm3'; closest: smollm2"):
        prepare(Sweep(("rope",), (64,), ("smollm3",), "text"), tmp_path)


def test_what_is_named_twice_is_measured_once() -> None:
    sweep = Sweep(("rope", " rope ", "alibi"), (64, 64), ("none", "none"))
    assert [str(cell) for cell in sweep.cells()] == ["rope at 64 tokens", "alibi at 64 tokens"]


def test_a_worker_of_another_version_says_so() -> None:
    task = Task(Cell("rope", 64), version="0.0.0")
    said = attempt(task, lambda progress: None, 1)
    assert said == f"The worker has posviz {posviz.__version__}; the sweep needs 0.0.0."


def test_what_nobody_expected_is_the_reason_of_its_row_and_logged_with_its_traceback(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(link: str, length: int) -> dict[str, float]:
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr("posviz.lab.sweep.measuring.predicted", broken)
    task = Task(Cell("rope", 64), version=posviz.__version__)
    said = attempt(task, lambda progress: None, 1)
    assert said == "This failed with ZeroDivisionError: a mistake."
    assert "rope at 64 tokens" in caplog.text
    assert "in broken" in caplog.text
