"""Properties found by trying an encoding: known answers, and that all can be asked."""

import numpy as np
import pytest

import posviz
from posviz.measures import properties
from posviz.measures.position_part import constant_by_distance

RELATIVE = "depends on the distance only"
SYMMETRIC = "the same in both directions"
FALLS = "falls with every step of distance"
MOVED = "moved by one linear map"
LENGTH = "keeps the length of q and k"
CAUSAL = "needs a causal mask"
DEFINED = "defined at any position"
every_encoding = pytest.mark.parametrize("encoding", posviz.catalog(), ids=lambda one: one.id)


def found(link):
    return {one.name: one.value for one in properties(posviz.parse(link))}


@every_encoding
def test_every_encoding_can_be_asked_and_answers_the_same_twice(encoding):
    first = properties(encoding())
    assert first == properties(encoding())
    names = [one.name for one in first]
    assert len(set(names)) == len(names)
    assert all(one.value and one.how for one in first)


def test_sinusoids_are_relative_symmetric_and_moved_by_a_rotation_but_do_not_fall():
    values = found("sinusoidal")
    assert values["gives"] == "a vector per position"
    assert values["numbers"] == "designed"
    assert (values[RELATIVE], values[SYMMETRIC], values[MOVED]) == ("yes", "yes", "yes")
    assert (values[FALLS], values[DEFINED]) == ("no", "yes")
    assert LENGTH not in values
    assert CAUSAL not in values


@pytest.mark.parametrize(
    ("form", "symmetric", "causal"),
    [("causal", "cannot be tried", "yes"), ("symmetric", "yes", "no")],
)
def test_forms_of_alibi_differ_in_direction_and_mask(form, symmetric, causal):
    values = found(f"alibi?form={form}")
    assert values["gives"] == "a number per head, query and key"
    assert (values[RELATIVE], values[FALLS]) == ("yes", "yes")
    assert (values[SYMMETRIC], values[CAUSAL]) == (symmetric, causal)


def test_key_only_alibi_is_not_a_function_of_the_distance():
    assert found("alibi?form=key_only")[RELATIVE] == "no"


def test_rope_keeps_length_and_yarn_scales_it():
    assert (found("rope")[LENGTH], found("rope")[RELATIVE]) == ("yes", "yes")
    assert found("yarn?scaling_factor=8.0")[LENGTH] == "no"
    assert found("xpos")[SYMMETRIC] == "no"


def test_a_table_of_random_rows_ends_and_no_map_moves_it():
    values = found("learned")
    assert (values[RELATIVE], values[MOVED], values[DEFINED]) == ("no", "no", "no")
    assert values["numbers"] == "learned"


def test_vectors_in_the_logit_are_relative_once_all_tokens_are_alike():
    how = {one.name: one for one in properties(posviz.parse("shaw"))}[RELATIVE]
    assert how.value == "yes"
    assert how.how.startswith("with queries and keys held, ")


def test_a_bias_of_the_tokens_between_is_not_one_of_the_distance():
    answer = {one.name: one for one in properties(posviz.parse("forgetting"))}[RELATIVE]
    assert answer.value == "no"
    assert "the tokens at or between them count too" in answer.how


def test_uneven_positions_are_grouped_by_their_distance():
    assert constant_by_distance(posviz.parse("t5"), np.array([0.0, 1.0, 2.0, 5.0, 50.0]))
    assert not constant_by_distance(posviz.parse("learned"), np.arange(5.0))
