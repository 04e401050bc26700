"""Statistics of measured attention weights, against numbers worked out by hand and by SciPy."""

import math

import numpy as np
import pytest
import torch
from scipy.linalg import toeplitz
from scipy.special import softmax

from posviz import ParameterError
from posviz.measures import observed

# Three tokens. Distances: 0 → 1, 1/4, 1/2; 1 → 3/4, 1/8; 2 → 3/8.
WEIGHTS = np.array([[1.0, 0.0, 0.0], [0.75, 0.25, 0.0], [0.375, 0.125, 0.5]])

BY_HAND = {
    "mean_by_distance": [(1 + 0.25 + 0.5) / 3, (0.75 + 0.125) / 2, 0.375],
    "entropy": [
        0.0,
        0.75 * math.log(4 / 3) + 0.25 * math.log(4),
        0.375 * math.log(8 / 3) + 0.125 * math.log(8) + 0.5 * math.log(2),
    ],
    "received": [(1 + 0.75 + 0.375) / 3, (0.25 + 0.125) / 2, 0.5],
    "first_share": (0.75 + 0.375) / 2,
    "diagonal_share": (0.25 + 0.5) / 2,
    "mean_distance": (0 + 0.75 + 2 * 0.375 + 0.125) / 3,
    "neighbour_share": (0 + 0.75 + 0.125) / 3,
    "without_first": [[1.0, 0.0], [0.2, 0.8]],
}


@pytest.mark.parametrize("name", BY_HAND)
def test_statistics_agree_with_hand_calculation(name):
    found = getattr(observed, name)(WEIGHTS)
    np.testing.assert_allclose(found, BY_HAND[name], atol=1e-15)


@pytest.mark.parametrize("name", [*BY_HAND, "filled_entropy"])
def test_torch_gives_the_same_as_numpy_for_many_heads_at_once(name):
    drawn = np.random.default_rng(1).normal(size=(2, 3, 7, 7))
    weights = softmax(np.where(np.tri(7, dtype=bool), drawn, -np.inf), axis=-1)
    one, other = (getattr(observed, name)(kind) for kind in (weights, torch.asarray(weights)))
    assert isinstance(other, torch.Tensor)
    assert tuple(other.shape) == one.shape
    np.testing.assert_allclose(other.numpy(), one, atol=1e-14)
    np.testing.assert_allclose(getattr(observed, name)(weights[1, 2]), one[1, 2], atol=1e-14)


def test_even_attention_has_the_entropy_ln_n_and_fills_it():
    even = np.tri(9) / np.arange(1, 10)[:, None]
    np.testing.assert_allclose(observed.entropy(even), np.log(np.arange(1, 10)), atol=1e-14)
    assert observed.filled_entropy(even) == pytest.approx(1, abs=1e-14)


def test_keys_after_the_query_have_negative_distances_and_count_as_neighbours():
    both_ways = np.array([[0.1, 0.6, 0.3], [0.2, 0.3, 0.5], [0.0, 0.7, 0.3]])
    np.testing.assert_allclose(
        observed.mean_by_distance(both_ways, [-2, -1, 0, 1]), [0.3, 0.55, 0.7 / 3, 0.45]
    )
    assert observed.neighbour_share(both_ways) == pytest.approx((0.6 + 0.2 + 0.5 + 0.7) / 3)
    assert observed.neighbour_share(both_ways, is_causal=True) == pytest.approx((0.2 + 0.7) / 3)
    assert observed.neighbour_share(both_ways, within=9) == pytest.approx((0.9 + 0.7 + 0.7) / 3)
    np.testing.assert_allclose(
        observed.received(both_ways, is_causal=False), both_ways.sum(axis=0) / 3
    )


def test_a_row_that_gave_the_first_token_everything_stays_zero_without_it():
    sink = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
    assert observed.without_first(sink).tolist() == [[0.0, 0.0], [1.0, 0.0]]


def test_change_of_rows_is_0_for_the_same_and_1_for_other_keys():
    moved = np.roll(np.eye(4), 1, axis=0)
    assert observed.row_change(np.eye(4), np.eye(4)) == 0
    assert observed.row_change(np.eye(4), moved) == 1
    assert observed.row_change(WEIGHTS, WEIGHTS[[0, 1, 1]]) == pytest.approx(
        (0.375 + 0.125 + 0.5) / 2 / 3
    )


def test_expected_attention_is_that_of_a_softmax_over_a_matrix_of_distances():
    logits = np.random.default_rng(2).normal(size=(4, 12)) * 5
    for row, found in zip(logits, observed.expected_by_distance(logits), strict=True):
        matrix = np.where(np.tri(12, dtype=bool), toeplitz(row), -np.inf)
        expected = observed.mean_by_distance(softmax(matrix, axis=-1))
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_expected_attention_survives_logits_that_no_float_could_raise():
    found = observed.expected_by_distance([-3000.0, 0.0, 3000.0])
    # Query 0 sees distance 0 alone, query 1 takes distance 1, query 2 distance 2.
    np.testing.assert_allclose(found, [1 / 3, 1 / 2, 1], atol=1e-15)


def test_a_small_map_holds_the_means_of_blocks():
    weights = np.arange(16.0).reshape(4, 4)
    cells, places = observed.block_map(weights, 2)
    assert cells.tolist() == [[2.5, 4.5], [10.5, 12.5]]
    assert places.tolist() == [0.5, 2.5]


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (
            lambda: observed.received(np.zeros((2, 3))),
            r"weights must have the axes \(…, queries, keys\), as many keys as queries; "
            r"got \(2, 3\)",
        ),
        (lambda: observed.first_share(np.ones((1, 1))), "at least 2 tokens; got 1"),
        (lambda: observed.mean_by_distance(np.eye(3), [3]), r"within ±2 tokens"),
    ],
)
def test_what_cannot_be_measured_is_said(call, told):
    with pytest.raises(ParameterError, match=told):
        call()
