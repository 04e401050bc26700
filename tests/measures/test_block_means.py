"""Block means are those of the whole matrix, which they never form."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from posviz.measures import banded_block_means, block_means, toeplitz_block_means


def averaged(matrix, block):
    """The mean of every block, by a loop; NaN does not count."""
    starts = range(0, len(matrix), block)
    cells = [[matrix[m : m + block, n : n + block].ravel() for n in starts] for m in starts]
    seen = [[cell[~np.isnan(cell)] for cell in row] for row in cells]
    return np.array([[cell.mean() if cell.size else np.nan for cell in row] for row in seen])


@given(count=st.integers(1, 40), most=st.integers(1, 45), seed=st.integers(0, 99))
def test_means_by_distance_and_by_bands_are_those_of_the_whole_matrix(count, most, seed):
    rng = np.random.default_rng(seed)
    by_distance = rng.standard_normal(2 * count - 1)
    by_distance[rng.random(2 * count - 1) < 0.3] = np.nan
    gaps = np.subtract.outer(np.arange(count), np.arange(count))
    whole = by_distance[gaps + count - 1]
    known = toeplitz_block_means(by_distance, most)
    bands = banded_block_means(whole.__getitem__, count, most)
    assert len(known.values) <= most
    np.testing.assert_allclose(known.values, averaged(whole, known.block), atol=1e-12)
    np.testing.assert_allclose(bands.values, averaged(whole, bands.block), atol=1e-12)
    np.testing.assert_array_equal(known.middles, bands.middles)


def test_the_last_block_may_be_shorter_and_its_middle_says_so():
    means = block_means(np.arange(7.0), 3, axis=0)
    assert means.values.tolist() == [1.0, 4.0, 6.0]
    assert means.middles.tolist() == [1.0, 4.0, 6.0]
    assert means.block == 3


def test_a_row_of_blocks_keeps_the_sign_of_the_distance():
    means = toeplitz_block_means(np.arange(-5.0, 6.0), 3)
    assert means.values[2, 0] == pytest.approx(4.0)
    assert means.values[0, 2] == pytest.approx(-4.0)
