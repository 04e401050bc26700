"""What ships of observations: whole, current, small, and true to what was measured."""

import dataclasses
from importlib.resources import files

import numpy as np
import pytest

from posviz.lab.hashes import text_hash
from posviz.lab.language_model import predicted, stored
from posviz.lab.language_model.records import HeadMap, Observation, Permuted, QueriesKeys
from posviz.ui.real_attention.wish import Wish

PASSAGE = (files("posviz.lab") / "passages" / "passage.txt").read_text(encoding="utf-8").strip()
COARSE = 2**-8 + 2**-11
"""Relative error of the longest arrays: 8 bits, made from halves."""
VERSIONS = {"posviz", "torch", "transformers", "gguf", "tokenizers"}


@pytest.mark.parametrize("kind", [Observation, Permuted])
def test_what_is_stored_is_of_the_passage_that_ships_and_names_what_it_depends_on(kind):
    found = stored.stored(kind)
    assert found.facts["text_sha256"] == text_hash(PASSAGE)
    assert len(found.facts["model_sha256"]) == 64
    assert found.facts.keys() >= VERSIONS
    assert found.cut_from == len(found.tokens) > 380


def test_the_head_that_is_stored_closely_is_the_one_that_the_page_opens_with():
    seen, first = stored.stored(Observation), Wish()
    for kind in (HeadMap, QueriesKeys):
        found = stored.stored(kind)
        assert (found.layer, found.head) == (first.layer, first.head)
        assert (found.model, found.tokens) == (seen.model, seen.tokens)
    permuted = stored.stored(Permuted)
    assert (permuted.order, permuted.seed, permuted.other) == (
        first.bert_order,
        first.bert_seed,
        first.bert_other,
    )


def test_the_files_are_small():
    sizes = {name: (stored.FOLDER / f"{name}.json").stat().st_size for name in stored.KEPT}
    assert max(sizes.values()) < 2_000_000
    assert sum(sizes.values()) < 4_000_000


def test_stored_numbers_agree_with_one_another():
    seen, head = stored.stored(Observation), stored.stored(HeadMap)
    at = head.layer, head.head
    np.testing.assert_allclose(head.weights.sum(axis=-1), 1, atol=COARSE)
    np.testing.assert_allclose(seen.by_distance[at], head.by_distance, rtol=COARSE, atol=1e-6)
    pair = stored.stored(QueriesKeys)
    np.testing.assert_allclose(seen.predicted_mean[at], pair.predicted, rtol=COARSE, atol=1e-6)
    again = predicted.correlation(pair.weight, pair.predicted)
    assert again == pytest.approx(float(seen.statistics["prediction"][at]), abs=1e-3)
    assert seen.largest_gap < 5e-5


def test_predictions_of_the_right_heads_tell_more_than_those_of_wrong_ones():
    seen = stored.stored(Observation)
    own = predicted.correlation(seen.without_first, seen.predicted_mean)
    others = seen.predicted_mean.reshape(270, -1)[::-1].reshape(seen.predicted_mean.shape)
    wrong = predicted.correlation(seen.without_first, others)
    assert np.median(own) > 0.8 > 0.7 > np.median(wrong)
    assert own.mean() - wrong.mean() > 0.2


@pytest.mark.parametrize(
    ("size", "error"), [(100, 1e-7), (stored._HALVES, 2**-11), (stored._COARSE, COARSE)]
)
def test_a_record_comes_back_to_the_digits_that_its_arrays_are_kept_with(tmp_path, size, error):
    drawn = np.exp(np.random.default_rng(0).uniform(-9, 3, size)).astype(np.float32)
    weights = drawn.reshape(-1, 4) * np.array([1, -1, 1, 1])
    record = HeadMap(
        model="smollm2",
        layer=1,
        head=2,
        tokens=(" dog", "é", '"'),
        weights=weights,
        received=np.array([0.0, 0.5]),
        entropy=np.array([1.5]),
        by_distance=np.zeros(0),
    )
    stored.write(tmp_path / "deep" / "one.json", record)
    found = stored.read(tmp_path / "deep" / "one.json", HeadMap)
    assert (found.model, found.layer, found.tokens) == ("smollm2", 1, (" dog", "é", '"'))
    assert found.weights.shape == weights.shape
    assert float(np.abs(found.weights / weights - 1).max()) <= error
    assert found.received.tolist() == [0.0, 0.5]
    assert found.by_distance.shape == (0,)


def test_whole_numbers_and_mappings_come_back_as_they_were(tmp_path):
    whole = stored.stored(Permuted)
    stored.write(tmp_path / "one.json", whole)
    found = stored.read(tmp_path / "one.json", Permuted)
    for field in dataclasses.fields(Permuted):
        np.testing.assert_array_equal(getattr(found, field.name), getattr(whole, field.name))
    assert found.position_ids.dtype.kind == "i"
