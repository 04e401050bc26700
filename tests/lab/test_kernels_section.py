"""The section on kernels without a browser: controls, address, stored results, the job."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from posviz.lab.kernels import KernelPlan
from posviz.lab.kernels.records import KernelRun, Point
from posviz.lab.workers import Progress, Status
from posviz.ui.real_attention import kernel_panels, kernel_runs, kernel_tables, kernels


def script() -> None:
    from posviz.ui.real_attention import kernels

    kernels.show()


def opened(**address: str) -> AppTest:
    app = AppTest.from_function(script, default_timeout=60)
    for name, value in address.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def address_of(app: AppTest) -> dict[str, str]:
    found = app.query_params.items()
    return {name: one if isinstance(one, str) else one[0] for name, one in found}


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Jobs that were asked for; none is run."""
    found: list[Any] = []
    monkeypatch.setattr(kernels, "run_job", lambda key, job: found.append((key, job)))
    return found


def test_the_first_view_shows_stored_results_and_says_so() -> None:
    app = opened()
    assert app.info[0].value.startswith("Stored, not measured now")
    assert app.info[0].value.endswith("again\\: `python -m posviz.lab.kernels`")
    assert next(iter(app.dataframe[0].value["kernel"])) == "Naive, whole matrix"
    assert "yes" in set(app.dataframe[0].value["within"])
    assert address_of(app) == {}


def test_an_address_restores_the_choice_and_run_starts_it(started: list[Any]) -> None:
    app = opened(link="alibi?heads=4", dtype="bfloat16", longest="512", kernels="sdpa,naive")
    app.button(key="kernels-run").click().run()
    assert not app.exception
    ((key, job),) = started
    assert (key, job.task) == ("kernels", "posviz.lab.kernels.run:measure")
    assert KernelPlan(**job.arguments) == KernelPlan(
        link="alibi?heads=4", dtype="bfloat16", longest=512, kernels="naive,sdpa"
    )
    assert address_of(app)["link"] == "alibi?heads=4"


def test_a_control_writes_the_address() -> None:
    app = opened()
    app.number_input(key="kernels-heads").set_value(2).run()
    assert address_of(app) == {"heads": "2"}
    app.selectbox(key="kernels-link").set_value("t5").run()
    assert address_of(app) == {"heads": "2", "link": "t5"}
    app.number_input(key="kernels-heads").set_value(None).run()
    assert address_of(app) == {"link": "t5"}


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("is_causal", "banana", "is_causal must be"),
        ("batch", "-1", "batch must be"),
        ("heads", "100000", "heads must be"),
        ("seed", "1e308", "seed must be"),
        ("dtype", "banana", "dtype must be"),
        ("most_seconds", "1e308", "most_seconds must be"),
        ("most_memory", "-5", "most_memory must be"),
        ("longest", "-1", "longest must be"),
        ("kernels", "naive,foo", "kernels must be"),
    ],
)
def test_an_address_out_of_range_is_told_and_not_used(name: str, text: str, said: str) -> None:
    app = opened(**{name: text})
    assert said in app.warning[0].value.replace("\\", "")
    assert not app.error
    assert address_of(app) == {}


def test_what_cannot_be_used_is_said_and_not_run() -> None:
    app = opened(link="nothing", batch="many")
    assert "batch must be a whole number" in app.warning[0].value
    assert "There is no encoding 'nothing'" in app.error[0].value
    assert "kernels-run" not in {button.key for button in app.button}


def test_lengths_of_ones_own_replace_the_doubled_ones() -> None:
    app = opened()
    app.text_input(key="kernels-lengths").set_value("100,50").run()
    assert address_of(app) == {"lengths": "100,50"}
    assert any("at 50, 100 tokens" in one.value for one in app.caption)
    app.text_input(key="kernels-lengths").set_value("1,x").run()
    assert "lengths must be a list of numbers" in app.error[0].value


def test_a_number_that_was_not_measured_is_a_dash_and_a_column_without_a_word_is_left_out() -> None:
    table = opened().dataframe[0]
    assert table.proto.placeholder == "–"
    assert list(table.value) == [name for name in kernel_tables.COLUMNS if name != "note"]


@pytest.mark.parametrize(
    ("count", "told"),
    [
        (1.04, "1 core"),
        (0.97, "0.97 cores"),
        (1.25, "1.2 cores"),
        (2, "2 cores"),
        (123.4, "123 cores"),
    ],
)
def test_cores_that_others_used_are_counted_in_words(count: float, told: str) -> None:
    stored = kernels._stored_runs()[1][0]
    run = replace(stored, facts={**stored.facts, "others": count})
    assert f"Other processes used {told} meanwhile" in kernel_panels.busy(run)[0]
    assert f" {told} used by other processes meanwhile" in kernel_tables.machine(run)


def test_numbers_to_be_typed_have_their_unit() -> None:
    app = opened()
    assert [one.label for one in app.number_input] == [
        "batch",
        "heads",
        "head dim",
        "shortest (tokens)",
        "longest (tokens)",
        "most seconds",
        "most memory (GiB)",
        "seed",
    ]
    assert app.text_input[0].label == "lengths (tokens)"


def run_of(link: str, *lengths: int) -> KernelRun:
    points = tuple(Point("naive", length, seconds=1e-3 * length) for length in lengths)
    plan = KernelPlan(link=link, lengths=list(lengths), kernels="naive").arguments
    shape = {"batch": 1, "heads": 2, "head_dim": 16}
    facts = {"torch": "2", "load": 0.0, "others": 0.0, "threads": 1, "memory": "none"}
    return KernelRun(plan, link.upper(), shape, "a processor", points=points, facts=facts)


def test_every_run_of_a_session_stays_also_one_that_was_cancelled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state: dict[str, Any] = {"result": None, "status": None}
    monkeypatch.setattr(kernel_runs, "result_of", lambda key: state["result"])
    monkeypatch.setattr(kernel_runs, "job_status", lambda key: state["status"])
    app = opened()
    assert not any("Measured in this session" in one.value for one in app.markdown)
    state["result"] = run_of("rope", 64, 128)
    app.run()
    assert "Measured in this session: **ROPE, rope, float32, 1 × 2 heads of 16 dimensions, up" in (
        " ".join(one.value for one in app.markdown)
    )
    assert "other settings than those above" in " ".join(one.value for one in app.info)
    cut = run_of("alibi", 64)
    state["status"] = Status("cancelled", progress=Progress(1, 4, "", cut), seconds=3.0)
    app.run()
    box = app.selectbox(key="kernels-run-shown-2")
    assert [text.partition(",")[0] for text in box.options] == ["2: ALIBI", "1: ROPE"]
    assert list(app.dataframe[0].value["length"]) == [64]
    box.set_value(1).run()
    assert list(app.dataframe[0].value["length"]) == [64, 128]
    state["status"] = Status("cancelled", seconds=1.0)  # ended before it measured anything
    app.run()
    assert len(app.selectbox(key="kernels-run-shown-2").options) == 2


def test_the_newest_runs_are_kept_each_once_under_its_own_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state: dict[str, Any] = {"result": run_of("rope", 64), "status": None}
    session: dict[str, Any] = {}
    monkeypatch.setattr(kernel_runs, "result_of", lambda key: state["result"])
    monkeypatch.setattr(kernel_runs, "job_status", lambda key: state["status"])
    monkeypatch.setattr(kernel_runs.st, "session_state", session)
    assert list(kernel_runs.of_session("kernels")) == [1]
    for length in range(2, 2 + kernel_runs.MOST_KEPT + 3):
        cut = run_of("alibi", length)
        state["status"] = Status("cancelled", progress=Progress(1, 4, "", cut), seconds=3.0)
        kernel_runs.of_session("kernels")
        runs = kernel_runs.of_session("kernels")  # a page runs more often than a job ends
        assert runs[max(runs)] is cut
        assert max(runs) == length
    assert len(runs) == kernel_runs.MOST_KEPT
    assert all(run.link == "alibi" for run in runs.values())


def test_settings_that_were_measured_are_not_called_other_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = run_of("rope", 64)
    said: list[str] = []
    monkeypatch.setattr(kernel_runs.st, "info", said.append)
    kernel_runs.chosen({1: run}, KernelPlan(**run.plan), "kernels")
    assert said == []
    kernel_runs.chosen({1: run}, KernelPlan(**{**run.plan, "seed": 3}), "kernels")
    assert len(said) == 1
