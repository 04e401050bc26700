"""The state of the boards of results: views, addresses, exchanges with the browser."""

import numpy as np
import pytest

import posviz
from posviz import ParameterError
from posviz.ui import exchange
from posviz.ui.results_board import compare, explore
from posviz.ui.results_board.view import READING, result_of

ENCODINGS = posviz.catalog()
every_encoding = pytest.mark.parametrize("encoding", ENCODINGS, ids=lambda encoding: encoding.id)


def opened(desk, **address):
    view, problems = desk.read_address(address)
    return exchange.Session(view, problems)


def ask(desk, session, **values):
    number = session.answered + 1
    request = {"seq": number, "values": {**desk.values(session.view), **values}, "rest": True}
    return exchange.answer(desk, session, request)


@every_encoding
def test_no_parameter_has_the_name_of_a_setting_of_the_page(encoding):
    names = {declaration.name for declaration in encoding.declarations()}
    assert not names & {*READING, "encoding", "profile"}


@every_encoding
def test_every_encoding_opens_with_figures_controls_and_code(encoding):
    reply = exchange.answer(explore.DESK, opened(explore.DESK, encoding=encoding.id), {})
    assert reply["problems"] == []
    assert len(reply["panels"]) >= 1
    assert all(panel["figure"]["data"] for panel in reply["panels"])
    own, shown = reply["controls"]
    assert own["title"] == encoding.title
    assert "length" in [item["name"] for item in shown["items"]]
    texts = {block["title"]: block["text"] for block in reply["texts"]}
    assert texts["NumPy alone"].startswith("import numpy as np")
    assert texts["link"] == encoding.id


@every_encoding
def test_an_address_restores_the_view(encoding):
    session = opened(explore.DESK, encoding=encoding.id)
    changes = {"position": 3, "distance": 5}
    for declaration in encoding.declarations():
        if declaration.kind in ("number", "integer") and declaration.parameter.slider:
            value = declaration.parameter.slider[0]
            changes[declaration.name] = int(value) if declaration.kind == "integer" else value
            reply = ask(explore.DESK, session, **changes)
            if reply["problems"]:
                del changes[declaration.name]
    reply = ask(explore.DESK, session, **changes)
    assert reply["problems"] == []
    address = explore.DESK.address(session.view)
    again = opened(explore.DESK, **address)
    assert again.problems == []
    assert again.view.values == session.view.values


def test_another_encoding_keeps_what_both_declare_alike():
    session = opened(compare.DESK, a="sinusoidal", b="alibi")
    ask(compare.DESK, session, **{"a.base": 500.0, "b.heads": 3})
    reply = ask(compare.DESK, session, b="sinusoidal")
    assert reply["problems"] == []
    assert session.view.values["b.base"] == 10000.0
    assert "b.heads" not in compare.DESK.values(session.view)
    assert session.view.values["a.base"] == 500.0


def test_a_value_that_cannot_be_used_is_named_and_the_picture_stays():
    session = opened(explore.DESK, encoding="alibi")
    before = session.view
    reply = ask(explore.DESK, session, heads=0)
    assert session.view is before
    (problem,) = reply["problems"]
    assert problem["text"] == (
        "ALiBi: heads must be a whole number of at least 1 and at most 512; got 0. "
        "The plots still show the settings before."
    )


def test_an_address_that_cannot_be_used_is_reported_setting_by_setting():
    session = opened(explore.DESK, encoding="alibi", heads="none", head="2", theta="1")
    assert [problem.split(":")[0] for problem in session.problems] == ["From the address"] * 2
    assert "knows no setting 'theta'" in session.problems[0]
    assert "heads must be a whole number" in session.problems[1]
    assert session.view.values["head"] == 2
    session = opened(explore.DESK, encoding="alibii")
    assert "There is no encoding 'alibii'; closest: alibi" in session.problems[0]
    assert session.view.values["encoding"] == "sinusoidal"


def test_fewer_places_move_the_cursor_and_the_board_is_told():
    session = opened(explore.DESK, encoding="alibi", head="7", position="100")
    reply = ask(explore.DESK, session, heads=4)
    assert reply["problems"] == []
    assert reply["values"]["head"] == 3
    before = session.epoch
    reply = ask(explore.DESK, session, length=16)
    assert reply["values"]["position"] == 15
    assert session.epoch == before + 1


def test_the_length_is_limited_by_what_an_encoding_allows():
    session = opened(explore.DESK, encoding="sinusoidal")
    reply = ask(explore.DESK, session, length=9000)
    assert "length must be" in reply["problems"][0]["text"]


def test_a_moving_control_is_answered_without_a_session():
    session = opened(explore.DESK, encoding="sinusoidal")
    first = exchange.answer(explore.DESK, session, {})
    values = {**first["values"], "base": 100.0}
    question = {**first["direct"]["question"], "values": values, "seq": 3}
    reply = exchange.live_answer(explore.DESK, question)
    assert (reply["stamp"], reply["later"]) == (3, True)
    assert reply["address"] == "base=100"
    drawn = next(panel for panel in reply["panels"] if panel["id"] == "table_map")
    expected = posviz.parse("sinusoidal?base=100").encode(np.arange(128.0)).vectors
    np.testing.assert_allclose(drawn["figure"]["data"][0]["z"], expected)


def test_a_question_without_encodings_is_refused():
    with pytest.raises(ParameterError, match="names no encodings of this page"):
        exchange.live_answer(explore.DESK, {"source": "x:alibi"})


def test_maps_of_several_results_share_one_range_and_the_difference_is_drawn():
    session = opened(compare.DESK, a="sinusoidal", b="sinusoidal")
    reply = ask(compare.DESK, session, **{"b.layout": "cos_first", "a.model_dim": 16})
    panels = {panel["id"]: panel for panel in reply["panels"]}
    first, second = (panels[f"table_map__{slot}"]["figure"]["data"][0] for slot in "ab")
    assert (first["zmin"], first["zmax"]) == (second["zmin"], second["zmax"])
    gap = panels["table_map__difference"]
    a = posviz.parse("sinusoidal?model_dim=16").encode(np.arange(128.0)).vectors
    b = posviz.parse("sinusoidal?layout=cos_first").encode(np.arange(128.0)).vectors
    np.testing.assert_allclose(gap["figure"]["data"][0]["z"], a - b[:, :16])
    assert any("different sizes" in note for note in gap["notes"])


def test_a_download_has_the_numbers_of_the_panel():
    session = opened(explore.DESK, encoding="sinusoidal", length="4", model_dim="2")
    number = session.answered + 1
    request = {"seq": number, "action": {"csv": "table_map"}, "values": {}}
    text = exchange.answer(explore.DESK, session, request)["download"]["text"]
    rows = [line.split(",") for line in text.splitlines()]
    assert rows[0] == ["position \\ dimension", "0.0", "1.0"]
    assert float(rows[2][1]) == pytest.approx(np.sin(1.0))


def test_results_are_kept_by_link_and_length():
    assert result_of("alibi", 8) is result_of("alibi", 8)
    assert result_of("alibi", 8) is not result_of("alibi", 9)


def test_a_matrix_over_all_pairs_is_limited_and_the_sentence_says_what_to_lower():
    session = opened(explore.DESK, encoding="alibi")
    assert ask(explore.DESK, session, length=8192)["problems"] == []
    reply = ask(explore.DESK, session, form="key_only")
    assert "at most 16,777,216 numbers here; got 536,870,912" in reply["problems"][0]["text"]
    assert session.view.values["form"] == "causal"
    reply = ask(explore.DESK, session, form="key_only", length=1024)
    assert reply["problems"] == []


def test_a_slot_that_must_be_filled_is_not_switched_off_by_an_address():
    session = opened(explore.DESK, encoding="off")
    assert session.view.values["encoding"] == "sinusoidal"
    assert "There is no encoding 'off'" in session.problems[0]
    assert opened(compare.DESK, a="off").view.chosen["a"] == "alibi"


@pytest.mark.parametrize("slot", ["a", "b"])
def test_a_slot_that_must_be_filled_is_not_emptied_by_a_value(slot):
    session = opened(compare.DESK)
    before = session.view
    reply = ask(compare.DESK, session, **{slot: "off"})
    assert session.view is before
    (problem,) = reply["problems"]
    assert problem["text"] == (
        f"Slot {slot.upper()} must hold an encoding; got 'off'. "
        "The plots still show the settings before."
    )


def test_a_slot_that_may_be_empty_is_filled_and_emptied_by_values():
    session = opened(compare.DESK)
    assert ask(compare.DESK, session, c="rope")["problems"] == []
    assert compare.DESK.address(session.view)["c"] == "rope"
    assert session.view.values["c.base"] == 10000.0
    assert ask(compare.DESK, session, c="off")["problems"] == []
    assert "c" not in compare.DESK.address(session.view)
    assert list(session.view.specs) == ["a", "b"]


@pytest.mark.parametrize("sent", [10**400, -(10**400), 10**5000], ids=["large", "low", "huge"])
@pytest.mark.parametrize(("encoding", "name"), [("alibi", "heads"), ("sinusoidal", "base")])
def test_a_whole_number_beyond_floating_point_gives_the_sentence(encoding, name, sent):
    session = opened(explore.DESK, encoding=encoding)
    (problem,) = ask(explore.DESK, session, **{name: sent})["problems"]
    assert f"{name} must be a " in problem["text"]
    assert "got a whole number of about " in problem["text"]
    (problem,) = ask(explore.DESK, session, length=sent)["problems"]
    assert problem["text"].startswith("This page: length must be a whole number of at least 2")


def test_an_endless_unknown_encoding_is_cut_in_the_sentence():
    endless = "q" * 10_000
    session = opened(explore.DESK, encoding=endless)
    assert len(session.problems[0]) < 400
    assert f"There is no encoding '{'q' * 59}…; known: " in session.problems[0]
    reply = ask(compare.DESK, opened(compare.DESK), a=endless)
    assert len(reply["problems"][0]["text"]) < 400
    assert f" and {len(ENCODINGS) - 8} more" in reply["problems"][0]["text"]


@pytest.mark.parametrize(
    ("desk", "source", "sentence"),
    [
        (explore.DESK, ":alibi,:rope", "':alibi,:rope' names a slot twice"),
        (compare.DESK, "a:alibi,b:rope,a:xpos", "names a slot twice"),
        (compare.DESK, "b:alibi", "Slot A must hold an encoding; got 'off'"),
        (compare.DESK, "a:alibi,b:off", "Slot B must hold an encoding; got 'off'"),
        (explore.DESK, ":off", "There is no encoding 'off'"),
        (explore.DESK, "", "'' names no encodings of this page"),
        pytest.param(explore.DESK, "x" * 10_000, "'x+… names no encodings of this page", id="long"),
    ],
)
def test_a_question_that_names_its_encodings_wrongly_is_refused(desk, source, sentence):
    with pytest.raises(ParameterError, match=sentence) as caught:
        exchange.live_answer(desk, {"source": source})
    assert len(str(caught.value)) < 400


def test_a_forged_request_is_refused_in_words():
    session = opened(explore.DESK, encoding="alibi")
    request = {"seq": 1, "values": "x", "have": ["y"], "action": {"csv": "gone"}}
    reply = exchange.answer(explore.DESK, session, request)
    said = [problem["text"] for problem in reply["problems"]]
    assert said[0].startswith("values must be an object; got 'x'.")
    assert said[1].startswith("There is no panel 'gone' now; known: ")
    assert all("figure" in panel for panel in reply["panels"])
