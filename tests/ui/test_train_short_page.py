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
from posviz.lab.training.stored import stored, stored_extension, stored_for
from posviz.lab.training.trained import Extended, Trained
from posviz.lab.workers import Progress, Status
from posviz.ui import exchange
from posviz.ui.train_short import extension, results, runs, texts, words
from posviz.ui.train_short.curves import curves_of, extension_of
from posviz.ui.train_short.desk import DESK
from posviz.ui.train_short.expected import expected_seconds
from posviz.ui.train_short.fitting import fitted_in_words
from posviz.ui.train_short.lessons import LESSONS, lesson_of
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


def cut(view, slot, **more):
    """The same of a training that ran out of time."""
    note = "The training was cut after 30 s of one core, at step 21 of 400."
    return training(view, slot, notes=(note,), seconds=30.0, **more)


def kept(task, link, seed=0):
    """A stored training; while its file is missing the test is skipped and says so."""
    found = stored(task, link, seed)
    if found is None:
        pytest.skip(f"not stored yet: {task}, {link}, seed {seed}")
    return found


def kept_extension(task, seed=0):
    found = stored_extension(task, seed)
    if found is None:
        pytest.skip(f"not stored yet: extension of {task}, seed {seed}")
    return found


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
        "at_end": {"none": (2.0, 3.0, 5.0), "PI": (2.0, 3.0, 4.5), "YaRN": (0.5, 0.75, 1.0)},
        "right": dict.fromkeys(loss, (0.75, 0.5, 0.25)),
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
        *(lesson.address for lesson in LESSONS.values()),
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


def test_beyond_the_end_of_a_curve_its_formula_has_no_number():
    short = training(view_of(steps=100), "a", steps=(0, 50, 100), loss=(2.0, 1.0, 0.5))
    for step, x in ((40, (0, 50, 100)), (100, (0, 50, 100)), (101, ())):
        view = replace(view_of(steps=100, step=step), trained=(short,))
        slots = made(view)["loss"].slots
        assert tuple(slots["step"]["values"]) == x
        assert len(slots["loss"]["values"]) == len(x)


def test_what_is_not_stored_is_not_promised_where_nothing_can_be_trained(monkeypatch):
    view = view_of(seed=7)
    assert "“Train” above makes" in " ".join(made(view)["length"].notes)
    monkeypatch.setattr(runs, "missing", lambda *names, what: "Install torch, `make x`.")
    notes = " ".join(made(view)["length"].notes)
    assert "“Train”" not in notes
    assert "not stored. Install torch, make x." in notes


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
    kept("markov", posviz.link(encoding()))
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


def test_with_other_settings_the_stored_curve_is_a_faint_line_whose_name_says_what_differs():
    rope = kept("markov", "rope")
    view = view_of(steps=50, seed=7)
    curve = curves_of(view)[1]
    assert (curve.trained, curve.ghost) == (None, rope)
    assert curve.origin == "stored: steps 400, seed 0"
    names = [trace["name"] for trace in made(view)["length"].figure.data]
    assert "B · RoPE, stored: steps 400, seed 0" in names
    other = curves_of(view_of(**{"b.base": "500"}))[1]
    assert other.origin == "stored: as rope"


def test_a_stored_curve_of_another_length_of_training_is_not_drawn_but_named():
    kept("markov", "rope")
    view = view_of(length=32)
    curve = curves_of(view)[1]
    assert (curve.trained, curve.ghost) == (None, None)
    assert curve.origin == "not trained yet; stored only at L = 64"
    assert made(view)["length"].figure.data == []


def test_a_training_of_this_session_takes_the_place_of_the_stored_one_which_stays_as_a_ghost():
    rope = kept("markov", "rope")
    view = view_of()
    own = training(view, "b")
    curve = curves_of(replace(view, trained=(own,)))[1]
    assert curve.trained is own
    assert curve.is_own
    assert curve.ghost == rope
    assert curve.origin == "trained here in 12 s of one core"
    assert curve.result == ("B · RoPE", own)
    names = [t["name"] for t in made(replace(view, trained=(own,)))["length"].figure.data]
    assert {name for name in names if "RoPE" in name} == {"B · RoPE", "B · RoPE, stored, seed 0"}


def test_a_training_that_was_cut_is_named_so_and_leaves_the_whole_stored_one_beside_it():
    rope = kept("markov", "rope")
    view = view_of()
    view = replace(view, trained=(cut(view, "b"),))
    curve = curves_of(view)[1]
    assert curve.origin == "trained here, cut at step 20 of 400"
    assert curve.result == ("B · RoPE, stored, seed 0", rope)
    names = {trace["name"] for trace in made(view)["length"].figure.data}
    assert {"B · RoPE, cut at step 20 of 400", "B · RoPE, stored, seed 0"} <= names
    assert any("cut at step 20 of 400; faint: stored" in x for x in made(view)["length"].notes)
    first, second = results.rows(curve, view.plan)
    assert (first[1], second[1]) == (curve.origin, "stored, seed 0")
    assert "was cut after 30 s" in " ".join(results.notes(curve))


def test_a_training_that_was_cut_takes_no_place_of_one_that_came_to_its_end():
    view = view_of()
    whole, short = training(view, "b"), cut(view, "b")
    curve = curves_of(replace(view, trained=(whole, short)))[1]
    assert curve.trained is whole
    assert runs._with([whole], short) == [whole, short]
    assert runs._with([short], whole) == [whole]
    assert runs._with([whole], whole) == [whole]


def test_how_long_a_training_takes_is_told_by_the_stored_ones():
    rope = kept("markov", "rope")
    alone = {"a": "rope", **dict.fromkeys("bcdef", "off")}
    view = view_of(**alone, steps=800)
    assert expected_seconds(view.plan, curves_of(view)) == pytest.approx(2 * rope.seconds)
    assert f"about {2 * rope.seconds:.0f} s of one core each" in made(view)["length"].notes[-1]
    wide = view_of(**alone, width=32)
    assert expected_seconds(wide.plan, curves_of(wide)) == 0


def test_values_that_were_fitted_to_the_tiny_model_are_told_and_sizes_are_not():
    view = view_of(a="yarn", **dict.fromkeys("bcdef", "off"))
    fitted = "yarn?head_dim=16&scaling_factor=8&original_max_position_embeddings=64&beta_fast=8"
    own = training(view, "a", fitted=fitted)
    told = fitted_in_words(view.shown[0].spec, own)
    assert told.startswith("fitted to L = 64: ")
    assert "beta_fast 8 instead of 32" in told
    assert "head_dim" not in told
    seen = replace(view, trained=(own,))
    notes = {group["title"]: group["note"] for group in DESK.controls(seen)}
    assert notes["A · YaRN"] == told
    (curve,) = curves_of(seen)
    assert results.rows(curve, view.plan)[0][-1] == fitted
    assert "scaled frequencies (s = 8) from the first step" in " ".join(results.notes(curve))
    assert fitted_in_words(view.shown[0].spec, training(view, "a")) == ""


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


@pytest.mark.parametrize("title", LESSONS)
def test_every_curve_of_a_lesson_is_stored_and_its_panels_are_filled(title):
    view = view_of(**LESSONS[title].address)
    if not stored_for(view.plan.task):
        pytest.skip(f"not stored yet: anything of {view.plan.task}")
    assert [curve.origin for curve in curves_of(view)] == ["stored, seed 0"] * len(view.shown)
    for name, panel in made(view).items():
        assert panel.figure.data, name


@pytest.mark.parametrize("title", LESSONS)
def test_the_view_of_a_lesson_is_known_from_its_address_wherever_it_is_read(title):
    view = view_of(**LESSONS[title].address, test_length=200)
    assert lesson_of(DESK.address(view)) == title
    assert lesson_of(DESK.address(view_of(**LESSONS[title].address, seed=4))) == ""


def test_the_first_view_is_no_lesson():
    assert lesson_of({}) == ""


def test_flip_flop_shows_longer_denser_and_sparser_tests_side_by_side():
    view = view_of(task="flip_flop", **dict.fromkeys("bcdef", "off"), a="rope")
    lengths = view.plan.lengths
    scores = {
        "as trained": tuple(1.0 if x <= 64 else 0.75 for x in lengths),
        "denser": tuple(0.9375 for _ in lengths),
        "sparser": tuple(0.625 for _ in lengths),
    }
    rows = {
        name: {kind: tuple(x + by for x in row) for kind, row in scores.items()}
        for name, by in (("low", -0.25), ("high", 0.125))
    }
    answers = {kind: tuple(float(1000 + x) for x in lengths) for kind in scores}
    own = training(view, "a", scores=scores, answers=answers, **rows)
    view = replace(view, trained=(own,))
    panel = made(view)["memory"]
    assert panel.title == "Flip-flop memory: tests that differ from the training"
    (bars,) = panel.figure.data
    assert dict(zip(bars["x"], bars["y"], strict=True)) == {
        "as trained, 64": 1.0,
        "longer, 256": 0.75,
        "denser, 64": 0.9375,
        "denser, 256": 0.9375,
        "sparser, 64": 0.625,
        "sparser, 256": 0.625,
    }
    assert list(bars["error_y"]["array"]) == [0.125] * 6
    assert list(bars["error_y"]["arrayminus"]) == [0.25] * 6
    assert bars["customdata"][1] == "0.500 to 0.875<br>1,256 answers"
    assert "memory" not in made(view_of())


def test_counting_shows_its_own_kinds_of_test_and_no_word_of_the_flip_flop():
    view = view_of(task="counting", **dict.fromkeys("bcdef", "off"), a="rope")
    view = replace(view, trained=(training(view, "a"),))
    panel = made(view)["memory"]
    (bars,) = panel.figure.data
    assert bars["x"] == ["as trained, 64", "longer, 256", "sparser, 64", "sparser, 256"]
    assert panel.title.startswith("Counting:")
    said = " ".join([panel.words.help, panel.words.limits, panel.formula, *panel.notes])
    assert "read" not in said.replace("spread", "").replace("already", "")
    assert " bit" not in said


# --- extension


def test_the_extension_of_this_session_is_ranked_best_first_in_both_counts():
    view = view_of()
    swap = extension_of(replace(view, extended=(swapped(view, seconds=9.0),)))
    assert swap.is_own
    assert swap.origin == "trained here in 9 s of one core, seed 0"
    found = swap.found
    assert extension.ranking(found) == ["YaRN", "none", "PI"]
    rows = extension.rows(found)
    assert [row[0] for row in rows] == ["YaRN", "none", "PI"]
    assert rows[0][1:7] == ["0.500", "0.625", "0.750", "1.000", "0.250", "0.500"]
    assert len(rows[0]) == len(extension.titles(found))
    told = extension.sentences(found)
    assert "Over all tokens: YaRN 0.750 < none 3.000 < PI 4.000." in told
    assert "Over the last 64 tokens alone: YaRN 1.000 < PI 4.500 < none 5.000." in told
    assert "So PI does worse than nothing in the first count" in told


def test_where_both_counts_have_one_order_no_turn_is_told():
    view = view_of()
    end = {"none": (2.0, 3.0, 4.0), "PI": (2.0, 3.0, 4.5), "YaRN": (0.5, 0.75, 1.0)}
    assert "worse than nothing" not in extension.sentences(swapped(view, at_end=end))


def test_both_counts_and_every_position_of_an_extension_are_drawn():
    view = view_of()
    panels = made(replace(view, extended=(swapped(view),)))
    bars = panels["extension"].figure.data
    assert [trace["name"] for trace in bars] == [
        "s = 2, all 128 tokens",
        "s = 4, all 256 tokens",
        "s = 8, all 512 tokens",
        "s = 8, last 64 tokens alone",
    ]
    assert list(bars[-1]["y"]) == [1.0, 5.0, 4.5]
    lines = panels["extension_positions"].figure.data
    assert {line["name"]: list(line["y"]) for line in lines} == {
        "none": [0.5, 3.0],
        "PI": [0.5, 4.0],
        "YaRN": [0.5, 0.75],
    }


def test_a_stored_extension_of_other_settings_is_said_to_be_and_one_of_another_length_not_shown():
    kept_extension("markov")
    as_planned = extension_of(view_of())
    assert (as_planned.origin, as_planned.remark) == ("stored, seed 0", "")
    other = extension_of(view_of(steps=100, seed=7))
    assert other.remark == "Different from this plan: steps 400, seed 0."
    assert other.remark in made(view_of(steps=100, seed=7))["extension"].notes
    shorter = extension_of(view_of(length=32))
    assert shorter.found is None
    assert shorter.remark == "An extension is stored only for training at L = 64."
    assert "extension" not in made(view_of(length=32))


def test_an_extension_that_was_cut_gives_way_to_the_whole_stored_one_and_says_so():
    found = kept_extension("markov")
    view = view_of()
    note = ("The training was cut after 120 s of one core, at step 21 of 400.",)
    swap = extension_of(replace(view, extended=(swapped(view, notes=note),)))
    assert swap.found == found
    assert "was cut before its last step" in swap.remark
    alone = view_of(length=32)
    swap = extension_of(replace(alone, extended=(swapped(alone, notes=note, seconds=120.0),)))
    assert swap.origin == "trained here in 120 s of one core, cut before its last step, seed 0"


def test_a_model_that_has_not_learned_gets_no_explanation_of_its_order():
    view = view_of()
    near = dict.fromkeys(("none", "PI", "YaRN"), (1.5, 1.5, 1.5))
    poor = swapped(view, at_training_length=near)
    assert extension.why(swapped(view)) == extension.WHY["markov"]
    assert extension.why(poor) == ""
    notes = made(replace(view, extended=(poor,)))["extension"].notes
    assert "the model has not learned the task" in notes


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
    assert curves["YaRN: loss over the last L tokens against factor"][-1] == (8, 1.0)
    assert curves["YaRN: share right against factor"][-1] == (8, 0.25)
    assert curves["YaRN: loss at L against factor"][0] == (2, 0.5)
    assert curves["YaRN: loss against position at the largest factor"] == [(1, 0.5), (2, 0.75)]
    assert {row["seconds"] for row in rows if row["encoding"] == own.link} == {"12.25"}
    assert {row["trained as"] for row in rows if row["encoding"] == own.link} == {own.fitted}


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
    for link in ("sinusoidal", "rope", "alibi", "t5", "kerple_log", "nope"):
        kept("markov", link)
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
    monkeypatch.setattr(runs, "missing", lambda *names, what: f"{what} needs {names[0]}: `make x`.")
    app = page()
    assert all(button.disabled for button in app.button)
    assert "Training needs torch\\: `make x`." in [caption.value for caption in app.caption]
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


# --- what the page says of the stored numbers


def at(task, link, length, seed, kind="as trained"):
    one = kept(task, link, seed)
    return dict(zip(one.lengths, one.scores[kind], strict=True))[length]


def source(link, length, seed):
    return at("markov", link, length, seed)


def breaks_at_once(link, seed):
    return source(link, 64, seed) < 0.7 and source(link, 80, seed) > 2.0


def stays(link, seed):
    return max(kept("markov", link, seed).score) < 0.7


def gap(table, better, worse, task, seed):
    row = getattr(kept_extension(task, seed), table)
    return row[worse][-1] - row[better][-1]


def leads(method, others, task, seed):
    """In both counts."""
    return all(
        gap(table, method, other, task, seed) > 0
        for table in ("loss", "at_end")
        for other in others
    )


def memory_of(link, length, seed, kind="as trained"):
    return at("flip_flop", link, length, seed, kind)


LEARNERS = ("alibi", "rope", "sinusoidal")
REST = ("none", "PI", "NTK-aware", "temperature alone")
CLAIMS = {
    "Sinusoidal and learned positions break right after L": lambda s: (
        breaks_at_once("sinusoidal", s) and breaks_at_once("learned", s)
    ),
    "RoPE holds to 1.5 L and is lost at 4 L": lambda s: (
        source("rope", 96, s) < source("rope", 64, s) + 0.05
        and source("rope", 128, s) > source("rope", 64, s) + 0.2
        and source("rope", 256, s) > 1.8
    ),
    "ALiBi, KERPLE and T5 stay near the floor to 8 L": lambda s: all(
        stays(link, s) for link in ("alibi", "kerple_log", "t5")
    ),
    "FIRE bends near 3 L": lambda s: source("fire", 128, s) < 0.62 < 0.65 < source("fire", 192, s),
    "NoPE is poor already at L": lambda s: source("nope", 64, s) > 1.0,
    "On the source YaRN and by parts lead, whichever tokens are counted": lambda s: (
        leads("YaRN", REST, "markov", s) and leads("by parts", REST, "markov", s)
    ),
    "PI is worse than nothing over all tokens": lambda s: (
        gap("loss", "none", "PI", "markov", s) > 0
    ),
    "where plain RoPE fails as well, it is better than nothing": lambda s: (
        gap("at_end", "PI", "none", "markov", s) > 0
    ),
    "On retrieval YaRN and by parts lead at 8 L and PI is third": lambda s: (
        leads("YaRN", REST, "retrieval", s)
        and leads("by parts", REST, "retrieval", s)
        and leads("PI", set(REST) - {"PI"}, "retrieval", s)
    ),
    "ALiBi, RoPE and sinusoids learn it as trained; NoPE does not": lambda s: (
        min(memory_of(link, 64, s) for link in LEARNERS) > 0.98 and memory_of("nope", 64, s) < 0.9
    ),
    "Sinusoids and RoPE forget as the test gets longer, ALiBi does not": lambda s: (
        max(memory_of(link, 512, s) for link in ("sinusoidal", "rope")) < 0.85
        and memory_of("alibi", 512, s) > 0.97
    ),
    "Where writes get rare all fail beyond L": lambda s: all(
        memory_of(link, 256, s, "sparser") < 0.9 for link in LEARNERS
    ),
}


@pytest.mark.parametrize("seed", words.SEEDS)
@pytest.mark.parametrize("clause", CLAIMS)
def test_what_the_page_says_of_stored_curves_is_what_they_are(clause, seed):
    assert clause in " ".join(words.SEE.split())
    assert CLAIMS[clause](seed)


@pytest.mark.parametrize("seed", words.SEEDS)
@pytest.mark.parametrize("task", ["markov", "retrieval"])
def test_models_whose_frequencies_are_swapped_have_learned_their_task(task, seed):
    assert extension.has_learned(kept_extension(task, seed))


@pytest.mark.parametrize("seed", words.SEEDS)
def test_what_is_worse_than_nothing_in_one_count_only_is_named_for_the_stored_source(seed):
    assert "So PI does worse than nothing in the first count" in extension.sentences(
        kept_extension("markov", seed)
    )
