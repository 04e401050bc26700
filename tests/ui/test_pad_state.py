"""The map of two costs on the context-extension page: what it moves, and what it costs to move."""

import csv
import io
import re

import numpy as np
import pytest

from posviz import measures
from posviz.ui.context_extension import address
from posviz.ui.context_extension import pad as pads
from posviz.ui.context_extension.board import DESK, Session, answer
from posviz.ui.context_extension.pad import is_at_hand, map_of, pad_axes, pad_of
from posviz.ui.exchange import live_answer
from posviz.ui.live import pack


def opened(**parameters):
    view, problems = address.read_address({k.replace("__", "."): v for k, v in parameters.items()})
    assert problems == []
    return view


def asked(reply, number, **values):
    return {
        "seq": number,
        "values": {**reply["values"], **values},
        "have": {panel["id"]: panel["key"] for panel in reply["panels"]},
        "controls_key": reply["controls_key"],
        "texts_key": reply["texts_key"],
    }


def moved(view, reply, **values):
    """What the app's own route answers while a control moves."""
    return live_answer(DESK, {**asked(reply, 1, **values), **DESK.question(view)})


def panel(reply, panel_id="cost_pad"):
    return next(one for one in reply["panels"] if one["id"] == panel_id)


def trace(packed, name):
    return next(one for one in packed["figure"]["data"] if one["name"] == name)


@pytest.mark.parametrize(
    ("asked_for", "names", "controls"),
    [
        ({}, ("beta_fast", "beta_slow"), ("a.beta_fast", "a.beta_slow")),
        (
            {"model": "llama-3.2-1b"},
            ("high_freq_factor", "low_freq_factor"),
            ("a.high_freq_factor", "a.low_freq_factor"),
        ),
        ({"a": "linear"}, ("base", "scaling_factor"), ("base", "scaling_factor")),
        ({"a": "linear", "c": "ntk_by_parts"}, ("beta_fast", "beta_slow"), None),
        ({"pad": "base_and_factor"}, ("base", "scaling_factor"), ("base", "scaling_factor")),
        ({"a": "dynamic_yarn", "pad": "base_and_factor"}, ("beta_fast", "beta_slow"), None),
    ],
)
def test_first_method_with_a_ramp_is_shown_or_else_base_and_factor(asked_for, names, controls):
    pad = pad_of(opened(**asked_for))
    assert pad.names == names
    assert pad.controls == (controls or tuple(f"{pad.slot}.{name}" for name in names))


@pytest.mark.parametrize("method", ["off", "rerope", "abf", "dynamic_ntk"])
def test_methods_without_two_such_parameters_have_no_map_and_no_controls(method):
    view = opened(a=method)
    assert pad_axes(view) == {}
    reply = answer(Session(view), None)
    assert "cost_pad" not in {one["id"] for one in reply["panels"]}
    assert "Two costs" not in {group["title"] for group in reply["controls"]}


def test_choice_of_axes_is_offered_only_where_there_are_two():
    def offered(**parameters):
        reply = answer(Session(opened(**parameters)), None)
        return {item["name"] for group in reply["controls"] for item in group["items"]}

    assert {"pad", "weight"} <= offered()
    assert "pad" not in offered(a="linear")
    assert "weight" in offered(a="linear")


def test_point_that_moves_computes_no_map_again(monkeypatch):
    view = opened()
    session = Session(view)
    reply = answer(session, None)
    for measure in ("cost_pad", "propose"):
        monkeypatch.setattr(pads.measures, measure, lambda *_, **__: pytest.fail("computed again"))
    later = moved(view, reply, **{"a.beta_fast": 20, "a.beta_slow": 2})
    before, after = panel(reply), panel(later)
    assert before["key"] != after["key"]
    for name in ("J, weighted cost", "a, change at short range", "u, unseen arc"):
        assert trace(after, name)["z"].tobytes() == trace(before, name)["z"].tobytes()
    point = trace(after, "current point")
    assert (point["x"][0], point["y"][0]) == (20, 2)


def test_point_that_moves_sends_only_the_point():
    view = opened()
    reply = answer(Session(view), None)
    known = _ids(pack(reply))
    later = moved(view, reply, **{"a.beta_fast": 20, "a.beta_slow": 2})
    assert len(pack({"panel": panel(later)}, known=known)) < 5_000
    assert len(pack(later, known=known)) <= 60_000


def _ids(packet):
    return {found.decode() for found in re.findall(rb'"id":"([0-9a-f]{12})"', packet)}


def test_map_that_changes_waits_for_rest_and_is_then_that_of_the_new_values():
    view = opened()
    session = Session(view)
    reply = answer(session, None)
    later = moved(view, reply, base=23_456.0)
    assert panel(later) == {"id": "cost_pad", "key": panel(reply)["key"]}
    assert later["later"]
    rested = answer(session, {**asked(later, 1, base=23_456.0), "rest": True})
    spec = session.view.spec("a")
    gain = measures.temperature(spec, length=65536).gain
    assert any(
        f"change {_change(spec, 65536):.4g}," in note and f"scores × {gain:.4g}," in note
        for note in panel(rested)["notes"]
    )
    assert is_at_hand(pad_of(session.view))


def _change(spec, length):
    """Mean change of the mean cosine at distances 1 … 64, without the factor on the scores."""
    distances = np.arange(1.0, 65)[:, None]
    now, trained = spec.frequencies(length), spec.trained_frequencies()
    difference = np.cos(distances * now).mean(1) - np.cos(distances * trained).mean(1)
    return np.abs(difference).mean()


def test_proposal_says_its_weight_and_its_objective():
    view = opened(weight="0.25", pad="base_and_factor")
    shown = panel(answer(Session(view), None))
    pad = pad_of(view)
    found = measures.propose(map_of(pad), weight=0.25)
    assert shown["pad"]["proposal"] == list(found.point)
    said = next(note for note in shown["notes"] if note.startswith("proposal for w = 0.25"))
    assert f"base {found.point[0]:.0f}, scaling_factor {found.point[1]:g}" in said
    assert f"J = {found.objective:.3f}" in said
    assert trace(shown, "proposal, w = 0.25")["x"][0] == found.point[0]


def test_taking_the_proposal_gives_a_view_with_its_costs():
    session = Session(opened())
    reply = answer(session, None)
    fast, slow = panel(reply)["pad"]["proposal"]
    reply = answer(session, asked(reply, 1, **{"a.beta_fast": fast, "a.beta_slow": slow}))
    assert reply["problems"] == []
    assert (session.view.spec("a").beta_fast, session.view.spec("a").beta_slow) == (fast, slow)
    assert reply["address"].count("a.beta_") == 2


def test_target_that_follows_the_factor_is_held_while_the_point_moves():
    shown = panel(answer(Session(opened(pad="base_and_factor")), None))
    assert shown["pad"]["held"] == {"target": 65536}
    fixed = panel(answer(Session(opened(pad="base_and_factor", target="20000")), None))
    assert fixed["pad"]["held"] == {}
    assert panel(answer(Session(opened()), None))["pad"]["held"] == {}


def test_base_counts_against_the_model_as_it_was_read():
    view = opened(pad="base_and_factor", base="500000", target="65536", a="linear")
    pad = pad_of(view)
    assert pad.reference.base == 10_000
    assert pad.point == (500_000, 16)
    notes = panel(answer(Session(view), None))["notes"]
    assert "costs against the model as trained, base 10,000" in notes


@pytest.mark.parametrize(
    ("asked_for", "expected"),
    [
        ({}, {"this model; default everywhere": (32, 1)}),
        ({"model": "llama-3.2-1b"}, {"this model; default": (4, 1)}),
        (
            {"a": "ntk_by_parts"},
            {"paper": (32, 1), "2023 repository": (16, 2)},
        ),
    ],
)
def test_defaults_stand_where_their_owners_put_them(asked_for, expected):
    shown = panel(answer(Session(opened(**asked_for)), None))
    for name, (x, y) in expected.items():
        mark = trace(shown, name)
        assert (mark["x"][0], mark["y"][0]) == (x, y)


def test_yarn_names_every_implementation_that_has_the_default():
    notes = panel(answer(Session(opened()), None))["notes"]
    said = next(note for note in notes if note.endswith("beta_fast 32, beta_slow 1"))
    for name in ("paper", "transformers, vLLM", "llama.cpp", "MLX", "gpt-oss", "DeepSeek"):
        assert name in said


def test_point_outside_the_map_is_said_and_not_drawn_at_its_edge():
    shown = panel(answer(Session(opened(a__beta_fast="1000")), None))
    assert "current point" not in {one["name"] for one in shown["figure"]["data"]}
    assert any(note.startswith("point (outside the map)") for note in shown["notes"])


def test_csv_holds_the_map_and_both_costs():
    session = Session(opened())
    reply = answer(session, None)
    reply = answer(session, {**asked(reply, 1), "action": {"csv": "cost_pad"}})
    rows = list(csv.reader(io.StringIO(reply["download"]["text"])))
    starts = [row[0] for row in rows if row and "\\" in row[0]]
    assert starts == [r"beta_slow (turns) \ beta_fast (turns)"] * 3
    named = [row[0] for row in rows if len(row) == 1]
    assert named == ["J, weighted cost", "a, change at short range", "u, unseen arc"]


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        ({"weight": 2}, "weight must be a number of at least 0 and at most 1"),
        ({"pad": "nonsense"}, "pad must be one of ramp, base_and_factor"),
    ],
)
def test_settings_of_the_map_that_cannot_be_used_are_said(sent, sentence):
    session = Session(opened())
    reply = answer(session, None)
    reply = answer(session, asked(reply, 1, **sent))
    assert sentence in reply["problems"][0]["text"]
