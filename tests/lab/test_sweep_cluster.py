"""Sweeps on a Dask cluster: two workers here, one of which is killed."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from posviz.lab.errors import LabError
from posviz.lab.sweep import cluster
from posviz.lab.sweep.plan import Cell, Sweep
from posviz.lab.sweep.run import prepare
from posviz.lab.sweep.tasks import Event

distributed = pytest.importorskip("distributed")
SWEEP = Sweep(("rope", "yarn?scaling_factor=4", "alibi", "learned"), (64, 300, 1024))


@pytest.fixture(scope="module")
def workers() -> Iterator[distributed.LocalCluster]:
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as found:
        yield found


def test_a_worker_that_is_killed_costs_nothing_and_the_rest_comes_from_what_is_kept(
    workers: distributed.LocalCluster, tmp_path: Path
) -> None:
    def end_after_three(cell: Cell, event: Event) -> None:
        if len(list((tmp_path / "a").iterdir())) == 3:
            raise KeyboardInterrupt

    killed: list[int] = []

    def kill(cell: Cell, event: Event) -> None:
        if not killed:
            killed.append(workers.workers[0].pid)
            os.kill(killed[0], signal.SIGKILL)

    address = workers.scheduler_address
    ended = prepare(SWEEP, tmp_path / "a")
    with pytest.raises(KeyboardInterrupt):
        ended.finish(scheduler=address, tell=end_after_three)
    assert len(ended.measured) == 3
    going_on = prepare(SWEEP, tmp_path / "a")
    assert len(going_on.missing) == 9
    rows = going_on.finish(scheduler=address, tell=kill)
    assert len(killed) == 1
    here = prepare(SWEEP, tmp_path / "b").finish(processes=1)
    assert [(row.cell, row.numbers, row.problem) for row in rows] == [
        (row.cell, row.numbers, row.problem) for row in here
    ]
    assert len(list((tmp_path / "a").iterdir())) == 11


def test_an_address_where_no_scheduler_answers_is_said_within_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "SECONDS_TO_ANSWER", 1)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        started = time.monotonic()
        with pytest.raises(LabError) as caught:
            prepare(SWEEP, tmp_path).finish(scheduler=address)
    assert str(caught.value) == (
        f"No Dask scheduler answered at {address} within 1 seconds; `dask scheduler` starts one "
        "and prints its address."
    )
    assert time.monotonic() - started < 10


@pytest.mark.parametrize(
    "address", ["nonsense", "http://host:8786", "tcp://host", "", "host:8786x"]
)
def test_what_is_no_address_is_said(address: str, tmp_path: Path) -> None:
    with pytest.raises(LabError, match="must be the address of a Dask scheduler, such as tcp:"):
        prepare(SWEEP, tmp_path).finish(scheduler=address)


def test_a_cluster_without_workers_is_said(tmp_path: Path) -> None:
    with (
        distributed.LocalCluster(
            n_workers=0, processes=False, protocol="tcp://", dashboard_address=":0"
        ) as empty,
        pytest.raises(LabError, match=r"has no workers; `dask worker tcp://\S+ --nthreads 1`"),
    ):
        prepare(SWEEP, tmp_path).finish(scheduler=empty.scheduler.address)


def test_without_dask_one_sentence_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "PACKAGE", "a_package_that_nobody_has")
    with pytest.raises(LabError, match=r"with pip, posviz\[distributed\] installs it\."):
        prepare(SWEEP, tmp_path).finish(scheduler="tcp://127.0.0.1:1")
