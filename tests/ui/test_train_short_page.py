"""The page of tiny trainings: addresses, curves and their origin, tables, and no torch."""

from __future__ import annotations

import ast
import csv
import io
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import posviz
from posviz import ParameterError
from posviz.lab.training.plan import Plan
from posviz.lab.training.stored import stored
from posviz.lab.training.trained import Extended, Trained
from posviz.lab.workers import Progress, Status
from posviz.ui import exchange
from posviz.ui.train_short import extension, results, runs, texts
from posviz.ui.train_short.curves import curves_of, extension_of
from posviz.ui.train_short.desk import DESK
from posviz.ui.train_short.lessons import LESSONS
from posviz.ui.train_short.view import DEFAULTS, SLOTS, changed

ROOT = Path(__file__).parents[2]


def opened(**address):
    view, problems = DESK.read_address({name: str(value) for name, value in address.items()})
    return exchange.Session(view, problems)


def view_of(**address):
    session = opened(**address)
    assert session.problems == []
    return session.view


def made(view):
    """Every panel of a view."""
    return {name: make() for name, (_, make) in DESK.panels(view).items()}


def training(view, slot, **more):
    """A training of what stands in a slot, under the plan of the view, with made-up numbers."""
    item = next(one for one in view.shown if one.slot == slot)
    plan, task = view.plan, view.plan.about
    known = {
        "link": item.link,
        "fitted": item.link,
        "title": item.spec.title,
        "plan": plan.model_dump(),
        "steps": (0, 10, 20),
        "loss": (2.75, 1.5, 1.25),
        "lengths": plan.lengths,
        "scores": {name: tuple(0.5 for _ in plan.lengths) for name in task.variants},
        "positions": (1.5, 5.5),
        "by_position": (0.75, 0.625),
        "metric": task.metric,
        "best": task.best,
        "chance": task.chance,
        "seconds": 12.25,
        "is_done": True,
    }
    return Trained(**{**known, **more})


def swapped(view, **more):
    plan = extension.plan_of(view.plan)
    loss = {"none": (1.0, 2.0, 3.0), "PI": (2.0, 3.0, 4.0), "YaRN": (0.5, 0.625, 0.75)}
    known = {
        "plan": plan.model_dump(),
        "links": dict.fromkeys(loss, "rope"),
        "factors": (2.0, 4.0, 8.0),
        "loss": loss,
        "at_training_length": dict.fromkeys(loss, (0.5, 0.5, 0.5)),
        "positions": (1.0, 2.0),
        "curves": {name: (0.5, row[-1]) for name, row in loss.items()},
        "best": plan.about.best,
        "chance": plan.about.chance,
        "is_done": True,
    }
    return Extended(**{**known, **more})


# --- addresses


def test_the_first_view_needs_no_address_and_shows_six_encodings():
    view = view_of()
    assert DESK.address(view) == {}
    assert view.chosen == DEFAULTS
    assert view.plan == Plan()


@pytest.mark.parametrize(
    "address",
    [
        {"task": "copy"},
        {"task": "copy", "steps": "400"},
        {"steps": "800"},
        {"a": "rope", "a.base": "500", "b": "off", "seed": "3", "learning_rate": "0.001"},
        {"task": "flip_flop", "layers": "1", "width": "32", "heads": "2", "length": "32"},
        *LESSONS.values(),
    ],
    ids=str,
)
def test_an_address_restores_the_view_that_it_was_written_for(address):
    view = view_of(**address)
    again = view_of(**DESK.address(view))
    assert dict(again.values) == dict(view.values)
    for name, text in address.items():
        assert DESK.address(view).get(name, text) == text


def test_a_task_brings_the_steps_that_it_needs_unless_others_are_asked_for():
    assert view_of(task="copy").plan.steps == Plan.for_task("copy").steps != Plan().steps
    assert view_of(task="copy", steps=400).plan.steps == 400
    view = view_of()
    moved = changed(view, {**DESK.values(view), "task": "copy"})
    assert moved.plan.steps == Plan.for_task("copy").steps
    chosen = changed(view, {"steps": 123})
    assert changed(chosen, {**DESK.values(chosen), "task": "copy"}).plan.steps == 123


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ({"layers": "4"}, "Training: layers must be a whole number of at least 1 and at most 3"),
        ({"width": "128"}, "Training: width must be a whole number of at least 8 and at most 64"),
        ({"width": "20"}, "Training: width must be a multiple of twice the heads"),
        ({"task": "sorting"}, "Training: task must be one of markov, copy, reverse"),
        ({"steps": "many"}, "Training: steps must be a whole number"),
        ({"most_seconds": "600"}, "this page knows no setting 'most_seconds'"),
        ({"a": "ropes"}, "There is no encoding 'ropes'; closest: rope"),
        ({"a": "rope_2d"}, "rows of tokens"),
        ({"a": "off"}, "Slot A must hold an encoding"),
        ({"a": "alibi", "a.heads": "0"}, "ALiBi: heads must be"),
    ],
    ids=str,
)
def test_what_an_address_cannot_have_is_said_and_the_page_opens_without_it(address, sentence):
    session = opened(**address)
    assert len(session.problems) == 1
    assert session.problems[0].startswith("From the address: ")
    assert sentence in session.problems[0]
    assert session.view.plan == Plan()


def test_a_value_from_the_board_that_is_not_allowed_keeps_the_view():
    session = opened()
    before = session.view
    values = {**DESK.values(before), "heads": 7}
    reply = exchange.answer(DESK, session, {"seq": 1, "values": values})
    assert "must be a multiple of twice the heads" in reply["problems"][0]["text"]
    assert session.view is before


def test_only_what_can_be_trained_is_offered_and_the_rest_has_a_reason():
    for encoding in posviz.catalog():
        if encoding in SLOTS.offered:
            continue
        with pytest.raises(ParameterError) as caught:
            SLOTS.check("a", encoding.id)
        assert str(caught.value).endswith(".")
        assert encoding.title in str(caught.value)
    assert len(SLOTS.offered) >= 50


# --- curves and where they come from


@pytest.mark.parametrize("encoding", SLOTS.offered, ids=lambda one: one.id)
def test_the_stored_curve_of_every_encoding_is_drawn(encoding):
    view = view_of(a=encoding.id, **dict.fromkeys("bcdef", "off"))
    (curve,) = curves_of(view)
    assert curve.trained is not None
    assert not curve.is_own
    assert curve.origin == "stored, seed 0"
    panel = made(view)["length"]
    drawn = next(trace for trace in panel.figure.data if trace["name"].startswith("A · "))
    reached = dict(zip(curve.trained.lengths, curve.trained.score, strict=True))
    assert {float(x): float(y) for x, y in zip(drawn["x"], drawn["y"], strict=True)} == (
        pytest.approx({float(x): y for x, y in reached.items()}, nan_ok=True)
    )


def test_with_other_settings_the_stored_curve_is_a_faint_line_and_said_to_differ():
    view = view_of(steps=50)
    curve = curves_of(view)[1]
    assert curve.trained is None
    assert curve.ghost == stored("markov", "rope")
    assert curve.origin == "stored, at its own settings"
    assert results.row(curve, view.plan)[-1] == "steps 400"


def test_a_training_of_this_session_takes_the_place_of_the_stored_one_which_stays_as_a_ghost():
    view = view_of()
    own = training(view, "b")
    curve = curves_of(replace(view, trained=(own,)))[1]
    assert curve.trained is own
    assert curve.is_own
    assert curve.ghost == stored("markov", "rope")
    assert curve.origin == "trained here in 12 s"
    names = [t["name"] for t in made(replace(view, trained=(own,)))["length"].figure.data]
    assert len([name for name in names if "RoPE" in name]) == 2


def test_a_training_of_another_plan_or_link_is_not_taken_for_this_one():
    view = view_of()
    other = training(view_of(seed=5), "b"), training(view_of(**{"b.base": "100"}), "b")
    assert all(not curve.is_own for curve in curves_of(replace(view, trained=other)))


def test_the_key_of_a_panel_changes_with_every_new_point_of_a_training():
    view = view_of()
    parts = [training(view, "a", steps=(0,), loss=(2.7,), scores={}, is_done=False)]
    parts.append(training(view, "a", scores={}, is_done=False))
    parts.append(training(view, "a"))
    keys = [DESK.panels(replace(view, trained=(one,)))["loss"][0] for one in parts]
    assert len(set(keys)) == 3


def test_every_panel_of_every_lesson_is_filled():
    for address in LESSONS.values():
        for name, panel in made(view_of(**address)).items():
            assert panel.figure.data, (address, name)


def test_flip_flop_shows_longer_denser_and_sparser_tests_side_by_side():
    view = view_of(task="flip_flop", **dict.fromkeys("bcdef", "off"), a="rope")
    lengths = view.plan.lengths
    scores = {
        "as trained": tuple(1.0 if x <= 64 else 0.75 for x in lengths),
        "denser": tuple(0.9375 for _ in lengths),
        "sparser": tuple(0.625 for _ in lengths),
    }
    view = replace(view, trained=(training(view, "a", scores=scores),))
    (bars,) = made(view)["memory"].figure.data
    assert dict(zip(bars["x"], bars["y"], strict=True)) == {
        "as trained, 64": 1.0,
        "longer, 256": 0.75,
        "denser, 256": 0.9375,
        "sparser, 64": 0.625,
        "sparser, 256": 0.625,
    }
    assert "memory" not in made(view_of())


# --- extension


def test_the_extension_of_this_session_is_ranked_best_first():
    view = view_of()
    found, is_own = extension_of(replace(view, extended=(swapped(view),)))
    assert is_own
    assert extension.ranking(found) == ["YaRN", "none", "PI"]
    assert [row[0] for row in extension.rows(found)] == ["YaRN", "none", "PI"]
    assert "YaRN 0.750 < none 3.000 < PI 4.000" in extension.sentence(found)


def test_the_model_whose_frequencies_are_swapped_has_two_heads_where_they_fit():
    assert extension.plan_of(Plan()).heads == 2
    assert extension.plan_of(Plan(width=10, heads=1)).heads == 1


# --- tables, code, files


def test_every_number_of_a_training_is_in_the_csv():
    view = view_of()
    own = training(view, "a")
    rows = list(csv.DictReader(io.StringIO(results.as_csv([own], [swapped(view)]))))
    curves = {}
    for row in rows:
        curves.setdefault(row["curve"], []).append((float(row["x"]), float(row["value"])))
    assert curves["training loss against step"] == [(0, 2.75), (10, 1.5), (20, 1.25)]
    assert curves["loss against length: as trained"] == [(x, 0.5) for x in own.lengths]
    assert curves["loss against position"] == [(1.5, 0.75), (5.5, 0.625)]
    assert curves["YaRN: loss against factor"] == [(2, 0.5), (4, 0.625), (8, 0.75)]


def test_the_code_names_the_plan_and_links_of_the_view():
    view = view_of(task="copy", seed=3, c="off", d="off", e="off", f="off")
    code = texts.code(view)
    ast.parse(code)
    assert "plan = Plan.for_task('copy', seed=3)" in code
    assert "links = ['sinusoidal', 'rope']" in code
    assert eval(texts.written(view.plan), {"Plan": Plan}) == view.plan
    ast.parse(texts.extending(view_of()))


def test_the_code_of_the_page_trains_and_prints_a_result_for_each_length(capsys):
    sizes = {"layers": 1, "width": 8, "heads": 1, "length": 16, "test_up_to": 2}
    counts = {"steps": 2, "sequences": 2, "test_sequences": 1}
    view = view_of(a="nope", **dict.fromkeys("bcdef", "off"), **sizes, **counts)
    exec(texts.code(view), {})
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2].strip() == "100% done"
    assert lines[-1].startswith("NoPE {8: ")
    assert list(ast.literal_eval(lines[-1].removeprefix("NoPE "))) == [8, 16, 20, 24, 32]


# --- the jobs


@pytest.fixture
def state(monkeypatch):
    """A session without a server: what its jobs say, and what it keeps."""
    said = {"status": {}, "result": {}}
    monkeypatch.setattr(runs, "job_status", lambda key: said["status"].get(key))
    monkeypatch.setattr(runs, "result_of", lambda key: said["result"].get(key))
    monkeypatch.setattr(runs.st, "session_state", {})
    return said


def test_after_a_cancel_what_was_finished_stays_and_the_rest_goes(state):
    view = view_of()
    done, begun = training(view, "a"), training(view, "b", scores={}, is_done=False)
    said = Progress(1.5, 2, "", [done, begun])
    state["status"][runs.TRAIN] = Status("running", progress=said)
    assert runs.gathered(view).trained == (done, begun)
    state["status"][runs.TRAIN] = Status("cancelled", progress=said)
    assert runs.gathered(view).trained == (done,)
    state["status"].clear()
    assert runs.gathered(view).trained == (done,)


def test_a_newer_training_of_the_same_takes_the_place_of_the_older_one(state):
    view = view_of()
    state["result"][runs.TRAIN] = [training(view, "a")]
    runs.gathered(view)
    newer = training(view, "a", seconds=3.0)
    state["result"][runs.TRAIN] = [newer]
    assert runs.gathered(view).trained == (newer,)


def test_the_job_trains_each_encoding_of_the_board_once_under_the_plan(monkeypatch):
    started = []
    monkeypatch.setattr(runs, "run_job", lambda key, job: started.append((key, job)))
    view = view_of(c="rope", steps=20)
    runs.start_training(view)
    runs.start_extension(view)
    (key, job), (other, extend) = started
    assert (key, other) == (runs.TRAIN, runs.EXTEND)
    assert job.task == "posviz.lab.training.run:train_all"
    assert job.arguments["links"] == ["sinusoidal", "rope", "t5", "kerple_log", "nope"]
    assert Plan(**job.arguments["plan"]) == view.plan
    assert extend.arguments["factors"] == [2.0, 4.0, 8.0]
    assert Plan(**extend.arguments["plan"]).heads == 2


# --- the page itself


def page(**parameters):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    for name, value in parameters.items():
        app.query_params[name] = value
    app.switch_page("pages/train_short.py").run()
    assert not app.exception
    return app


def test_the_page_opens_with_stored_results_their_versions_and_the_command():
    app = page()
    captions = " ".join(caption.value for caption in app.caption)
    assert "`python -m posviz.lab.training` makes them again" in captions
    assert "torch" in captions
    tables = [one.proto.body for one in app.get("html") if "posviz-trained'" in one.proto.body]
    assert tables[0].count("stored, seed 0") == 6
    assert [button.label for button in app.button] == [
        "Train these 6 encodings",
        "Train RoPE and swap its frequencies",
    ]


def test_without_torch_the_page_says_how_to_get_it_and_still_shows_what_is_stored(monkeypatch):
    monkeypatch.setattr(runs, "missing", lambda *names: f"This needs {names[0]}.")
    app = page()
    assert all(button.disabled for button in app.button)
    assert "This needs torch." in [caption.value for caption in app.caption]
    assert any("posviz-trained'" in one.proto.body for one in app.get("html"))


def test_the_process_of_the_page_imports_no_torch():
    script = (
        "import sys; from streamlit.testing.v1 import AppTest; "
        "app = AppTest.from_file('app.py', default_timeout=60).run(); "
        "app.switch_page('pages/train_short.py').run(); "
        "assert not app.exception, app.exception; "
        "print([name for name in ('torch', 'transformers', 'scipy.stats') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip().splitlines()[-1] == "[]"
