"""A sweep through a language model: the losses are those of the run that the page makes."""

from __future__ import annotations

import multiprocessing
import os
import signal
from importlib.util import find_spec
from pathlib import Path

import pytest
from sweep_model import WINDOW, save_tiny_llama

from posviz.lab.language_model.sources import ALLOW
from posviz.lab.sweep.plan import Cell, Sweep
from posviz.lab.sweep.run import prepare
from posviz.lab.sweep.tasks import Event

pytestmark = pytest.mark.skipif(
    find_spec("transformers") is None, reason="transformers is not installed"
)
TEXT = "The quick brown fox jumps over the lazy dog, and the dog does not mind at all. " * 3


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(ALLOW, "1")
    monkeypatch.setenv("POSVIZ_CACHE", str(tmp_path / "cache"))
    save_tiny_llama(tmp_path / "model")
    return tmp_path


def test_losses_are_those_of_the_run_itself_also_when_its_process_is_killed(folder: Path) -> None:
    from posviz.lab.extension.run import measure

    model = str(folder / "model")
    sweep = Sweep(("yarn?scaling_factor=3", "alibi"), (48, 160), (model,), TEXT)
    killed: list[int] = []

    def kill(cell: Cell, event: Event) -> None:
        if not event.is_last and not killed:
            (process,) = multiprocessing.active_children()
            assert process.pid is not None
            os.kill(process.pid, signal.SIGKILL)
            killed.append(process.pid)

    rows = prepare(sweep, folder / "sweep").finish(processes=1, tell=kill)
    assert len(killed) == 1
    direct = measure(
        lambda progress: None,
        model=model,
        link="yarn?scaling_factor=3",
        length=160,
        text=TEXT,
        mean_window=80,
        cache_folder=str(folder / "elsewhere"),
    )
    assert direct.within is not None
    assert direct.beyond is not None
    assert (direct.within[2], direct.beyond[2]) == (WINDOW - 1, 160 - WINDOW)
    assert rows[1].numbers == pytest.approx(
        {
            "loss_within": direct.within[0],
            "loss_beyond": direct.beyond[0],
            "error_beyond": direct.beyond[1],
        },
        rel=1e-5,
    )
    assert rows[1].facts["rope_parameters"] == dict(direct.rope_parameters)
    assert rows[1].facts["rope_parameters"]["factor"] == 3.0
    assert set(rows[0].numbers) == {"loss_within"}
    assert rows[2].problem == "ALiBi cannot be written for transformers: it is no rope type."
    assert [task.cell.link for task in prepare(sweep, folder / "sweep").missing] == ["alibi"] * 2


def test_another_model_under_the_same_path_is_another_cell(folder: Path) -> None:
    from posviz.lab.sweep.measuring import attempt

    sweep = Sweep(("rope",), (48,), (str(folder / "model"),), TEXT)
    (task,) = prepare(sweep, folder / "sweep").tasks
    weights = folder / "model" / "model.safetensors"
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    (other,) = prepare(sweep, folder / "sweep").tasks
    assert other.model_hash != task.model_hash
    said = attempt(task, lambda progress: None, 1)
    assert said == f"The worker has another model under the name {folder / 'model'}."
