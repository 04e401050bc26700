"""Receptive field of stacked layers, against direct convolutions, random walks and masks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import posviz
from posviz.measures import Content, weight_profile
from posviz.measures.receptive import receptive_field, stacked_weights, stacking_noise
from posviz.parameters import ParameterError


def convolved(weights: np.ndarray, layers: int) -> np.ndarray:
    """The same, layer by layer, by sums of positive numbers only."""
    stacked = weights
    for _ in range(layers - 1):
        stacked = np.convolve(stacked, weights)
    return np.asarray(stacked)


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(
    raw=st.lists(st.floats(0, 1), min_size=1, max_size=60).filter(lambda one: sum(one) > 1e-3),
    layers=st.integers(1, 12),
)
def test_stacked_weights_are_the_convolution_within_the_bound(
    raw: list[float], layers: int
) -> None:
    weights = np.asarray(raw) / np.sum(raw)
    found = stacked_weights(weights, layers)
    assert found.shape == (layers * (len(raw) - 1) + 1,)
    assert (found >= 0).all()
    # The direct sums have a rounding per term and layer of their own.
    allowed = stacking_noise(weights, layers) + 1e-15
    assert np.abs(found - convolved(weights, layers)).max() <= allowed


@pytest.mark.parametrize(("chance", "layers"), [(0.5, 1), (0.5, 2), (0.3, 40), (0.01, 1000)])
def test_two_keys_give_the_binomial_distribution(chance: float, layers: int) -> None:
    weights = np.array([1 - chance, chance])
    found = stacked_weights(weights, layers)
    expected = stats.binom.pmf(np.arange(layers + 1), layers, chance)
    np.testing.assert_allclose(found, expected, rtol=0, atol=stacking_noise(weights, layers))


def test_layers_of_alibi_give_the_negative_binomial_distribution() -> None:
    # Slope m without end: w(δ) = (1 - r)·r^δ with r = e^-m, whose k-fold sum is known.
    ratio, layers = math.exp(-1 / 16), 12
    weights = weight_profile(posviz.parse("alibi"), 2000, head=3).weights
    found = stacked_weights(weights, layers)
    expected = stats.nbinom.pmf(np.arange(found.size), layers, 1 - ratio)
    allowed = stacking_noise(weights, layers) + 1e-15
    np.testing.assert_allclose(found, expected, rtol=0, atol=allowed)
    field = receptive_field(posviz.parse("alibi"), 2000, layers=[layers], head=3)
    assert field.reach[0] == stats.nbinom.ppf(0.99, layers, 1 - ratio) + 1
    assert field.half_reach[0] == stats.nbinom.ppf(0.5, layers, 1 - ratio) + 1
    assert field.mean_distance[0] == pytest.approx(layers * ratio / (1 - ratio), rel=1e-9)


def test_what_is_below_the_rounding_is_given_as_nothing() -> None:
    weights = weight_profile(posviz.parse("alibi"), 400, head=0).weights
    found = stacked_weights(weights, 8)
    exact = convolved(weights, 8)
    noise = stacking_noise(weights, 8)
    assert noise < 1e-12
    assert (exact[found == 0] <= 2 * noise).all()
    # Far away the exact shares are e^-1000; a transform alone would show 1e-18 there.
    assert (found[200:] == 0).all()
    assert found.sum() == pytest.approx(1.0, abs=1e-11)


@pytest.mark.parametrize("window", [1, 2, 64, 333])
def test_farthest_token_of_a_window_is_that_of_the_mask(window: int) -> None:
    spec: Any = posviz.parse(f"sliding_window?window={window}&layers=32")
    mask = spec.encode(range(4)).reach
    layers = [1, 2, 3, 12, 32]
    field = receptive_field(spec, 1024, layers=layers)
    assert field.layers.tolist() == layers
    np.testing.assert_array_equal(field.farthest, mask[np.asarray(layers) - 1])
    np.testing.assert_array_equal(field.farthest, np.asarray(layers) * (window - 1) + 1)
    np.testing.assert_allclose(field.mean_distance, np.asarray(layers) * (window - 1) / 2)
    # The sum of layers even draws from 0 … window-1, far from as wide as it could be.
    for count, reach, half in zip(layers, field.reach, field.half_reach, strict=True):
        held = np.cumsum(convolved(np.full(window, 1 / window), count))
        assert reach == np.argmax(held >= 0.99 - 1e-12) + 1
        assert half == np.argmax(held >= 0.5 - 1e-12) + 1


@pytest.mark.parametrize("link", ["rope", "xpos", "alibi", "nope", "sliding_window?window=50"])
@pytest.mark.parametrize(
    "content",
    [Content(), Content(content="same", match=15.0), Content(content="gaussian", sigma=2.0)],
    ids=lambda content: content.content,
)
def test_field_is_that_of_the_weights_convolved(link: str, content: Content) -> None:
    spec = posviz.parse(link)
    weights = np.asarray(weight_profile(spec, 300, content=content).weights)
    layers = [1, 2, 5]
    field = receptive_field(spec, 300, layers=layers, content=content)
    for place, count in enumerate(layers):
        stacked = convolved(weights, count)
        held = np.cumsum(stacked)
        assert field.reach[place] == np.argmax(held >= 0.99 - 1e-12) + 1
        assert field.half_reach[place] == np.argmax(held >= 0.5 - 1e-12) + 1
        mean = float(stacked @ np.arange(stacked.size))
        assert field.mean_distance[place] == pytest.approx(mean, rel=1e-11, abs=1e-12)
    seen = int((weights > 0).sum()) if link.startswith("sliding") else 300
    np.testing.assert_array_equal(field.farthest, np.asarray(layers) * (seen - 1) + 1)


def test_steps_of_random_walks_reach_as_far() -> None:
    # A layer's output looks back by a distance drawn from its weights, and so on down.
    spec, layers, walks = posviz.parse("alibi"), 6, 20_000
    weights = np.asarray(weight_profile(spec, 512, head=5).weights)
    steps = np.random.default_rng(0).choice(512, size=(walks, layers), p=weights)
    far = steps.sum(axis=1)
    field = receptive_field(spec, 512, layers=[layers], head=5)
    assert field.mean_distance[0] == pytest.approx(far.mean(), abs=4 * far.std() / math.sqrt(walks))
    share = (far < field.reach[0]).mean()
    assert share == pytest.approx(0.99, abs=4 * math.sqrt(0.99 * 0.01 / walks) + 1e-3)


def test_layers_whose_own_weights_hardly_look_back_are_cut_short() -> None:
    # A million tokens of slope 1/2: weights beyond 56 hold less than 1e-12 and are cut.
    field = receptive_field(posviz.parse("alibi"), 1 << 20, layers=[64], head=0)
    ratio = math.exp(-0.5)
    assert field.reach[0] == stats.nbinom.ppf(0.99, 64, 1 - ratio) + 1
    assert field.farthest[0] == 64 * ((1 << 20) - 1) + 1


@pytest.mark.parametrize(
    ("weights", "layers", "sentence"),
    [
        (
            [1.0],
            0,
            "receptive field: layers must be a whole number of at least 1; got 0.",
        ),
        ([0.5, 0.6], 2, "receptive field: weights must be shares that sum to 1; got 1.1."),
        ([1.5, -0.5], 2, "receptive field: weights must be one row of numbers of at least 0."),
        ([math.nan], 2, "receptive field: weights must be one row of numbers of at least 0."),
        ([[1.0]], 2, "receptive field: weights must be one row of numbers of at least 0."),
        ([], 2, "receptive field: weights must be one row of numbers of at least 0."),
        (
            np.full(100_000, 1e-5),
            100,
            "receptive field: layers and distances must span at most 4194304 distances; got "
            "layers 100 over 100000 distances.",
        ),
    ],
)
def test_weights_and_layers_that_cannot_be_stacked_are_refused(
    weights: Any, layers: int, sentence: str
) -> None:
    with pytest.raises(ParameterError) as error:
        stacked_weights(weights, layers)
    assert str(error.value) == sentence


def test_no_layers_give_an_empty_field() -> None:
    field = receptive_field(posviz.parse("rope"), 64, layers=[])
    assert field.layers.shape == field.reach.shape == field.farthest.shape == (0,)
