"""The map holds what the decay curve and the remapped distances say, cell by cell."""

import numpy as np
import pytest

import posviz
from posviz import measures
from posviz.parameters import ParameterError


def test_a_cell_is_the_mean_over_its_keys_of_the_last_query_s_scores():
    spec = posviz.parse("yarn?scaling_factor=4")
    result = measures.score_map(spec, length=4096, cells=16)
    decay = measures.score_decay(spec, length=4096).scores
    query, keys = 6 * 256 - 1, np.arange(2 * 256, 3 * 256)
    assert result.scores[5, 2] == pytest.approx(decay[query - keys].mean(), abs=1e-12)
    assert result.averaged


def test_the_future_is_blank_and_the_diagonal_is_not():
    scores = measures.score_map(posviz.parse("rope"), length=1000, cells=10).scores
    assert np.isnan(scores[np.triu_indices(10, 1)]).all()
    assert np.isfinite(scores[np.tril_indices(10)]).all()


def test_log_n_scales_each_row_by_its_own_query_and_the_last_one_as_the_curve_does():
    spec = posviz.parse("log_n?original_max_position_embeddings=16")
    plain = measures.score_map(posviz.parse("rope"), length=4096, cells=4).scores
    scaled = measures.score_map(spec, length=4096, cells=4).scores
    rows = np.array([1024, 2048, 3072, 4096])
    expected = np.log(rows) / np.log(16)
    np.testing.assert_allclose(scaled[:, 0] / plain[:, 0], expected, rtol=1e-12)


def test_rerope_is_flat_beyond_its_window():
    scores = measures.score_map(posviz.parse("rerope?window=512"), length=8192, cells=64).scores
    # Its query scale differs from row to row, the clamped distance does not.
    assert np.ptp(scores[40, :36]) == pytest.approx(0, abs=1e-12)
    assert scores[40, 40] > scores[40, 36]


def test_tokens_after_the_last_whole_cell_are_left_out():
    result = measures.score_map(posviz.parse("rope"), length=1030, cells=100)
    assert result.edges[-1] == 1023
    assert np.all(np.diff(result.edges) == 11)


def test_a_length_below_1_is_refused():
    with pytest.raises(ParameterError, match="length must be"):
        measures.score_map(posviz.parse("rope"), length=0)
