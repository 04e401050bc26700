"""A comparison: its plan, its budget, its points, its figures, and how it is given up."""

from __future__ import annotations

import importlib.util
import json
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from posviz import ParameterError
from posviz.figures.lab.kernel_error import BOUND, CONTROL, kernel_error
from posviz.figures.lab.kernel_memory import kernel_memory
from posviz.figures.lab.kernel_time import ENCODING, kernel_time
from posviz.lab.errors import LabError
from posviz.lab.kernels import KERNELS, KernelPlan, KernelRun, Point, devices
from posviz.lab.kernels.__main__ import COMMAND, main, stored_plans
from posviz.lab.kernels.budget import Budget, Sizes, predicted_bytes
from posviz.lab.kernels.records import STORED, read_runs, write_runs
from posviz.lab.kernels.run import measure
from posviz.lab.kernels.watched import GivenUp, Watch, watched
from posviz.lab.workers import Cancelled
from posviz.ui.real_attention import kernel_panels, kernel_tables

ROOT = Path(__file__).parents[2]
PLAIN = "naive,naive_blocks,sdpa,sdpa_matrix"


def ran(**plan: Any) -> KernelRun:
    return measure(lambda progress: None, **{"kernels": PLAIN, "shortest": 16, **plan})


@pytest.fixture(scope="module")
def rotary() -> KernelRun:
    return ran(link="rope?head_dim=8", longest=600)


def test_every_point_is_there_and_within_its_tolerance(rotary: KernelRun) -> None:
    assert rotary.shape == {"batch": 1, "heads": 4, "head_dim": 8}
    lengths = [16, 32, 64, 128, 256, 512, 600]
    assert [one.length for one in rotary.of("sdpa")] == lengths
    assert [at for at, _ in rotary.encoding_seconds] == lengths
    assert not rotary.refused
    assert all(one.is_within for one in rotary.points)
    assert {one.rows_compared for one in rotary.points if one.length == 512} == {512}
    assert {one.rows_compared for one in rotary.points if one.length == 600} == {16}
    assert all(0 < one.seconds < 5 and one.repetitions for one in rotary.points)


def test_a_run_goes_through_json(rotary: KernelRun, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "runs.json"
    write_runs(path, [rotary], "the command")
    assert read_runs(path) == ("the command", (rotary,))


def test_partial_results_grow_point_by_point() -> None:
    seen: list[int] = []
    whole: list[tuple[float, float]] = []

    def report(progress: Any) -> None:
        if progress.partial is not None:
            seen.append(len(progress.partial.points))
            whole.append((progress.done, progress.total))

    measure(report, link="rope?head_dim=8", lengths=[16, 24], kernels="naive,sdpa")
    assert seen == [1, 2, 3, 4]
    assert whole == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_what_a_kernel_cannot_run_is_said() -> None:
    run = ran(link="alibi", longest=16)
    assert [(one.kernel, one.refused) for one in run.refused] == [
        (
            "sdpa",
            "SDPA takes a bias or a window only as a matrix, which the variant with a matrix gives "
            "it.",
        )
    ]
    run = ran(link="rerope?head_dim=8", longest=16, kernels="sdpa,flex")
    assert {one.refused.partition(",")[0] for one in run.refused} == {
        "ReRoPE changes the distance itself"
    }


def test_a_table_that_ends_refuses_longer_sequences() -> None:
    run = ran(link="cnn_zero_padding?rows=4&columns=5", lengths=[20, 21], kernels="naive")
    assert [one.refused == "" for one in run.points] == [True, False]
    assert run.points[1].refused.startswith(
        "Zero padding in a CNN: positions must be whole numbers from 0 to 19"
    )
    assert "before the projections" in run.notes[1]


def test_memory_is_refused_before_it_is_taken() -> None:
    run = ran(
        link="rope?head_dim=8",
        heads=64,
        lengths=[64, 2048],
        most_memory=0.25,
        kernels="naive,sdpa",
    )
    (first, second) = (one for one in run.points if one.kernel == "naive")
    assert not first.refused
    assert second.refused == (
        "2,048 tokens would need about 2.1 GiB, more than the 0.25 GiB that this run may use."
    )
    assert [one.length for one in run.of("sdpa")] == [64, 2048]


def test_budget_extrapolates_with_the_square_of_the_length() -> None:
    budget = Budget(10.0, 1 << 30, lambda: 1 << 29)
    budget.learn("naive", 1000, 0.5, 10 << 20)
    assert budget.refusal("naive", 2000, 0) == ""
    assert "4,000 tokens would take about 16 s, more than the" in budget.refusal("naive", 4000, 0)
    assert budget.refusal("naive", 7000, 0) == (
        "7,000 tokens would need about 0.48 GiB, more than 80% of the 0.5 GiB that are free here."
    )
    budget.begun -= 11
    assert budget.refusal("sdpa", 8, 0) == "8 tokens: the 10 s of this run are used up."


def test_predicted_bytes_are_near_what_is_measured() -> None:
    run = ran(link="alibi", heads=8, head_dim=16, lengths=[1024], kernels="naive,sdpa_matrix")
    sizes = Sizes(1, 8, 16, 4)
    for point in run.points:
        assert point.peak_bytes is not None
        expected = predicted_bytes(point.kernel, 1024, sizes)
        assert 0.4 * expected < point.peak_bytes < 1.3 * expected, point.kernel


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="this system tells no peak")
def test_peak_memory_counts_what_is_allocated_and_freed() -> None:
    for size in (64, 16, 64):
        _, peak = devices.PeakMemory("cpu").during(lambda size=size: torch.ones(size << 18).sum())
        assert peak is not None
        assert 0.95 * (size << 20) < peak < 1.2 * (size << 20) + (2 << 20)


def test_cancelling_stops_within_a_second() -> None:
    begun = 0.0

    def report(progress: Any) -> None:
        nonlocal begun
        if "naive" in progress.note.lower() and not begun:
            begun = time.monotonic()
        if begun and time.monotonic() > begun + 0.3:
            raise Cancelled

    with pytest.raises(Cancelled):
        measure(
            report,
            link="rerope?head_dim=64&window=64",
            lengths=[1500],
            kernels="naive_blocks",
            most_seconds=100,
        )
    assert time.monotonic() - begun < 1.5
    # The step that runs ends soon; an interpreter that ended before it would crash.
    for thread in threading.enumerate():
        if thread.name == "posviz-kernel":
            thread.join(10)
            assert not thread.is_alive()


def test_what_is_given_up_ends_at_its_next_step() -> None:
    ended: list[str] = []

    def refuse() -> None:
        raise Cancelled

    watch = Watch(refuse)

    def work() -> None:
        try:
            while True:
                time.sleep(0.01)
                watch.go_on()
        except GivenUp:
            ended.append("given up")

    with pytest.raises(Cancelled):
        watched(work, watch)
    time.sleep(0.2)
    assert ended == ["given up"]


def test_an_error_of_a_kernel_comes_out() -> None:
    with pytest.raises(ZeroDivisionError):
        watched(lambda: 1 / 0, Watch(lambda: None))


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (
            {"kernels": "naive,fused"},
            "Kernels: kernels must be one or more of naive, naive_blocks, sdpa, sdpa_matrix, flex, "
            "with commas between; got 'naive,fused'.",
        ),
        (
            {"longest": 128},
            "Kernels: longest must be at least shortest, which is 256; got longest 128.",
        ),
        (
            {"lengths": [16.5]},
            "Kernels: lengths must be whole numbers of tokens; got [16.5].",
        ),
        (
            {"most_memory": 0},
            "Kernels: most_memory must be a number of at least 0.01 and at most 1024; got 0.",
        ),
        ({"colour": 1}, "Kernels: there is no parameter 'colour'; known: link, batch, heads, "),
    ],
)
def test_bad_plans_are_named(values: dict[str, Any], text: str) -> None:
    with pytest.raises(ParameterError) as caught:
        KernelPlan(**values)
    assert str(caught.value).startswith(text)


def test_a_device_that_is_not_here_is_named() -> None:
    if torch.backends.mps.is_available():
        pytest.skip("this machine has MPS")
    with pytest.raises(LabError, match=r"device must be one that torch finds here, .*; got 'mps'"):
        ran(link="rope", device="mps", longest=16)


def test_arguments_hold_what_differs_and_make_the_same_plan() -> None:
    plan = KernelPlan(link="alibi", longest=512, lengths=[8, 4])
    assert plan.arguments == {"link": "alibi", "longest": 512, "lengths": (8, 4)}
    assert KernelPlan(**plan.arguments) == plan
    assert plan.all_lengths == (4, 8)
    assert KernelPlan(shortest=100, longest=450).all_lengths == (100, 200, 400, 450)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's compiler, of torch itself
@pytest.mark.skipif(bool(devices.devices()[0].no_flex), reason="no compiler for FlexAttention")
def test_flex_is_compiled_and_equals_the_core() -> None:
    run = ran(link="alibi", heads=2, head_dim=16, lengths=[130], kernels="flex", most_seconds=300)
    (point,) = run.points
    assert point.refused == ""
    assert point.is_within
    assert point.compile_seconds > 0


def test_figures_draw_the_points(rotary: KernelRun) -> None:
    time_panel, memory_panel, error_panel = kernel_panels.panels(rotary)
    named = {trace["name"]: trace for trace in time_panel.figure.data}
    expected = [one.seconds for one in rotary.of("sdpa")]
    np.testing.assert_array_equal(named[KERNELS["sdpa"]]["y"], expected)
    assert time_panel.words is kernel_time
    assert memory_panel.words is kernel_memory
    assert error_panel.words is kernel_error
    drawn = {trace["name"]: trace for trace in error_panel.figure.data}
    np.testing.assert_array_equal(drawn[BOUND]["y"], np.ones(7))
    shares = [one.error / one.tolerance for one in rotary.of("sdpa")]
    np.testing.assert_allclose(drawn[KERNELS["sdpa"]]["y"], shares)
    assert max(shares) <= 1 < min(drawn[CONTROL]["y"])
    encoding = named[ENCODING]
    assert list(zip(encoding["x"], encoding["y"], strict=True)) == list(rotary.encoding_seconds)
    assert [panel.figure.layout["yaxis"]["title"]["text"] for panel in kernel_panels.panels(rotary)]
    assert time_panel.notes[0].startswith("At 600 tokens one call of ")
    assert time_panel.notes[1].startswith("Made before that call, once: ")


def test_memory_that_is_not_told_apart_is_drawn_as_below(rotary: KernelRun) -> None:
    points = (
        Point("sdpa", 256, seconds=1.0, peak_bytes=300_000),
        Point("sdpa", 512, seconds=1.0, peak_bytes=3 << 20),
    )
    run = replace(rotary, points=points)
    line, below = (
        trace
        for trace in kernel_panels.panels(run)[1].figure.data
        if trace["name"] == KERNELS["sdpa"]
    )
    np.testing.assert_array_equal(line["y"], [np.nan, 3.0])
    assert (list(below["x"]), list(below["y"])) == ([256], [1.0])
    assert "below 1 MiB" in below["hovertemplate"]
    on_a_gpu = replace(run, plan={**run.plan, "device": "cuda"})
    memory = kernel_panels.panels(on_a_gpu)[1].figure.data
    (line,) = (trace for trace in memory if trace["name"] == KERNELS["sdpa"])
    np.testing.assert_allclose(line["y"], [300_000 / 2**20, 3.0])


def test_naive_and_sdpa_are_given_the_same_matrix_and_neither_times_it() -> None:
    run = ran(link="alibi", lengths=[64], kernels="naive,naive_blocks,sdpa_matrix")
    made = {one.kernel: one.made_seconds for one in run.points}
    assert made["naive"] > 0 < made["sdpa_matrix"]
    assert made["naive_blocks"] == 0
    assert all(one.is_within and one.control > 100 for one in run.points)


def test_a_busy_machine_is_told(rotary: KernelRun) -> None:
    busy = replace(rotary, facts={**rotary.facts, "load": 12.03, "others": 1.5, "threads": 2})
    assert kernel_panels.notes(busy)[-1].startswith("Other processes used 1.5 cores meanwhile")
    assert kernel_tables.machine(busy) == (
        "The machine: 2 threads, load 12.03 when it began (processes that ran or waited), 1.5 "
        "cores used by other processes meanwhile."
    )
    idle = replace(rotary, facts={**rotary.facts, "others": 0.01})
    assert not any("Other processes" in note for note in kernel_panels.notes(idle))


def test_runs_that_go_on_at_once_share_what_is_free() -> None:
    budget = Budget(10.0, 1 << 40, lambda: 1 << 30, sharers=4)
    assert budget.refusal("sdpa", 8, 200 << 20) == ""
    assert budget.refusal("sdpa", 8, 220 << 20) == (
        "8 tokens would need about 0.21 GiB, more than 20% of the 1 GiB that are free here and "
        "that 4 runs may share."
    )


def test_a_cross_stands_where_the_budget_ended_a_kernel() -> None:
    run = ran(
        link="rope?head_dim=8",
        heads=64,
        lengths=[64, 2048],
        most_memory=0.25,
        kernels="naive,sdpa",
    )
    panel = kernel_panels.panels(run)[0]
    crosses = [trace for trace in panel.figure.data if trace["name"].endswith("not run")]
    assert [(trace["name"], int(trace["x"][0])) for trace in crosses] == [
        (f"{KERNELS['naive']}: not run", 2048)
    ]
    assert "GiB" in crosses[0]["text"][0]
    assert any("Naive, whole matrix: 2,048 tokens" in line for line in kernel_tables.refusals(run))
    assert kernel_tables.as_csv(run).count("\n") == 1 + len(run.points)


def test_the_call_that_is_shown_runs(rotary: KernelRun, capsys: pytest.CaptureFixture[str]) -> None:
    exec(kernel_tables.call({**rotary.plan, "longest": 16, "kernels": "sdpa"}), {})
    assert "Point(kernel='sdpa', length=16" in capsys.readouterr().out


def test_stored_results_hold_what_the_page_says_and_every_point_is_within() -> None:
    command, runs = read_runs(STORED / "cpu.json")
    assert command == COMMAND  # without arguments, so its defaults made them
    assert [dict(run.plan) for run in runs] == [plan.arguments for plan in stored_plans()]
    for run in runs:
        known = {"torch", "python", "threads", "seed", "memory", "load", "others"}
        assert known <= set(run.facts)
        assert all(one.is_within is not False for one in run.points)
        assert all(one.control is None or one.control > 10 for one in run.points)
        assert len(run.of("naive_blocks")) >= 4
    assert runs[0].of("naive_blocks")[-1].length == 16384


def test_the_whole_command_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "runs.json"
    main(["--longest", "16", "--output", str(path), "--seconds=5"])
    command, runs = read_runs(path)
    assert command == f"{COMMAND} --longest 16 --seconds=5"
    assert [dict(run.plan) for run in runs] == [plan.arguments for plan in stored_plans(16, 5.0)]


def gpu_check() -> Any:
    place = importlib.util.spec_from_file_location("gpu_check", ROOT / "scripts" / "gpu_check.py")
    assert place is not None
    assert place.loader is not None
    module = importlib.util.module_from_spec(place)
    place.loader.exec_module(module)
    return module


def test_the_check_on_a_gpu_says_where_none_is(capsys: pytest.CaptureFixture[str]) -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    assert gpu_check().main([]) == 0
    assert capsys.readouterr().out == (
        "No CUDA GPU is at hand on this machine, so nothing was measured.\n"
    )


def test_the_check_on_a_gpu_runs_on_a_cpu(tmp_path: Path) -> None:
    path = tmp_path / "cpu.json"
    assert gpu_check().main(["--cpu", "--output", str(path)]) == 0
    plain = json.loads(path.read_text())
    assert plain["command"] == "python scripts/gpu_check.py --cpu"
    assert [run["plan"]["link"] for run in plain["runs"]] == ["rope?head_dim=32", "alibi"]
