"""Logits and weights that positions alone give."""

import math

import numpy as np
import pytest

from posviz.measures import logit_blocks, position_logits, seen_blocks, softmax_rows
from posviz.results import AttentionMask, Rotation, ToeplitzBias, distances_of


def toeplitz(positions, causal=True):
    positions = np.asarray(positions, dtype=float)
    distances = distances_of(positions)
    by_distance = np.stack([-distances, -3 * distances])
    return ToeplitzBias(
        positions=positions,
        heads=2,
        is_causal_only=causal,
        distances=distances,
        by_distance=by_distance,
    )


def window(positions, size):
    positions = np.asarray(positions, dtype=float)
    distances = distances_of(positions)
    return AttentionMask(
        positions=positions,
        distances=distances,
        visible=(distances >= 0) & (distances < size),
        reach=np.array([float(size)]),
    )


@pytest.mark.parametrize("positions", [np.arange(6.0), [0.0, 1.0, 4.0, 9.0], [5.0, 3.0, 0.0]])
def test_logits_of_a_causal_bias_hide_keys_at_later_positions(positions):
    found = position_logits(toeplitz(positions), 1, slice(None))
    for m, query in enumerate(positions):
        for n, key in enumerate(positions):
            assert found[m, n] == (-math.inf if key > query else -3 * (query - key))


def test_only_the_rows_and_keys_asked_for_are_given():
    whole = position_logits(toeplitz(range(9)), 0, slice(None))
    some = position_logits(toeplitz(range(9)), 0, slice(3, 5), slice(2, 6))
    np.testing.assert_array_equal(some, whole[3:5, 2:6])


@pytest.mark.parametrize("positions", [np.arange(7.0), 3 * np.arange(7.0), np.arange(7.0) ** 2])
def test_blocks_of_logits_are_means_over_the_keys_that_are_seen(positions):
    found = logit_blocks(toeplitz(positions), 0, 4)
    whole = position_logits(toeplitz(positions), 0, slice(None))
    assert found.values[1, 0] == pytest.approx(whole[2:4, :2].mean())
    assert found.values[1, 1] == pytest.approx(np.mean([whole[2, 2], whole[3, 2], whole[3, 3]]))
    assert np.isnan(found.values[0, 1])


@pytest.mark.parametrize("positions", [np.arange(8.0), np.arange(8.0) ** 2])
def test_blocks_of_a_mask_are_shares_of_what_is_seen(positions):
    mask = window(positions, 3)
    gaps = np.subtract.outer(positions, positions)
    seen = ((gaps >= 0) & (gaps < 3)).reshape(4, 2, 4, 2).mean(axis=(1, 3))
    np.testing.assert_allclose(seen_blocks(mask, 4).values, seen)
    np.testing.assert_array_equal(
        np.isfinite(position_logits(mask, 0, slice(None))), (gaps >= 0) & (gaps < 3)
    )


def test_softmax_survives_large_logits_and_gives_nothing_where_no_key_is_seen():
    weights = softmax_rows(np.array([[1000.0, 1000.0], [-np.inf, -np.inf], [0.0, -np.inf]]))
    assert weights.tolist() == [[0.5, 0.5], [0.0, 0.0], [1.0, 0.0]]


def test_a_rotation_adds_nothing_to_the_logits():
    turned = Rotation(
        positions=np.arange(3.0),
        inv_freq=np.ones(1),
        attention_factor=1.0,
        head_dim=2,
        rotary_dim=2,
        layout="half_split",
    )
    assert position_logits(turned, 0, slice(None)) is None
