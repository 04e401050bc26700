"""Results on disk: keys, limits, and a process killed in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from posviz.lab.extension import cache as cache_module
from posviz.lab.extension import identity
from posviz.lab.extension.cache import Cache, key_of
from posviz.lab.extension.curves import key_of_loss, read_curve, settings_of
from posviz.lab.extension.plan import Plan
from posviz.lab.extension.run import measure
from posviz.lab.language_model.sources import find
from tests.lab import tiny_extension as tiny

SHORT: dict[str, Any] = {"length": 300, "chunk": 32, "mean_window": 40}
SLOW = """
import json, sys, time
from posviz.lab.extension.run import measure
arguments = json.loads(sys.argv[1])
def report(progress):
    if progress.partial is not None:
        print(progress.done, flush=True)
        time.sleep(0.2 if progress.done >= 96 else 0)
measure(report, threads=1, **arguments)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POSVIZ_LOCAL_MODELS", "1")
        yield tiny.folder(tmp_path_factory.mktemp("tiny"))


def test_a_run_that_is_killed_goes_on_and_ends_as_if_nothing_had_been(
    folder: Path, tmp_path: Path
) -> None:
    arguments = {"model": str(folder), "link": "yarn", "text": tiny.TEXT, **SHORT}
    there = {**arguments, "cache_folder": str(tmp_path / "killed")}
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, json.dumps(there)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "POSVIZ_LOCAL_MODELS": "1"},
    )
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            if float(line) >= 96:
                break
        process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    (part,) = (tmp_path / "killed").glob("*.part")
    assert len(list(part.glob("*.safetensors"))) >= 3
    resumed = measure(tiny.Told(), **there)
    whole = measure(tiny.Told(), **arguments, cache_folder=str(tmp_path / "whole"))
    assert resumed.facts["resumed_at"] >= 96
    assert resumed.mean == pytest.approx(whole.mean, abs=1e-6)
    left = [path.suffix for path in (tmp_path / "killed").iterdir()]
    assert left == [".json"]


def test_keys_differ_when_anything_differs(folder: Path, tmp_path: Path) -> None:
    plan = Plan(link="yarn?scaling_factor=2", **SHORT)

    def key(plan: Plan = plan, text: str = tiny.TEXT, where: Path = folder) -> str:
        source = find(str(where))
        return key_of_loss(source, settings_of(source, plan), text, plan)

    other = tiny.folder(tmp_path / "other", rms_norm_eps=1e-4)
    changed = [
        key(plan.with_values(link="yarn?scaling_factor=3")),
        key(plan.with_values(link="linear?scaling_factor=2")),
        key(plan.with_values(link="yarn?scaling_factor=2&beta_fast=16")),
        key(plan.with_values(length=299)),
        key(plan.with_values(chunk=64)),
        key(plan.with_values(dtype="bfloat16")),
        key(plan.with_values(artificial_window=64)),
        key(text=tiny.TEXT + "."),
        key(where=other),
    ]
    assert len({key(), *changed}) == len(changed) + 1
    assert key() == key()
    # Losses are kept token by token and averaged anew.
    assert key(plan.with_values(mean_window=80)) == key()


def test_keys_differ_with_versions_and_formats(monkeypatch: pytest.MonkeyPatch) -> None:
    first = key_of({"versions": identity.versions()})
    monkeypatch.setattr(identity.metadata, "version", lambda name: "0")
    second = key_of({"versions": identity.versions()})
    monkeypatch.setattr(cache_module, "FORMAT", 99)
    assert len({first, second, key_of({"versions": identity.versions()})}) == 3


def test_a_tokenizer_is_part_of_what_a_model_is(folder: Path, tmp_path: Path) -> None:
    other = tiny.folder(tmp_path / "same")
    before = identity.model_hash(find(str(other)))
    assert before == identity.model_hash(find(str(folder)))
    path = other / "tokenizer.json"
    path.write_text(path.read_text().replace('"a":1', '"a":2', 1).replace('"a": 1', '"a": 2', 1))
    assert identity.model_hash(find(str(other))) != before


def _keep(cache: Cache, key: str, size: int, number: int = 0) -> None:
    cache.write_part(key, number, lambda path: path.write_bytes(b"x" * size), size)


def test_the_oldest_make_room_within_the_limit(tmp_path: Path) -> None:
    cache = Cache(tmp_path, most_bytes=1000)
    _keep(cache, "old", 400)
    _keep(cache, "new", 400)
    for age, path in ((9000, tmp_path / "old.part"), (8000, tmp_path / "new.part")):
        for one in (path, *path.iterdir()):
            os.utime(one, (time.time() - age,) * 2)
    _keep(cache, "newest", 400)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.part", "newest.part"]
    assert cache.size == 800
    assert cache.problem == ""


def _aged(path: Path, seconds: float) -> None:
    for one in (path, *(path.iterdir() if path.is_dir() else ())):
        os.utime(one, (time.time() - seconds,) * 2)


def test_results_outlive_half_finished_runs_and_a_run_elsewhere_is_left_alone(
    tmp_path: Path,
) -> None:
    cache = Cache(tmp_path, most_bytes=10_000)
    for number in range(3):
        cache.write(f"done{number}", {"losses": [1.0] * 150})
        _aged(tmp_path / f"done{number}.json", 90_000 + number)
    _keep(cache, "left", 3000)
    _aged(tmp_path / "left.part", 80_000)
    _keep(cache, "elsewhere", 4000)  # a minute ago, by another process
    _aged(tmp_path / "elsewhere.part", 60)
    _keep(cache, "own", 3000)
    results = {f"done{number}.json" for number in range(3)}
    assert {path.name for path in tmp_path.iterdir()} == {*results, "elsewhere.part", "own.part"}
    _keep(cache, "own", 3000, number=1)  # now results must go, the run elsewhere stays
    assert {path.name for path in tmp_path.iterdir()} == {"elsewhere.part", "own.part"}
    _keep(cache, "own", 3000, number=2)
    assert cache.problem.startswith("The run cannot be resumed after a kill: its chunks do not fit")


def test_a_run_whose_earlier_chunks_are_gone_keeps_no_orphans(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    _keep(cache, "run", 10, number=1)
    assert list(tmp_path.iterdir()) == []
    assert cache.problem.startswith("The run cannot be resumed after a kill: its earlier chunks")


@pytest.mark.parametrize(
    "content",
    [
        {"losses": 5},
        {"losses": [1.0] * 299},
        {"losses": ["x"] * 299, "seconds": 1.0, "facts": {}},
        {"losses": [float("nan")] * 299, "seconds": 1.0, "facts": {}},
        {"losses": [1.0] * 299, "seconds": 1.0, "facts": []},
        {"losses": [1.0] * 298, "seconds": 1.0, "facts": {}},
    ],
)
def test_a_file_of_another_shape_is_one_that_is_not_there(
    content: dict[str, Any], folder: Path, tmp_path: Path
) -> None:
    plan, cache = Plan(link="rope", **SHORT), Cache(tmp_path)
    source = find(str(folder))
    settings = settings_of(source, plan)
    key = key_of_loss(source, settings, tiny.TEXT, plan)
    cache.write(key, content)
    assert read_curve(cache, key, settings, plan) is None
    cache.write(key, {"losses": [1.0] * 299, "seconds": 1.0, "facts": {}})
    assert read_curve(cache, key, settings, plan) is not None


def test_a_run_that_nobody_went_on_with_is_removed_after_two_weeks(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.write("finished", {})
    for name, days in (("stale", 15), ("waiting", 13), ("finished", 15)):
        if name != "finished":
            _keep(cache, name, 10)
        for path in tmp_path.glob(f"{name}*"):
            for one in (path, *path.glob("*")):
                os.utime(one, (time.time() - days * 86400,) * 2)
    _keep(cache, "new", 10)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["finished.json", "new.part", "waiting.part"]


def test_a_run_larger_than_the_limit_goes_on_without(tmp_path: Path) -> None:
    cache = Cache(tmp_path, most_bytes=1000)
    _keep(cache, "one", 600)
    _keep(cache, "one", 600, number=1)
    assert len(cache.parts("one")) == 1
    assert cache.problem.startswith("The run cannot be resumed after a kill: its chunks do not fit")


def test_clear_removes_everything(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    cache.write("done", {"losses": [1.0]})
    _keep(cache, "half", 100)
    assert cache.read("done") == {"losses": [1.0]}
    assert cache.clear() > 100
    assert list(tmp_path.iterdir()) == []
    assert cache.read("done") is None


def test_a_gap_ends_what_can_be_resumed(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    for number in range(4):
        _keep(cache, "run", 10, number)
    cache.drop(tmp_path / "run.part" / "00002.safetensors")
    assert [path.name for path in cache.parts("run")] == ["00000.safetensors", "00001.safetensors"]


def test_the_folder_is_that_of_the_environment_or_the_users(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("POSVIZ_CACHE", str(tmp_path))
    assert cache_module.folder() == tmp_path / "extension"
    monkeypatch.delenv("POSVIZ_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_module.folder().name == "extension"
    assert "posviz" in str(cache_module.folder())
