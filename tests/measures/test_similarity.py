"""Similarity of positions as products of features."""

import numpy as np
import pytest

from posviz.measures import features, similarity_map, similarity_profile
from posviz.measures.similarity import Features
from posviz.results import Result, ScaledRotation


def test_gains_of_a_scaled_rotation_enter_as_decay_to_the_power_of_the_distance():
    positions, frequencies, decay = np.arange(9.0), np.array([1.0, 0.1]), np.array([0.9, 0.95])
    gain = decay ** positions[:, None]
    found = features(
        ScaledRotation(
            positions=positions,
            inv_freq=frequencies,
            attention_factor=1.0,
            head_dim=4,
            rotary_dim=4,
            layout="half_split",
            query_gain=gain,
            key_gain=1 / gain,
            decay=decay,
        )
    )
    product = found.queries @ found.keys.T
    assert product[8, 3] == pytest.approx(np.mean(decay**5 * np.cos(5 * frequencies)))
    assert product[3, 8] == pytest.approx(np.mean(decay**-5 * np.cos(5 * frequencies)))


def test_block_means_of_products_are_products_of_block_means():
    rng = np.random.default_rng(3)
    found = Features(*rng.standard_normal((2, 10, 3)))
    whole = found.queries @ found.keys.T
    cells = similarity_map(found, 4)
    assert cells.block == 3
    assert cells.values[1, 2] == pytest.approx(whole[3:6, 6:9].mean())
    assert cells.values[3, 0] == pytest.approx(whole[9, :3].mean())


def test_a_profile_keeps_the_sign_of_query_minus_key():
    found = Features(np.array([[1.0], [2.0], [4.0]]), np.array([[1.0], [10.0], [100.0]]))
    profile = similarity_profile(found)
    assert profile.distances.tolist() == [-2, -1, 0, 1, 2]
    assert profile.mean.tolist() == [100.0, 105.0, pytest.approx(421 / 3), 21.0, 4.0]
    assert (profile.low[1], profile.high[1]) == (10.0, 200.0)


def test_a_result_without_vectors_or_angles_has_no_similarity():
    assert features(Result(positions=np.arange(3.0))) is None
