"""Score against distance: equal, independent and given queries and keys."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import posviz
from posviz.attention import logits
from posviz.encodings.rotary import RotaryFamily
from posviz.measures import correlated_pair, equal_scores, given_scores, independent_scores
from posviz.parameters import ParameterError

ROTARY = [
    "rope",
    "rope?layout=interleaved",
    "rope?partial_rotary_factor=0.25",
    "rope?partial_rotary_factor=0.25&layout=interleaved",
    "rope?head_dim=64&base=500000",
    "p_rope?head_dim=256",
    "yarn?scaling_factor=16",
    "yarn?scaling_factor=4&partial_rotary_factor=0.5&layout=interleaved",
    "log_n?original_max_position_embeddings=16",
    "longrope",
    "dynamic_ntk?original_max_position_embeddings=16",
    "xpos",
    "xpos?layout=half_split",
    "radix",
    "vo_rope?rotates=QKVO",
    "irope",
    "irope?layer=3&floor_scale=16",
    "rerope?window=20",
    "leaky_rerope?window=20",
    "self_extend?window=20&group_size=7",
    "self_extend?window=16&group_size=4&layout=interleaved",
    "dca?chunk_size=24&local_window=8&original_max_position_embeddings=32",
]
PLAIN = ["nope", "alibi", "kerple_log", "sandwich", "fire", "sliding_window?window=9", "forgetting"]


def one_pair(size: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    q, k = np.random.default_rng(seed).standard_normal((2, size))
    return q, k


def from_matrix(spec: Any, q: np.ndarray, k: np.ndarray, length: int) -> np.ndarray:
    """The last row of the logits of all positions, nearest key first: (…, length)."""
    result = spec.encode(np.arange(float(length)))
    queries, keys = np.tile(q, (length, 1)), np.tile(k, (length, 1))
    return np.asarray(logits(result, queries, keys, is_causal=True)[..., -1, ::-1])


@pytest.mark.parametrize("link", ROTARY)
@pytest.mark.parametrize("length", [1, 2, 90])
def test_given_pair_has_the_logits_of_attention(link: str, length: int) -> None:
    spec: Any = posviz.parse(link)
    q, k = one_pair(spec.head_dim)
    found = given_scores(spec, q, k, length=length)
    assert found.shape == (length,)
    np.testing.assert_allclose(found, from_matrix(spec, q, k, length), rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("link", PLAIN)
def test_given_pair_gets_the_bias_of_each_head(link: str) -> None:
    spec: Any = posviz.parse(link)
    q, k = one_pair(48)
    expected = np.atleast_2d(from_matrix(spec, q, k, 40))
    for head, row in enumerate(expected):
        found = given_scores(spec, q, k, length=40, head=head)
        np.testing.assert_allclose(found, row, rtol=1e-11, atol=1e-11)


def test_given_pair_far_beyond_the_trained_window() -> None:
    # Rows of 30,000 keys, against the angle sums of a few of them.
    q, k = one_pair(128)
    for link in ("yarn?scaling_factor=4", "rerope?window=512", "self_extend?window=512"):
        spec: Any = posviz.parse(link)
        found = given_scores(spec, q, k, length=30_000)
        positions = np.array([0.0, 1.0, 17_000.0, 29_000.0, 29_998.0, 29_999.0])
        result = spec.encode(positions, length=30_000)
        tiled = [np.tile(one, (6, 1)) for one in (q, k)]
        expected = logits(result, *tiled)[-1]
        at = (29_999 - positions).astype(int)
        np.testing.assert_allclose(found[at], expected, rtol=1e-8, atol=1e-9)


def test_swapping_query_and_key_mirrors_the_distance() -> None:
    # (R_m q)·(R_n k) with q and k swapped is the score of the key after the query.
    spec: Any = posviz.parse("rope")
    q, k = one_pair(128)
    result = spec.encode([0.0, 5.0])
    ahead = logits(result, np.tile(q, (2, 1)), np.tile(k, (2, 1)))[0, 1]
    assert given_scores(spec, k, q, length=6)[5] == pytest.approx(ahead, rel=1e-12)
    assert given_scores(spec, q, k, length=6)[5] != pytest.approx(ahead, rel=1e-3)


@pytest.mark.parametrize(
    ("link", "query", "key", "sentence"),
    [
        (
            "rope",
            64,
            128,
            "RoPE: query must be 128 numbers, one per dimension of the head; got the shape (64,).",
        ),
        (
            "rope",
            128,
            129,
            "RoPE: key must be 128 numbers, one per dimension of the head; got the shape (129,).",
        ),
        (
            "alibi",
            8,
            9,
            "ALiBi: key must be 8 numbers, one per dimension of the head; got the shape (9,).",
        ),
        (
            "sinusoidal",
            512,
            512,
            "Sinusoidal: a given query and key already hold the positions, which are added before "
            "the projections.",
        ),
        (
            "shaw",
            64,
            64,
            "Shaw: its logits are terms of the queries and keys of its own tokens, so that a given "
            "pair has no place in them.",
        ),
    ],
)
def test_pairs_that_do_not_fit_are_refused(link: str, query: int, key: int, sentence: str) -> None:
    with pytest.raises(ParameterError) as error:
        given_scores(posviz.parse(link), np.ones(query), np.ones(key), length=4)
    assert str(error.value) == sentence


def test_equal_pair_is_a_given_pair_of_ones() -> None:
    for link in ROTARY:
        spec = posviz.parse(link)
        assert isinstance(spec, RotaryFamily)
        ones = np.ones(spec.head_dim)
        match = math.sqrt(spec.head_dim)
        np.testing.assert_allclose(
            equal_scores(spec, length=60, match=match),
            given_scores(spec, ones, ones, length=60),
            rtol=1e-11,
            atol=1e-11,
        )


def test_equal_scores_stop_at_the_window_and_take_the_bias_of_a_head() -> None:
    window = equal_scores(posviz.parse("sliding_window?window=3"), length=5, match=2.0)
    assert window.tolist() == [2, 2, 2, -math.inf, -math.inf]
    alibi = equal_scores(posviz.parse("alibi"), length=4, match=2.0, head=1)
    assert alibi.tolist() == [2, 1.75, 1.5, 1.25]
    # The last head where there are fewer.
    last = equal_scores(posviz.parse("alibi"), length=4, head=100)
    assert last.tolist() == [1, 1 - 1 / 256, 1 - 2 / 256, 1 - 3 / 256]


SPREAD = [
    "rope",
    "rope?partial_rotary_factor=0.25",
    "yarn?scaling_factor=16&partial_rotary_factor=0.25",
    "yarn?scaling_factor=16&layout=interleaved",
    "log_n?original_max_position_embeddings=100",
    "xpos",
    "rerope?window=100",
    "irope?layer=3&floor_scale=64",
    "alibi",
    "nope",
    "sinusoidal",
]
DISTANCES = np.unique(np.geomspace(1, 5000, 40).round()) - 1


@pytest.mark.parametrize("link", SPREAD)
@pytest.mark.parametrize("sigma", [1.0, 2.5])
def test_spread_of_the_draws_is_the_formula(link: str, sigma: float) -> None:
    draws = 4000
    found = independent_scores(
        posviz.parse(link), DISTANCES, length=5001, sigma=sigma, draws=draws, head=2
    )
    # A sum of D products of normals has at most 6/(D/2) more kurtosis than a normal number where
    # few pairs are left: standard error of a standard deviation below 1.2·s/√(2n).
    allowed = 5 * 1.2 * found.spread / math.sqrt(2 * draws)
    assert (np.abs(found.sampled_spread - found.spread) < allowed).all()
    # No distance has another mean: whatever one draw shows, nothing decays.
    error = found.spread / math.sqrt(draws)
    assert (np.abs(found.sampled_mean - found.mean) < 4 * error).all()
    bias = -DISTANCES / 8 if link == "alibi" else 0 * DISTANCES
    np.testing.assert_allclose(found.mean, bias, rtol=0, atol=1e-12)
    assert found.draws == draws
    assert found.examples.shape == (3, DISTANCES.size)


def test_rotations_keep_the_spread_at_every_distance_and_xpos_does_not() -> None:
    rope, xpos = (
        independent_scores(posviz.parse(link), DISTANCES, length=5000).spread
        for link in ("rope", "xpos")
    )
    np.testing.assert_array_equal(rope, 1.0)
    assert xpos[0] == pytest.approx(1.0, rel=1e-14)
    assert (np.diff(xpos) < 0).all()
    zeta = (np.arange(64) / 64 + 0.4) / 1.4
    far = DISTANCES[-1]
    assert xpos[-1] == pytest.approx(math.sqrt((zeta ** (2 * far / 512)).mean()), rel=1e-12)


def test_one_random_pair_shows_no_decay() -> None:
    # The mean square of single curves near the query and 10,000 tokens away, over 400 pairs.
    spec = posviz.parse("rope")
    near, far = np.arange(0.0, 50), np.arange(10_000.0, 10_050)
    found = independent_scores(
        spec, np.concatenate((near, far)), length=10_050, draws=400, examples=400
    )
    squares = (found.examples**2).reshape(400, 2, 50).mean(axis=2)
    error = squares.std() / math.sqrt(400)
    assert squares[:, 0].mean() == pytest.approx(1, abs=4 * error)
    assert squares[:, 1].mean() == pytest.approx(1, abs=4 * error)


def test_examples_are_the_logits_of_pairs_of_the_same_draw() -> None:
    spec = posviz.parse("yarn?partial_rotary_factor=0.5&layout=interleaved")
    found = independent_scores(spec, [0, 7, 40], length=64, draws=5, seed=3)
    q, k = np.random.default_rng(3).standard_normal((2, 5, 128))
    for example, one, other in zip(found.examples, q, k, strict=False):
        expected = given_scores(spec, one, other, length=64)[[0, 7, 40]]
        np.testing.assert_allclose(example, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("correlation", [-1.0, -0.5, 0.0, 0.7, 1.0])
def test_correlated_pairs_have_that_correlation(correlation: float) -> None:
    q, k = correlated_pair(200_000, correlation, 1)
    error = 5 / math.sqrt(200_000)
    assert np.corrcoef(q, k)[0, 1] == pytest.approx(correlation, abs=error)
    assert k.var() == pytest.approx(1, abs=2 * error)
    if abs(correlation) == 1:
        np.testing.assert_array_equal(k, correlation * q)


@pytest.mark.parametrize("bad", [-1.01, 2.0, math.nan])
def test_correlations_outside_the_range_are_refused(bad: float) -> None:
    with pytest.raises(ParameterError) as error:
        correlated_pair(8, bad, 0)
    assert str(error.value) == (
        f"correlated pair: correlation must be a number of at least -1 and at most 1; got {bad}."
    )


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"sigma": -1.0}, "independent scores: sigma must be a number of at least 0; got -1.0."),
        (
            {"examples": -1},
            "independent scores: examples must be a whole number of at least 0 and at most 256; "
            "got -1.",
        ),
        (
            {"draws": 1},
            "independent scores: draws must be a whole number of at least 2 and at most 100000; "
            "got 1.",
        ),
    ],
)
def test_draws_that_cannot_be_are_refused(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError) as caught:
        independent_scores(posviz.parse("rope"), [1, 2], length=10, **changes)
    assert str(caught.value) == sentence


@pytest.mark.parametrize("distances", [[10], [-1], [1.5], [[1, 2]], 3])
def test_distances_outside_the_context_are_refused(distances: Any) -> None:
    with pytest.raises(ParameterError) as caught:
        independent_scores(posviz.parse("rope"), distances, length=10)
    words = "independent scores: distances must be whole numbers from 0 to 9"
    assert str(caught.value).startswith(words)
