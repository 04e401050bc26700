"""All heads beside each other, against one head at a time."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import entr

import posviz
from posviz.measures import Content, head_profiles, head_weights, weight_profile

LINKS = [
    "alibi",
    "alibi?heads=12",
    "alibi?form=key_only",
    "alibi?slope_scale=1000",
    "t5",
    "sandwich",
    "kerple_log",
    "fire",
    "rope",
    "sliding_window?window=100",
    "shaw",
    "transformer_xl",
    "forgetting",
]
CONTENTS = [
    Content(),
    Content(content="gaussian", sigma=3.0, seed=2),
    Content(content="same", match=12.0),
]


@pytest.mark.parametrize("content", CONTENTS, ids=lambda content: content.content)
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("length", [1, 2, 101, 256])
def test_heads_are_those_of_one_head_at_a_time(link: str, content: Content, length: int) -> None:
    spec = posviz.parse(link)
    found = head_profiles(spec, length, content=content)
    whole = head_weights(spec, length, content=content)
    heads = getattr(spec, "heads", 1)
    assert whole.shape == (heads, length)
    assert found.weights.shape == (heads, len(found.distances))
    for head in range(heads):
        alone = weight_profile(spec, length, content=content, head=head)
        np.testing.assert_allclose(whole[head], alone.weights, rtol=1e-10, atol=1e-300)
        at = found.distances.astype(int)
        np.testing.assert_allclose(found.weights[head], alone.weights[at], rtol=1e-10, atol=1e-300)
        assert found.entropy[head] == pytest.approx(entr(alone.weights).sum(), rel=1e-10, abs=1e-12)
        # In whole tokens, and never before the straight line has fallen so far.
        assert found.half_life[head] == np.ceil(alone.half_life - 1e-9)
    np.testing.assert_allclose(whole.sum(axis=1), 1, rtol=1e-13)


def test_half_lives_of_alibi_are_rounded_up() -> None:
    found = head_profiles(posviz.parse("alibi"), 2048)
    # ln 2 / slope: 1.386, 2.773, 5.545, 11.09, 22.18, 44.36, 88.72, 177.45 tokens.
    assert found.half_life.tolist() == [2, 3, 6, 12, 23, 45, 89, 178]


def test_one_pass_over_many_blocks_sums_to_one() -> None:
    spec = posviz.parse("alibi?slope_scale=0.001")
    length = 50_000
    found = head_profiles(spec, length, content=Content(content="gaussian", sigma=4.0), most=10**6)
    # Enough distances to have every one of them.
    np.testing.assert_array_equal(found.distances, np.arange(length))
    np.testing.assert_allclose(found.weights.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_allclose(found.entropy, entr(found.weights).sum(axis=1), rtol=1e-11)
    whole = head_weights(spec, length, content=Content(content="gaussian", sigma=4.0))
    np.testing.assert_allclose(found.weights, whole, rtol=1e-10)


def test_a_logit_that_rises_late_is_counted_from_the_new_top() -> None:
    # Llama 4 has no bias; a toeplitz bias may rise with distance. Keys far away then hold all.
    found = head_profiles(posviz.parse("alibi?form=key_only"), 40_000)
    near = head_profiles(posviz.parse("alibi"), 40_000)
    # The same up to a shift per query, which the softmax drops.
    np.testing.assert_allclose(found.weights, near.weights, rtol=1e-9, atol=1e-300)
    np.testing.assert_allclose(found.entropy, near.entropy, rtol=1e-10)


def test_the_needle_is_nobodys() -> None:
    spec = posviz.parse("alibi")
    with_needle = head_profiles(spec, 100, content=Content(content="needle", sigma=0.0, match=50.0))
    without = head_profiles(spec, 100)
    np.testing.assert_array_equal(with_needle.weights, without.weights)


def test_distances_are_whole_start_at_the_query_and_end_at_the_first_token() -> None:
    at = head_profiles(posviz.parse("alibi"), 131_072, most=50).distances
    assert at[:4].tolist() == [0, 1, 2, 3]
    assert at[-1] == 131_071
    assert len(at) <= 51
    assert (at == at.round()).all()


def test_keys_beyond_a_window_have_no_weight() -> None:
    spec = posviz.parse("sliding_window?window=100")
    found = head_profiles(spec, 400)
    np.testing.assert_allclose(found.weights[0, found.distances < 100], 0.01, rtol=1e-13)
    np.testing.assert_array_equal(found.weights[0, found.distances >= 100], 0)
    assert found.entropy[0] == pytest.approx(math.log(100), rel=1e-13)
    np.testing.assert_array_equal(head_weights(spec, 400)[0, 100:], 0)
