"""Models of the content: what they take, and the draws that every context shares."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import posviz
from posviz.measures import Content, logit_row, weight_profile
from posviz.measures.content import Hay, needle_logit, spread_at, spread_factor
from posviz.parameters import ParameterError


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (
            {"content": "trained"},
            "Content: content must be one of zero, gaussian, same, needle; got 'trained'.",
        ),
        (
            {"sigma": -0.1},
            "Content: sigma must be a number of at least 0 and at most 100; got -0.1.",
        ),
        (
            {"match": 1000.5},
            "Content: match must be a number of at least 0 and at most 1000; got 1000.5.",
        ),
        ({"depth": 1.5}, "Content: depth must be a number of at least 0 and at most 1; got 1.5."),
        (
            {"depth": math.nan},
            "Content: depth must be a number of at least 0 and at most 1; got nan.",
        ),
        (
            {"seed": 1 << 32},
            "Content: seed must be a whole number of at least 0 and at most 4294967295; "
            "got 4294967296.",
        ),
        ({"needle_turns": 1}, "Content: needle_turns must be true or false; got 1."),
    ],
)
def test_values_outside_the_range_are_refused(values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ParameterError) as error:
        Content(**values)
    assert str(error.value) == sentence


@pytest.mark.parametrize(
    ("depth", "length", "distance"),
    [(0.0, 100, 0), (1.0, 100, 99), (0.5, 101, 50), (0.25, 9, 2), (1.0, 1, 0), (0.5, 2, 0)],
)
def test_needle_lies_at_a_whole_distance(depth: float, length: int, distance: int) -> None:
    assert Content(depth=depth).needle_distance(length) == distance


def test_what_counts_as_drawn() -> None:
    drawn = {kind: Content(content=kind).is_drawn for kind in ("zero", "same", "gaussian")}
    assert drawn == {"zero": False, "same": False, "gaussian": True}
    assert Content(content="needle").is_drawn
    assert not Content(content="needle", sigma=0.0).is_drawn


@pytest.mark.parametrize("blocks", [[700], [1, 699], [350, 350], [13] * 53 + [11]])
def test_draws_go_on_where_the_last_block_stopped(blocks: list[int]) -> None:
    content = Content(content="gaussian", sigma=2.0, seed=5)
    hay = Hay(logit_row(posviz.parse("rope"), 700), content)
    ends = np.cumsum([0, *blocks])
    parts = [hay(int(first), int(end)) for first, end in itertools.pairwise(ends)]
    expected = 2 * np.random.default_rng(5).standard_normal(700)
    np.testing.assert_array_equal(np.concatenate(parts), expected)


def test_every_spec_meets_the_same_draws() -> None:
    content = Content(content="gaussian", seed=9)
    rope, alibi, longer = (
        weight_profile(posviz.parse(link), length, content=content).logits
        for link, length in (("rope", 300), ("alibi", 300), ("rope", 4000))
    )
    np.testing.assert_allclose(alibi + np.arange(300.0) / 2, rope, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(longer[:300], rope)
    other = weight_profile(
        posviz.parse("rope"), 300, content=Content(content="gaussian", seed=10)
    ).logits
    assert abs(np.corrcoef(other, rope)[0, 1]) < 0.25


def test_logits_are_those_of_normal_queries_and_keys() -> None:
    # σ = 1 is q·k/√D for normal q and k: standard deviation 1, within 5/√(2n).
    content = Content(content="gaussian", sigma=1.0)
    logits = weight_profile(posviz.parse("nope"), 100_000, content=content).logits
    assert logits.mean() == pytest.approx(0, abs=5 / math.sqrt(100_000))
    assert logits.std() == pytest.approx(1, abs=5 / math.sqrt(200_000))


@pytest.mark.parametrize(
    ("link", "spread"),
    [
        ("rope", 1.0),
        ("alibi", 1.0),
        # m² on all logits: (1 + 0.1·ln 4)².
        ("yarn?scaling_factor=4", (1 + 0.1 * math.log(4)) ** 2),
        # m² on a quarter of the dimensions only, whose squares add up.
        (
            "yarn?scaling_factor=4&partial_rotary_factor=0.25",
            math.sqrt(0.25 * (1 + 0.1 * math.log(4)) ** 4 + 0.75),
        ),
        # On the softmax instead: on all dimensions, rotated or not.
        ("log_n?original_max_position_embeddings=100&partial_rotary_factor=0.25", 1.5),
    ],
)
def test_spread_of_independent_scores(link: str, spread: float) -> None:
    row = logit_row(posviz.parse(link), 1000)
    assert float(spread_factor(row, 0, 7)) == pytest.approx(spread, rel=1e-12)
    assert float(spread_at(row, np.array([0.0, 999.0]))) == pytest.approx(spread, rel=1e-12)


def test_spread_of_pairs_that_fade() -> None:
    # xPos: √(mean of ζ^(2δ/512)), 1 at distance 0; ζ from 2/7 to 0.988839.
    row = logit_row(posviz.parse("xpos"), 5000)
    zeta = (np.arange(64) / 64 + 0.4) / 1.4
    distances = np.arange(5000.0)
    expected = np.sqrt((zeta ** (2 * distances[:, None] / 512)).mean(axis=1))
    np.testing.assert_allclose(spread_factor(row, 0, 5000), expected, rtol=1e-11)
    np.testing.assert_allclose(spread_factor(row, 100, 50), expected[100:150], rtol=1e-11)
    np.testing.assert_allclose(spread_at(row, distances[::500]), expected[::500], rtol=1e-11)


def test_a_needle_keeps_its_logit_where_the_rotation_does_not_act_on_it() -> None:
    row = logit_row(posviz.parse("rope"), 1001)
    still, turned = (
        needle_logit(row, Content(content="needle", match=8.0, needle_turns=turns))
        for turns in (False, True)
    )
    assert still == 8.0
    score = np.cos(500 * 1e4 ** (-np.arange(64) / 64)).mean()
    assert turned == pytest.approx(8 * score, rel=1e-12)


def test_a_needle_gets_the_bias_of_its_distance_and_nothing_beyond_the_window() -> None:
    content = Content(content="needle", match=8.0, depth=0.1)
    alibi = logit_row(posviz.parse("alibi"), 1001)
    assert needle_logit(alibi, content, 3) == pytest.approx(8 - 100 / 16)
    window = logit_row(posviz.parse("sliding_window?window=100"), 1001)
    assert needle_logit(window, content) == -math.inf
    assert needle_logit(logit_row(posviz.parse("sliding_window?window=101"), 1001), content) == 8.0
