"""The state of the attention page: views, addresses, exchanges with the browser, panels, texts."""

import contextlib
import io
import json
import math
import struct
from pathlib import Path
from urllib.parse import parse_qsl

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import posviz
from posviz import ParameterError, measures
from posviz.catalog import link
from posviz.ui import exchange, live
from posviz.ui.attention import curves
from posviz.ui.attention.desk import DESK, SLOW
from posviz.ui.attention.lessons import LESSONS
from posviz.ui.attention.view import DEFAULTS, SLOTS, changed

ROOT = Path(__file__).parents[2]
ALONE = {"b": "off", "c": "off", "d": "off"}
SHARED = ["decay", "weights", "entropy", "reach", "needle", "first_token", "resolution"]
every_offered = pytest.mark.parametrize("encoding", SLOTS.offered, ids=lambda one: one.id)


@pytest.fixture
def short(monkeypatch):
    """Curves against context length end early, for encodings that take long over each length."""
    monkeypatch.setattr(curves, "CURVES_TO", 64)


def opened(**address):
    view, problems = DESK.read_address({name: str(value) for name, value in address.items()})
    return exchange.Session(view, problems)


def view_of(**address):
    session = opened(**address)
    assert session.problems == []
    return session.view


def ask(session, **more):
    values = more.pop("values", {})
    request = {"seq": session.answered + 1, "rest": True, **more}
    request["values"] = {**DESK.values(session.view), **values}
    return exchange.answer(DESK, session, request)


def made(view):
    """Every panel of a view with its key."""
    return {name: (key, make()) for name, (key, make) in DESK.panels(view).items()}


def by_id(reply):
    return {panel["id"]: panel for panel in reply["panels"]}


def header_of(reply):
    """What a browser reads; JSON has no word for NaN, so neither may the packet."""

    def refuse(word):
        raise AssertionError(f"{word} in JSON")

    packet = live.pack(reply)
    (length,) = struct.unpack_from("<I", packet)
    return json.loads(packet[4 : 4 + length], parse_constant=refuse)


def axes_of(figure):
    return {name: axis for name, axis in figure["layout"].items() if name[1:].startswith("axis")}


def y_at(trace, x):
    """The trace's own value at one x."""
    (place,) = np.flatnonzero(np.asarray(trace["x"]) == x)
    return float(trace["y"][place])


def assert_is_drawn(reply):
    assert reply["problems"] == []
    for panel in header_of(reply)["panels"]:
        for name, axis in axes_of(panel["figure"]).items():
            low, high = axis["range"]
            assert math.isfinite(low), (panel["id"], name)
            assert math.isfinite(high), (panel["id"], name)
            assert low != high, (panel["id"], name)
    for panel in reply["panels"]:
        shown = [trace.get("z", trace["y"]) for trace in panel["figure"]["data"]]
        empty = not any(np.isfinite(np.asarray(one, dtype=float)).any() for one in shown)
        # A log axis has no place for errors of 0; then the notes say so.
        exact = [" changes no " in note for note in panel["notes"][1:]]
        assert empty == (panel["id"] == "precision" and all(exact)), panel["id"]
        assert panel["help"].endswith(".")


# Which encodings, and at what length.


@every_offered
def test_every_encoding_that_is_offered_fills_every_panel_alone(encoding, short):
    session = opened(a=encoding.id, length=64, trained=64, window=8, **ALONE)
    assert session.problems == []
    reply = exchange.answer(DESK, session, {})
    assert_is_drawn(reply)
    panels = by_id(reply)
    assert {*SHARED, "receptive", "matrix", "key_share", "query_entropy"} <= set(panels)
    spec = session.view.shown[0].spec
    name = panels["entropy"]["figure"]["data"][0]["name"]
    assert name == session.view.shown[0].label
    assert name.startswith(f"A · {spec.title}")
    curve = panels["entropy"]["figure"]["data"][0]
    expected = measures.context_curves(spec, [64], content=session.view.content)
    assert y_at(curve, 64) == pytest.approx(expected.entropy[0], rel=1e-12)


@pytest.mark.parametrize(
    ("address", "longest"),
    [
        ({"a": "cnn_zero_padding"}, 384),
        ({"a": "learned", "a.rows": 16}, 16),
        ({"a": "tupe", "a.rows": 16}, 15),
        ({"a": "randomized", "a.max_position": 64}, 64),
        ({"a": "shape"}, 512),
    ],
    ids=lambda one: str(one),
)
def test_an_encoding_whose_table_ends_is_drawn_as_far_as_it_goes_and_says_so(address, longest):
    view = view_of(length=4096, place=4000, **ALONE, **address)
    panels = DESK.panels(view)
    weights = panels["weights"][1]()
    assert weights.figure.data[0]["x"][-1] == longest - 1
    assert any(f"drawn to {longest:,} tokens" in note for note in weights.notes)
    matrix = panels["matrix"][1]()
    assert matrix.figure.data[0]["x"][-1] == longest - 1
    assert DESK.controls(view)


def test_an_encoding_without_any_row_of_that_length_is_refused_in_its_own_words():
    session = opened(a="cnn_zero_padding", **{"a.rows": 1, "a.columns": 1}, **ALONE)
    assert len(session.problems) == 1
    assert "positions must be whole numbers from 0 to 0" in session.problems[0]


@pytest.mark.parametrize("length", [8, 1 << 22])
def test_the_shortest_and_the_longest_context_are_drawn(length):
    session = opened(a="rope", b="alibi", c="nope", d="off", length=length)
    reply = exchange.answer(DESK, session, {})
    assert_is_drawn(reply)
    panels = by_id(reply)
    assert panels["weights"]["figure"]["data"][0]["x"][-1] == length - 1
    flat = panels["entropy"]["figure"]["data"][2]
    assert flat["name"] == "C · NoPE"
    assert flat["x"][-1] == max(length, 65536)
    np.testing.assert_allclose(flat["y"], np.log(flat["x"]), rtol=1e-12)


def test_one_to_six_encodings_have_lines_of_six_colours_and_six_dashes():
    chosen = ["rope", "yarn", "alibi", "xpos", "log_n", "nope"]
    session = opened(length=512, **dict(zip("abcdef", chosen, strict=True)))
    reply = exchange.answer(DESK, session, {})
    assert_is_drawn(reply)
    legend = reply["legend"]
    titles = [
        f"{slot} · {posviz.get(one).title}" for slot, one in zip("ABCDEF", chosen, strict=True)
    ]
    # Where heads differ, the name says which one is shown.
    assert [item["name"].removesuffix(", head 0") for item in legend] == titles
    titles = [item["name"] for item in legend]
    assert len({item["dash"] for item in legend}) == 6
    assert len({item["color"]["light"] for item in legend}) == 6
    panels = by_id(reply)
    for name in SHARED:
        lines = {trace["name"]: trace for trace in panels[name]["figure"]["data"]}
        assert set(titles) <= set(lines), name
        for item in legend:
            line = lines[item["name"]]["line"]
            assert (line["color"], line["dash"]) == (item["color"], item["dash"])


def test_a_slot_keeps_its_colour_when_the_ones_before_it_are_empty():
    full, gap = view_of(), view_of(b="off", c="off")
    before = {item["name"]: item["color"] for item in DESK.legend(full)}
    assert [item["name"][0] for item in DESK.legend(gap)] == ["A", "D"]
    for item in DESK.legend(gap):
        assert item["color"] == before[item["name"]]


REFUSED = [one for one in posviz.catalog() if one not in SLOTS.offered]


@pytest.mark.parametrize("encoding", REFUSED, ids=lambda one: one.id)
def test_what_has_no_row_of_logits_is_refused_with_the_reason(encoding):
    session = opened(c=encoding.id)
    reasons = {
        "length_curriculum": "it says nothing about the logits of queries and keys.",
    }
    grid = "its positions stand on a grid, so that no single distance names a key."
    expected = f"{encoding.title}: {reasons.get(encoding.id, grid)}"
    assert session.problems == [f"From the address: {expected} The page opened with another one."]
    (problem,) = ask(opened(), values={"c": encoding.id})["problems"]
    assert problem["text"] == f"{expected} The plots still show the settings before."
    choices = [one["value"] for one in DESK.controls(view_of())[3]["items"][0]["choices"]]
    assert encoding.id not in choices


def test_grids_and_recipes_are_what_is_refused():
    assert sorted(one.id for one in REFUSED) == [
        "length_curriculum",
        "rope_2d",
        "rope_2d_mixed",
        "rope_3d",
        "sinusoidal_2d",
        "sinusoidal_3d",
    ]


# Addresses.


@every_offered
def test_an_address_restores_every_value(encoding):
    view = view_of(a=encoding.id, **ALONE)
    sent = {"length": 300, "trained": 77, "question": "given", "typed_query": "1, -2.5"}
    sent |= {"content": "needle", "sigma": 0.25, "match": 10.123456789, "needle_turns": True}
    sent |= {"depth": 0.1, "seed": 9, "place": 13, "distance": 5, "head": 2, "precision": "float16"}
    view = DESK.take(view, sent)
    lowest = {
        f"a.{one.name}": one.parameter.slider[0]
        for one in encoding.declarations()
        if one.parameter.slider is not None
    }
    for values in (lowest, *({name: value} for name, value in lowest.items())):
        with contextlib.suppress(ParameterError):  # not allowed beside the other values
            view = DESK.take(view, values)
            break
    address = DESK.address(view)
    again, problems = DESK.read_address(dict(address))
    assert problems == []
    assert again.values == view.values
    assert DESK.address(again) == address
    assert [link(one) for one in again.specs.values()] == [link(view.specs["a"])]


def test_the_first_view_has_an_empty_address_and_four_encodings():
    view = view_of()
    assert DESK.address(view) == {}
    assert view.chosen == DEFAULTS == {"a": "rope", "b": "yarn", "c": "alibi", "d": "xpos"}
    assert DESK.values(view)["e"] == "off"


def test_typed_lists_come_back_from_an_address_as_they_were():
    view = view_of(question="given", typed_query="1,-0.5,1e-3", typed_key="2")
    assert view.values["typed_query"] == (1.0, -0.5, 0.001)
    again, problems = DESK.read_address(DESK.address(view))
    assert (again.values, problems) == (view.values, [])
    assert DESK.values(view)["typed_key"] == "2"
    emptied = DESK.take(view, {"typed_query": "", "typed_key": ""})
    assert emptied.values["typed_query"] == ()
    assert DESK.read_address(DESK.address(emptied))[0].values == emptied.values


def test_a_zoom_stands_in_the_session_and_not_in_the_address():
    session = opened()
    reply = ask(session, zoom={"decay": [100, 200], "gone": [1, 2]})
    assert reply["zoom"] == {"decay": (100.0, 200.0), "gone": (1.0, 2.0)}
    assert reply["address"] == ""
    assert session.view.zooms == {"decay": (100.0, 200.0)}
    assert ask(session)["address"] == ""
    assert session.view.zooms == {}


def test_what_an_address_cannot_mean_is_reported_setting_by_setting():
    session = opened(
        length=7, sigma=-1, content="empty", theta=1, seed="1.5", distance="nan", **{"b.base": 0}
    )
    said = [problem.removeprefix("From the address: ") for problem in session.problems]
    assert len(said) == 7
    assert said[0] == "this page knows no setting 'theta', so it was not used."
    for start, sentence in zip(
        (
            "This page: length must be a whole number of at least 8 and at most 4194304; got 7.",
            "This page: sigma must be a number of at least 0 and at most 100; got -1",
            "This page: content must be one of",
            "This page: seed must be a whole number",
            "This page: distance must be a whole number",
            "YaRN: base must be a number",
        ),
        said[1:],
        strict=True,
    ):
        assert sentence.startswith(start)
        assert sentence.endswith(" It was not used.")
    assert session.view.values == view_of().values


def test_the_first_slot_must_hold_an_encoding():
    session = opened(a="off")
    assert session.problems == [
        "From the address: Slot A must hold an encoding; got 'off'. The page opened with another "
        "one."
    ]
    assert session.view.chosen["a"] == "rope"
    (problem,) = ask(session, values={"a": "off"})["problems"]
    assert problem["text"].startswith("Slot A must hold an encoding; got 'off'.")


def test_places_beyond_the_context_move_to_its_end():
    view = view_of(length=100, place=5000, distance=5000)
    assert (view.values["place"], view.values["distance"]) == (99, 99)
    session = opened(place=20000, distance=30000)
    before = session.epoch
    reply = ask(session, values={"length": 64})
    assert (reply["values"]["place"], reply["values"]["distance"]) == (63, 63)
    assert session.epoch == before + 1
    assert_is_drawn(reply)


def test_the_encoding_that_is_shown_alone_stands_in_a_slot_that_holds_one():
    view = view_of(lead="c", c="off", d="off")
    assert view.values["lead"] == "a"
    session = opened(lead="c", length=512)
    assert by_id(ask(session))["key_share"]["notes"] == ["C · ALiBi, head 0"]
    reply = ask(session, values={"c": "off"})
    assert reply["problems"] == []
    assert reply["values"]["lead"] == "a"
    assert by_id(reply)["key_share"]["notes"] == ["A · RoPE"]
    (choice,) = [
        item for group in reply["controls"] for item in group["items"] if item["name"] == "lead"
    ]
    assert [one["value"] for one in choice["choices"]] == ["a", "b", "d"]


def test_a_head_beyond_the_last_is_the_last():
    last, beyond = (made(view_of(a="alibi", length=512, head=head, **ALONE)) for head in (7, 511))
    for name in ("decay", "weights", "entropy", "matrix"):
        for one, other in zip(last[name][1].figure.data, beyond[name][1].figure.data, strict=True):
            np.testing.assert_array_equal(one.get("z", one["y"]), other.get("z", other["y"]))


# Values that cannot be used.


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        ({"length": 7}, "This page: length must be a whole number of at least 8 and at most"),
        ({"length": 1 << 23}, "This page: length must be a whole number of at least 8"),
        ({"length": 10**400}, "got a whole number of about "),
        ({"length": math.nan}, "This page: length must be a whole number"),
        ({"match": math.inf}, "This page: match must be a number of at least 0 and at most 1000"),
        ({"match": 1e308}, "This page: match must be a number of at least 0 and at most 1000"),
        ({"sigma": math.nan}, "This page: sigma must be a number"),
        ({"seed": -1}, "This page: seed must be a whole number of at least 0"),
        ({"seed": 1 << 32}, "This page: seed must be a whole number of at least 0"),
        ({"window": 513}, "This page: window must be a whole number of at least 8 and at most 512"),
        ({"layers": 0}, "This page: layers must be a whole number of at least 1"),
        ({"head": 512}, "This page: head must be a whole number of at least 0"),
        ({"lead": "g"}, "This page: lead must be one of"),
        ({"question": "same"}, "This page: question must be one of"),
        ({"precision": "fp8"}, "This page: precision must be one of"),
        ({"needle_turns": "maybe"}, "This page: needle_turns must be"),
        ({"typed_query": "1, 1000"}, "This page: typed_query"),
        ({"typed_key": "one"}, "This page: typed_key"),
        ({"typed_key": "nan"}, "This page: typed_key"),
        ({"a.base": 0}, "RoPE: base must be"),
        ({"e": "no such"}, "There is no encoding 'no such'"),
    ],
    ids=lambda one: str(one)[:40],
)
def test_a_value_that_cannot_be_used_is_named_and_the_pictures_stay(sent, sentence):
    session = opened()
    before = session.view
    shown = {name: key for name, (key, _) in DESK.panels(before).items()}
    reply = ask(session, values=sent, have=shown)
    (problem,) = reply["problems"]
    assert sentence in problem["text"]
    assert problem["text"].endswith("The plots still show the settings before.")
    assert len(problem["text"]) < 400
    assert session.view is before
    assert reply["panels"] == [{"id": name, "key": key} for name, key in shown.items()]
    question = {**DESK.question(before), "values": sent, "have": shown, "seq": 5}
    moving = exchange.live_answer(DESK, question)
    assert sentence in moving["problems"][0]["text"]
    assert moving["panels"] == reply["panels"]


@pytest.mark.parametrize("ends", [[5, 5], [9, 1], [1], [math.nan, 2], [0, math.inf], "12", None])
def test_a_zoom_that_is_no_range_is_refused(ends):
    (problem,) = ask(opened(), zoom={"decay": ends})["problems"]
    assert "zoom of 'decay' must be two finite numbers, the smaller one first" in problem["text"]


@pytest.mark.parametrize("ends", [[-1e9, -5], [1e8, 1e9], [-1e300, 1e300], [0.2, 0.4], [99, 99.5]])
def test_a_zoom_beside_the_curve_draws_what_there_is(ends):
    session = opened(length=1000)
    assert_is_drawn(ask(session, zoom={"decay": ends, "weights": ends}))


# What is drawn.


@pytest.mark.parametrize("question", ["equal", "independent", "given"])
@pytest.mark.parametrize("content", ["zero", "gaussian", "same", "needle"])
def test_every_content_and_every_question_is_drawn(content, question):
    reply = ask(opened(content=content, question=question, length=512))
    assert_is_drawn(reply)


@pytest.mark.parametrize(
    "extreme",
    [
        {"match": 0, "sigma": 0},
        {"match": 1000, "sigma": 100},
        {"depth": 0, "content": "needle"},
        {"depth": 1, "content": "needle", "needle_turns": "true"},
        {"question": "given", "typed_query": "0", "typed_key": "0"},
        {"question": "given", "correlation": -1},
        {"question": "independent", "sigma": 0},
        {"content": "gaussian", "sigma": 100},
        {"c.heads": 1},
        {"c.slope_scale": 1000},
        {"window": 8, "place": 0, "layers": 1, "trained": 8},
        {"trained": 1 << 22, "length": 8},
    ],
    ids=str,
)
def test_the_ends_of_what_is_allowed_are_drawn(extreme):
    session = opened(**{"length": 512, **extreme})
    assert session.problems == []
    assert_is_drawn(ask(session))


def test_the_value_at_the_cursor_and_at_the_length_is_its_own():
    view = view_of(length=100_003, distance=77_777, content="same")
    panels = made(view)
    spec = posviz.parse("rope")
    scores = measures.equal_scores(spec, length=100_003, match=10.5)
    assert y_at(panels["decay"][1].figure.data[0], 77_777) == pytest.approx(scores[77_777])
    profile = measures.weight_profile(spec, 100_003, content=view.content)
    weight = y_at(panels["weights"][1].figure.data[0], 77_777)
    assert weight == pytest.approx(profile.weights[77_777], rel=1e-12)
    alone = measures.context_curves(spec, [100_003], content=view.content)
    for name in ("entropy", "reach", "needle"):
        drawn = y_at(panels[name][1].figure.data[0], 100_003)
        assert drawn == pytest.approx(getattr(alone, name)[0], rel=1e-9), name
    slots = panels["entropy"][1].slots
    place = list(slots["length"]["x"]).index(100_003)
    assert slots["tokens"]["values"][place] == pytest.approx(math.exp(alone.entropy[0]))


def test_a_zoom_gives_finer_points_inside_it_and_all_of_them_are_exact():
    session = opened(length=131_072)
    coarse = by_id(ask(session))
    fine = by_id(ask(session, zoom={"decay": [20_000, 21_000], "weights": [20_000, 21_000]}))
    for name, slot in (("decay", "score"), ("weights", "weight")):
        assert fine[name]["zooms"]
        assert fine[name]["key"] != coarse[name]["key"]
        for before, after in zip(
            coarse[name]["figure"]["data"], fine[name]["figure"]["data"], strict=True
        ):
            inside = [
                int(((trace["x"] >= 20_000) & (trace["x"] <= 21_000)).sum())
                for trace in (before, after)
            ]
            assert inside[1] > 10 * inside[0]
            assert inside[1] <= 2 * 320 + 8
            assert (np.diff(after["x"]) > 0).all()
        first = fine[name]["figure"]["data"][0]
        np.testing.assert_array_equal(fine[name]["formula"]["slots"][slot]["x"], first["x"])
        assert fine[name]["figure"]["layout"]["xaxis"] == coarse[name]["figure"]["layout"]["xaxis"]
    scores = measures.equal_scores(posviz.parse("rope"), length=131_072, match=10.5)
    line = fine["decay"]["figure"]["data"][0]
    np.testing.assert_array_equal(line["y"], scores[line["x"]])


def test_panels_that_a_zoom_does_not_touch_keep_their_keys():
    session = opened()
    before = {name: panel["key"] for name, panel in by_id(ask(session)).items()}
    after = by_id(ask(session, have=before, zoom={"decay": [10, 20]}))
    assert {name for name, panel in after.items() if "figure" in panel} == {"decay"}


def test_a_moving_control_leaves_slow_panels_as_they_are_and_they_follow_at_rest():
    session = opened(length=2048)
    first = ask(session)
    have = {panel["id"]: panel["key"] for panel in first["panels"]}
    values = {**first["values"], "match": 4.0}
    question = {**first["direct"]["question"], "values": values, "have": have, "seq": 9}
    reply = exchange.live_answer(DESK, question)
    assert (reply["stamp"], reply["later"], reply["problems"]) == (9, True, [])
    assert dict(parse_qsl(reply["address"])) == {"match": "4", "length": "2048"}
    moved = by_id(reply)
    assert list(moved) == list(by_id(first))
    new = {name for name, panel in moved.items() if "figure" in panel}
    assert new == set(SHARED) - {"resolution"}
    for name in set(moved) - new:
        assert name in SLOW
        assert moved[name] == {"id": name, "key": have[name]}
    score = moved["decay"]["figure"]["data"][0]
    np.testing.assert_allclose(
        score["y"],
        measures.equal_scores(posviz.parse("rope"), length=2048, match=4.0)[score["x"]],
    )
    now = {name: panel["key"] for name, panel in moved.items()}
    rested = by_id(ask(session, values={"match": 4.0}, have=now))
    followed = {name for name, panel in rested.items() if "figure" in panel}
    assert followed == {"resolution", "receptive", "matrix", "key_share", "query_entropy"}


def test_a_slow_panel_that_the_browser_does_not_have_is_drawn_at_once():
    view = view_of(length=512)
    reply = exchange.live_answer(DESK, {**DESK.question(view), "values": DESK.values(view)})
    assert all("figure" in panel for panel in reply["panels"])


def test_only_a_lead_with_heads_has_small_multiples_and_only_a_rotation_has_bases():
    found = {
        lead: set(DESK.panels(view_of(lead=lead, f="causal"))) for lead in ("a", "c", "d", "f")
    }
    assert {"bases", "bounds", "precision"} <= found["a"]
    assert "heads" not in found["a"]
    assert "heads" in found["c"]
    assert not {"bases", "bounds"} & found["c"]
    assert "bounds" not in found["d"]
    assert not {"heads", "bases", "bounds", "precision"} & found["f"]


# Controls.


def alternatives(item, now):
    if item["kind"] == "switch":
        return [not now]
    if item["kind"] == "choice":
        return [one["value"] for one in item["choices"] if one["value"] != now]
    if item["kind"] == "text":
        return ["1, 2, 3", "0.5"]
    low, high = item["slider"] or (item["lower"], item["upper"])
    middle = math.sqrt(low * high) if low > 0 else (low + high) / 2
    tried = [low, high, (low + high) / 2, middle]
    return [one for one in (map(int, tried) if item["integer"] else tried) if one != now]


def alike(one, other):
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, np.ndarray):
        same = one.shape == other.shape
        return same and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    return one == other


def unnamed(figure):
    """All of a figure but the names of its lines: another name alone is no other picture."""
    return [[{**trace, "name": ""} for trace in figure.data], figure.layout]


def moves_a_picture(before, view, sent):
    """Whether other values draw another picture; a panel with the same key must be the same."""
    try:
        after = made(DESK.take(view, sent))
    except ParameterError:
        return False  # not allowed beside the other values
    moved = after.keys() != before.keys()
    # What many draws gave stands in the notes alone where no single draw is shown.
    told = "seed" in sent
    for name in after.keys() & before.keys():
        (old_key, old), (key, new) = before[name], after[name]
        drawn = alike(unnamed(old.figure), unnamed(new.figure))
        if old_key == key:
            assert drawn, (name, sent)
            assert alike([old.notes, dict(old.slots)], [new.notes, dict(new.slots)]), (name, sent)
        moved = moved or not drawn or (told and old.notes != new.notes)
    return moved


CONTROLLED = [
    {},
    {"lead": "c", "content": "needle", "question": "given"},
    *(
        {"a": encoding, "content": content, "question": question, **ALONE}
        for encoding in ("rope", "alibi")
        for content, question in (
            ("zero", "equal"),
            ("gaussian", "equal"),
            ("same", "independent"),
            ("needle", "given"),
        )
    ),
    {"a": "nope", **ALONE},
    {"a": "sliding_window", **ALONE},
    {"a": "self_extend", **ALONE},
    {"a": "xpos", "needle_turns": "true", **ALONE},
    {"a": "log_n", **ALONE},
    {"a": "irope", "question": "given", "typed_query": "1, 2", "typed_key": "3, 0, 5", **ALONE},
    {"a": "vo_rope", **ALONE},
    {"a": "t5", "content": "gaussian", "sigma": 0, **ALONE},
]


@pytest.mark.parametrize("address", CONTROLLED, ids=lambda one: str(one)[:90])
def test_every_control_that_is_shown_changes_a_picture(address, monkeypatch):
    monkeypatch.setattr(curves, "CURVES_TO", 8192)
    view = view_of(length=512, **address)
    before, values = made(view), DESK.values(view)
    items = [item for group in DESK.controls(view) for item in group["items"]]
    # The cursor is drawn by the browser; a choice of encoding is looked at elsewhere.
    exempt = {"distance", *SLOTS.names}
    idle = [
        item["name"]
        for item in items
        if item["name"] not in exempt
        and not any(
            moves_a_picture(before, view, {item["name"]: one})
            for one in alternatives(item, values[item["name"]])
        )
    ]
    assert idle == []


HIDDEN = {
    "sigma": 3.3,
    "seed": 5,
    "correlation": -0.3,
    "typed_query": "1, 2",
    "typed_key": "3",
    "needle_turns": True,
    "depth": 0.21,
    "head": 3,
    "precision": "float16",
    "lead": "b",
}


@pytest.mark.parametrize("address", CONTROLLED, ids=lambda one: str(one)[:90])
def test_a_control_that_is_hidden_would_change_nothing(address, monkeypatch):
    monkeypatch.setattr(curves, "CURVES_TO", 8192)
    view = view_of(length=512, **address)
    shown = {item["name"] for group in DESK.controls(view) for item in group["items"]}
    before = made(view)
    for name, value in HIDDEN.items():
        if name not in shown:
            assert not moves_a_picture(before, view, {name: value}), name


def test_the_controls_say_what_they_control():
    view = view_of()
    groups = DESK.controls(view)
    assert [group["title"] for group in groups] == [
        "Context",
        "Content",
        "Score against distance",
        "A · RoPE",
        "B · YaRN",
        "C · ALiBi",
        "D · xPos",
        "E · none",
        "F · none",
        "One encoding",
        "Stack",
    ]
    items = {item["name"]: item for group in groups for item in group["items"]}
    length = items["length"]
    assert (length["lower"], length["upper"], length["scale"]) == (8, 1 << 22, "log")
    assert length["slider"] == [8, 1 << 22]
    assert length["play"]
    assert items["distance"]["upper"] == 32767
    for item in items.values():
        assert item["help"].endswith("."), item["name"]
    names = set(items)
    assert not names & {"sigma", "seed", "correlation", "typed_query", "typed_key"}
    assert {"match", "depth", "needle_turns", "head", "precision", "lead"} <= names


# Texts to take away.


@pytest.mark.parametrize(
    "address",
    [
        {},
        {"content": "needle", "match": 10.123456789, "depth": 0.3, "seed": 4, "length": 1000},
        {"a": "alibi", "head": 3, "content": "gaussian", "sigma": 0.1 + 0.2, "length": 777},
        {"a": "shaw", "length": 2000, **ALONE},
        {"a": "yarn", "a.scaling_factor": 8.3, "content": "zero"},
        {"a": "complex_embedding", "a.sentence": 'say "hi" \\ there & you', "length": 20, **ALONE},
    ],
    ids=lambda one: str(one)[:60],
)
def test_the_code_runs_and_gives_the_numbers_that_are_drawn(address):
    view = view_of(**address)
    texts = {block["title"]: block["text"] for block in DESK.texts(view)}
    space, printed = {}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(texts["posviz"], space)
    assert printed.getvalue()
    panels = DESK.panels(view)
    length = view.shown[0].within(view.values["length"])
    assert space["lengths"][-1] == length
    for name in ("entropy", "reach", "needle"):
        drawn = y_at(panels[name][1]().figure.data[0], length)
        assert getattr(space["curves"], name)[-1] == pytest.approx(drawn, rel=1e-9), name
    line = panels["weights"][1]().figure.data[0]
    given = space["profile"].weights[line["x"]]
    np.testing.assert_allclose(given[given > 0], line["y"][given > 0], rtol=1e-12)
    assert texts["links"].splitlines() == [link(item.spec) for item in view.shown]


@pytest.mark.parametrize("head", [0, 2])
@pytest.mark.parametrize("encoding", ["rope", "alibi", "xpos", "shaw"])
@pytest.mark.parametrize(
    "question",
    [
        {"question": "equal", "match": 3.123456789},
        {"question": "independent", "sigma": 0.7, "seed": 3},
        {"question": "given", "correlation": 0.123456789, "seed": 3},
        {"question": "given", "typed_query": "1, -2", "typed_key": "0.5, 0.25, 1"},
        {"question": "given", "typed_key": "0.5"},
    ],
    ids=str,
)
def test_the_code_gives_the_scores_of_the_question_that_is_asked(question, encoding, head):
    view = view_of(a=encoding, head=head, length=64, **question, **ALONE)
    last = DESK.texts(view)[0]["text"].splitlines()
    space = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec("\n".join(last[:-1]), space)
        found = eval(last[-1].removeprefix("print"), space) if last[-1][0] != "#" else None
    panel = DESK.panels(view)["decay"][1]()
    line = panel.figure.data[0]
    if found is None:
        assert (encoding, question["question"]) == ("shaw", "given")
        assert np.isnan(line["y"]).all()
        assert any(note.startswith("Shaw") for note in panel.notes)
        return
    if question["question"] != "independent":
        np.testing.assert_allclose(np.asarray(found)[line["x"]], line["y"], rtol=1e-12)
        return
    mean, spread = found
    below, above = panel.figure.data[1:3]
    for place, length in enumerate(space["lengths"]):
        if length - 1 in line["x"]:
            x = length - 1
            assert mean[place] == pytest.approx(y_at(line, x))
            assert spread[place] == pytest.approx((y_at(above, x) - y_at(below, x)) / 2)


def test_a_download_has_the_numbers_of_each_panel():
    session = opened(length=512, lead="c")
    for name in DESK.panels(session.view):
        reply = ask(session, action={"csv": name})
        rows = reply["download"]["text"].splitlines()
        assert reply["download"]["name"] == f"posviz-{name}.csv"
        assert len(rows) > 5, name
        assert ",," not in rows[0], name


# The page without a browser.


def page(**parameters):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.run()
    for name, value in parameters.items():
        app.query_params[name] = value
    app.switch_page("pages/attention.py").run()
    assert not app.exception
    return app


OF_EACH_FAMILY = [
    ("absolute", "sinusoidal"),
    ("bias", "alibi"),
    ("content", "cope"),
    ("extension", "yarn"),
    ("mask", "sliding_window"),
    ("relative", "shaw"),
    ("rotary", "xpos"),
]


def test_there_is_one_encoding_of_each_family_that_is_offered():
    assert sorted({one.family for one in SLOTS.offered}) == [name for name, _ in OF_EACH_FAMILY]
    assert all(posviz.get(one).family == family for family, one in OF_EACH_FAMILY)


def test_the_page_opens_with_its_board_and_says_where_each_encoding_comes_from():
    app = page()
    assert app.title[0].value == "Attention"
    assert len(app.get("bidi_component")) == 1
    assert not app.error
    assert not app.warning
    captions = [line for one in app.caption for line in one.value.split("\n\n")]
    for slot, encoding_id in DEFAULTS.items():
        encoding = posviz.get(encoding_id)
        (said,) = [one for one in captions if one.startswith(f"{slot.upper()} · {encoding.title}")]
        source, _, way = said.partition(" · [explore]")
        assert source.endswith(f": {encoding.sources[0].text}")
        assert way == f"(explore?encoding={encoding_id})"


@pytest.mark.parametrize("encoding_id", [one for _, one in OF_EACH_FAMILY])
def test_the_page_opens_from_an_address_for_every_family(encoding_id, short):
    app = page(a=encoding_id, b="off", c="off", d="off", length="64", trained="64", window="8")
    assert len(app.get("bidi_component")) == 1
    assert not app.error
    session = app.session_state["attention"]
    assert session.problems == []
    assert session.view.chosen == {"a": encoding_id}
    assert session.view.values["length"] == 64


def test_the_page_opens_from_the_address_that_a_board_writes():
    view = view_of(c="off", length=999, **{"a.base": 500})
    written = exchange.answer(DESK, exchange.Session(view), {})["address"]
    app = page(**dict(parse_qsl(written)))
    assert app.session_state["attention"].view.values == view.values


@pytest.mark.parametrize("title", list(LESSONS))
def test_every_lesson_opens_as_it_is_written(title: str) -> None:
    view, problems = DESK.read_address(dict(LESSONS[title]))
    assert problems == []
    written = DESK.address(view)
    opened_anew, _ = DESK.read_address(written)
    assert opened_anew.values == view.values
    for name, raw in LESSONS[title].items():
        assert str(view.values[name]).lower().removesuffix(".0") == raw


@pytest.mark.parametrize("name", ["typed_query", "typed_key"])
def test_more_typed_numbers_than_a_head_has_are_refused(name: str) -> None:
    with pytest.raises(ParameterError) as caught:
        changed(view_of(**ALONE), {name: "1," * 128 + "1"})
    assert str(caught.value) == (
        f"This page: {name} must have at most 128 numbers, one for each dimension of the head of "
        "RoPE; got 129."
    )
