"""Slots on a page that accepts only some encodings: choices, values, controls, addresses."""

from dataclasses import replace
from typing import Annotated

import pytest
from annotated_types import Ge, Le
from pydantic import BaseModel, ValidationError

import posviz
from posviz import ParameterError
from posviz.parameters import Parameter, declarations, parameter_error
from posviz.ui import exchange
from posviz.ui.controls import as_typed
from posviz.ui.slots.address import Page, read_address, write_address
from posviz.ui.slots.choice import Slots, choice_key, own_key, slot_title
from posviz.ui.slots.desk import SlotsDesk
from posviz.ui.slots.groups import slot_groups
from posviz.ui.slots.values import (
    SlottedView,
    first_values,
    own_values,
    profile_of,
    take_slots,
)


def misfit(encoding):
    if encoding.family in ("bias", "rotary"):
        return ""
    return f"{encoding.title}: it says nothing by distance alone; closest: alibi."


SLOTS = Slots(tuple("abcdef"), may_be_empty=tuple("bcdef"), misfit=misfit)


class Reading(BaseModel):
    length: Annotated[int, Ge(8), Le(1 << 22), Parameter(help="Tokens.")] = 1024


READING = {one.name: one for one in declarations(Reading)}


def first(chosen):
    return SlottedView(SLOTS, {**first_values(SLOTS, chosen), **Reading().model_dump()})


def changed(view, sent):
    values = take_slots(view.values, SLOTS, sent)
    for name, declaration in READING.items():
        if name in sent:
            values[name] = as_typed(declaration, "This page", sent[name])
    try:
        Reading(length=values["length"])
    except ValidationError as error:
        raise parameter_error(Reading, "This page", error) from None
    view = replace(view, values=values)
    assert list(view.specs) == list(view.chosen)
    return view


PAGE = Page(SLOTS, {"a": "alibi", "b": "rope"}, READING, first, changed)


def refused(view, sent):
    with pytest.raises(ParameterError) as caught:
        take_slots(view.values, SLOTS, sent)
    return str(caught.value)


def test_names_of_values_carry_the_slot_and_those_of_the_only_slot_none():
    assert [choice_key("b"), own_key("b", "base"), slot_title("b", "RoPE")] == [
        "b",
        "b.base",
        "B · RoPE",
    ]
    assert [choice_key(""), own_key("", "base"), slot_title("", "RoPE")] == [
        "encoding",
        "base",
        "RoPE",
    ]


def test_only_encodings_that_fit_are_offered_and_the_others_say_why_they_are_not():
    assert {encoding.family for encoding in SLOTS.offered} == {"bias", "rotary"}
    assert len(SLOTS.offered) == sum(not misfit(one) for one in posviz.catalog())
    view = first({"a": "alibi"})
    assert refused(view, {"c": "sinusoidal"}) == (
        "Sinusoidal: it says nothing by distance alone; closest: alibi."
    )
    assert "c" not in view.specs


def test_an_unknown_encoding_is_told_the_closest_of_those_that_fit():
    view = first({"a": "alibi"})
    assert refused(view, {"c": "alibii"}) == "There is no encoding 'alibii'; closest: alibi."
    assert "nope" not in refused(view, {"c": "nopee"}).partition("closest")[2]
    assert refused(view, {"c": 7}) == "An encoding's id must be text; got 7."
    assert refused(view, {"c": None}) == "An encoding's id must be text; got None."


def test_the_slot_that_must_be_filled_is_not_emptied_and_the_others_are():
    view = first(dict.fromkeys("abcdef", "alibi"))
    assert refused(view, {"a": "off"}) == "Slot A must hold an encoding; got 'off'."
    taken = take_slots(view.values, SLOTS, dict.fromkeys("bcdef", "off"))
    assert list(SlottedView(SLOTS, taken).specs) == ["a"]


def test_another_encoding_keeps_the_values_that_both_declare_alike():
    values = take_slots(first({"a": "rope", "b": "rope"}).values, SLOTS, {"a.base": 500.0})
    before = dict(values)
    # The board sends the values of the old encoding beside the new choice.
    taken = take_slots(values, SLOTS, {"a": "xpos", "a.base": 500.0, "b": "kerple_log"})
    assert taken["a.base"] == 500.0
    assert taken["a.scale_base"] == 512.0
    assert values == before
    assert SlottedView(SLOTS, taken).specs["b"] == posviz.parse("kerple_log")


def test_a_value_of_the_old_encoding_is_not_taken_for_another_parameter_of_the_same_name():
    # Both have heads, of other defaults: 8 and 12.
    values = take_slots(first({"a": "alibi"}).values, SLOTS, {"a.heads": 3})
    taken = take_slots(values, SLOTS, {"a": "tisa", "a.heads": 3})
    assert taken["a.heads"] == 12
    # Once it stands there, its own value is taken.
    assert take_slots(taken, SLOTS, {"a": "tisa", "a.heads": 3})["a.heads"] == 3


def test_an_implementation_sets_its_switches_and_wins_over_values_sent_beside_it():
    view = first({"a": "alibi", "b": "alibi"})
    sent = {"b.profile": "Falcon (head_dim 64)", "b.form": "causal", "b.slope_scale": 1.0}
    taken = take_slots(view.values, SLOTS, sent)
    assert (taken["b.form"], taken["b.slope_scale"]) == ("key_only", 0.125)
    assert (taken["a.form"], taken["a.slope_scale"]) == ("causal", 1.0)
    assert profile_of(SlottedView(SLOTS, taken).specs["b"]) == "Falcon (head_dim 64)"
    # The name that is in force already sets nothing, so a switch may leave it.
    taken = take_slots(taken, SLOTS, {**sent, "b.slope_scale": 2.0})
    assert (taken["b.form"], taken["b.slope_scale"]) == ("causal", 2.0)
    assert profile_of(SlottedView(SLOTS, taken).specs["b"]) == "custom"


def test_values_of_the_page_are_left_to_the_page():
    view = first({"a": "alibi"})
    taken = take_slots(view.values, SLOTS, {"length": 9, "unknown": 1, "b.heads": 3})
    assert taken == view.values


@pytest.mark.parametrize(
    "sent", [10**400, "1" + "0" * 400, "1" + "0" * 5000], ids=["number", "text", "long"]
)
def test_a_whole_number_beyond_floating_point_gives_the_sentence(sent):
    assert refused(first({"a": "alibi"}), {"a.heads": sent}).startswith(
        "ALiBi: heads must be a whole number of at least 1 and at most 512; got "
    )


def test_every_slot_has_a_group_and_the_page_says_what_changes_nothing():
    view = first({"a": "alibi", "b": "rope"})
    asked = []

    def inert(spec):
        asked.append(spec.id)
        return {"slope_scale"}

    groups = slot_groups(view, inert)
    assert asked == ["alibi", "rope"]
    assert [group["title"] for group in groups] == [
        "A · ALiBi",
        "B · RoPE",
        *(f"{slot} · none" for slot in "CDEF"),
    ]
    names = [item["name"] for item in groups[0]["items"]]
    assert names[:2] == ["a", "a.profile"]
    assert "a.heads" in names
    assert "a.slope_scale" not in names
    choices = [{one["value"] for one in group["items"][0]["choices"]} for group in groups]
    ids = {encoding.id for encoding in SLOTS.offered}
    assert choices == [ids, *[ids | {"off"}] * 5]
    assert [group.get("collapsed", False) for group in groups] == [False] * 2 + [True] * 4


def test_an_address_holds_what_differs_and_restores_six_slots():
    view = first({"a": "alibi", "b": "rope"})
    assert write_address(PAGE, view) == {}
    sent = dict.fromkeys("cde", "kerple_log") | {"f": "xpos", "f.scale_base": 256.0}
    view = changed(view, sent | {"b.base": 500.0, "length": 1 << 22})
    address = write_address(PAGE, view)
    assert address == {
        **dict.fromkeys("cde", "kerple_log"),
        "f": "xpos",
        "length": "4194304",
        "b.base": "500",
        "f.scale_base": "256",
    }
    again, problems = read_address(PAGE, address)
    assert problems == []
    assert again.values == view.values
    emptied = changed(view, dict.fromkeys("bcdef", "off"))
    again, problems = read_address(PAGE, write_address(PAGE, emptied))
    assert (again.chosen, problems) == ({"a": "alibi"}, [])


def test_what_an_address_cannot_mean_is_reported_and_the_rest_is_used():
    address = {"a": "off", "c": "sinusoidal", "b": "alibi", "b.heads": "0", "d.heads": "2"}
    view, problems = read_address(PAGE, address | {"length": "4194305", "b.slope_scale": "2"})
    assert problems == [
        "From the address: Slot A must hold an encoding; got 'off'. The page opened with another "
        "one.",
        "From the address: Sinusoidal: it says nothing by distance alone; closest: alibi. The page "
        "opened with none there.",
        "From the address: this page knows no setting 'd.heads', so it was not used.",
        "From the address: ALiBi: heads must be a whole number of at least 1 and at most 512; "
        "got 0. It was not used.",
        "From the address: This page: length must be a whole number of at least 8 and at most "
        "4194304; got 4194305. It was not used.",
    ]
    assert view.chosen == {"a": "alibi", "b": "alibi"}
    assert view.values["b.slope_scale"] == 2.0


class Board(SlotsDesk[SlottedView]):
    route = "posviz/test"
    page = PAGE

    def legend(self, view):
        return []

    def panels(self, view):
        return {}

    def controls(self, view):
        return slot_groups(view, lambda spec: ())

    def texts(self, view):
        return []

    def standing(self, view):
        return tuple(view.chosen.items())


def test_a_question_gives_the_view_that_it_was_made_of():
    desk = Board()
    view = changed(first({"a": "xpos", "d": "alibi"}), {"a.base": 50.0, "length": 8})
    values = desk.values(view)
    assert values["d.profile"] == "paper, MPT"
    question = {**desk.question(view), "values": values}
    assert question["source"] == "a:xpos,d:alibi"
    reply = exchange.live_answer(desk, question)
    assert reply["problems"] == []
    assert reply["values"] == values
    assert desk.reset(view).values == first({"a": "xpos", "d": "alibi"}).values


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        ("a:rope,a:rope", "'a:rope,a:rope' names a slot twice"),
        ("b:rope", "Slot A must hold an encoding; got 'off'."),
        ("a:rope,g:rope", "'a:rope,g:rope' names no encodings of this page"),
        ("a:sinusoidal", "Sinusoidal: it says nothing by distance alone; closest: alibi."),
    ],
)
def test_a_question_that_names_its_encodings_wrongly_is_refused(source, sentence):
    with pytest.raises(ParameterError) as caught:
        exchange.live_answer(Board(), {"source": source})
    assert str(caught.value) == sentence


def test_own_values_of_an_empty_slot_are_its_choice_alone():
    assert own_values("c", "off") == {"c": "off"}
