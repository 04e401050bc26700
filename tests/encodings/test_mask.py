"""Masks and the recipe of growing lengths."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import posviz
from posviz import ParameterError
from posviz.attention import logits, output, weights


def spec(link: str) -> Any:
    return posviz.parse(link)


@pytest.mark.parametrize("symmetric", ["false", "true"])
@pytest.mark.parametrize("window", [1, 2, 5])
def test_reach_is_what_stacked_layers_let_through(window: int, symmetric: str) -> None:
    count, layers = 64, 6
    chosen = spec(f"sliding_window?window={window}&symmetric={symmetric}&layers={layers}")
    result = chosen.encode(range(count))
    seen = (result.matrix == 0).astype(int)
    through = np.eye(count, dtype=int)
    for layer in range(layers):
        through = np.minimum(through @ seen, 1)
        # The last token where only keys before it count, else one in the middle.
        row = count // 2 if symmetric == "true" else count - 1
        assert through[row].sum() == result.reach[layer]


def test_a_layer_of_full_attention_lifts_the_limit() -> None:
    result = spec("sliding_window?window=512&layers=12&sliding_window_pattern=6").encode([0, 1])
    np.testing.assert_array_equal(result.reach, [512, 1023, 1534, 2045, 2556] + [math.inf] * 7)
    assert result.layers.index("full_attention") == 5


def test_a_window_of_the_whole_sequence_is_the_causal_mask() -> None:
    at = [3.0, 4.0, 7.0, 9.0]
    windowed, causal = spec("sliding_window?window=7").encode(at), spec("causal").encode(at)
    np.testing.assert_array_equal(windowed.matrix, causal.matrix)
    np.testing.assert_array_equal(windowed.curves["keys seen"], causal.curves["keys seen"])


def test_keys_seen_are_those_of_the_matrix() -> None:
    at = np.asarray([5.0, 0.0, 2.0, 3.0, 11.0])
    for link in ("causal", "sliding_window?window=3", "sliding_window?window=4&symmetric=true"):
        result = spec(link).encode(at)
        expected = (result.matrix == 0).sum(axis=1)
        np.testing.assert_array_equal(result.curves["keys seen"], expected)


def test_example_positions_show_the_edge_of_the_band() -> None:
    for window in (1, 3, 100, 4096):
        chosen = spec(f"sliding_window?window={window}")
        visible = chosen.encode(chosen.example_positions(64)).visible
        assert visible.any()
        assert not visible.all()


def test_s47_a_causal_mask_alone_makes_positions_readable() -> None:
    result = spec("causal").encode(range(50))
    same = np.ones((50, 4))
    values = np.zeros((50, 1))
    values[0] = 1.0
    mixed = output(result, same, same, values)
    np.testing.assert_allclose(mixed[:, 0], 1 / np.arange(1, 51), rtol=1e-13)
    np.testing.assert_allclose(result.curves["uniform weight"], mixed[:, 0], rtol=1e-13)


def test_s41_the_variance_of_a_causal_mean_falls_with_the_position() -> None:
    result = spec("causal").encode(range(40))
    share = weights(result, *np.zeros((2, 40, 2)))
    values = np.random.default_rng(0).standard_normal((40, 40_000))
    variance = (share @ values).var(axis=1)
    np.testing.assert_allclose(variance, 1 / np.arange(1, 41), rtol=0.05)


def test_the_mask_is_added_to_plain_attention() -> None:
    q, k = np.random.default_rng(1).standard_normal((2, 3, 6, 8))
    at = np.arange(6.0)
    masked = logits(spec("causal").encode(at), q, k)
    expected = q @ np.swapaxes(k, -1, -2) / math.sqrt(8)
    lower = np.tril(np.ones((6, 6), dtype=bool))
    np.testing.assert_allclose(masked[:, lower], expected[:, lower], rtol=1e-13)
    assert (masked[:, ~lower] == -math.inf).all()


def test_mixed_lengths_take_each_length_about_as_often() -> None:
    chosen = spec("length_curriculum?order=mixed&steps_per_stage=2000")
    window = chosen.encode(range(6000)).window
    lengths, counts = np.unique(window, return_counts=True)
    np.testing.assert_array_equal(lengths, [8192, 65536, 524288])
    assert counts.min() > 1850
    other = spec("length_curriculum?order=mixed&steps_per_stage=2000&seed=1")
    assert (other.encode(range(6000)).window != window).any()


def test_a_growing_length_never_falls() -> None:
    chosen = spec("length_curriculum")
    window = chosen.encode(chosen.example_positions(100)).window
    assert (np.diff(window) >= 0).all()
    np.testing.assert_array_equal(np.unique(window), chosen.stages)


def test_recipes_say_what_they_need() -> None:
    with pytest.raises(ParameterError) as caught:
        spec("length_curriculum?stages=")
    assert str(caught.value) == (
        "Length curriculum: stages must hold at least one length, of steps_per_stage steps; "
        "got none."
    )
    with pytest.raises(ParameterError) as caught:
        spec("length_curriculum").encode([-1, 0])
    assert str(caught.value) == "Length curriculum: training steps must be at least 0; got -1.0."
    with pytest.raises(ParameterError) as caught:
        logits(spec("length_curriculum").encode([0, 1]), *np.ones((2, 2, 2)))
    assert str(caught.value) == (
        "attention: a Schedule says nothing about the logits of queries and keys."
    )
