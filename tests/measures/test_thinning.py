from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posviz.measures import thin
from posviz.parameters import ParameterError

curves = st.lists(
    st.tuples(st.integers(0, 400), st.floats(-1e6, 1e6)), min_size=1, max_size=300
).map(sorted)


@given(curve=curves, buckets=st.integers(1, 60), log=st.booleans())
@settings(max_examples=200, deadline=None)
def test_invariants_of_thinning(curve: list[tuple[int, float]], buckets: int, log: bool) -> None:
    x, y = (np.asarray(row, dtype=float) for row in zip(*curve, strict=True))
    kept_x, kept_y = thin(x, y, buckets, log)
    # One bucket more holds x = 0 on a log axis; the first and the last point are extra.
    assert kept_x.size <= 2 * (buckets + log) + 2
    assert (kept_x[0], kept_y[0], kept_x[-1], kept_y[-1]) == (x[0], y[0], x[-1], y[-1])
    assert (kept_y.min(), kept_y.max()) == (y.min(), y.max())
    assert is_subsequence(list(zip(kept_x, kept_y, strict=True)), list(zip(x, y, strict=True)))


def is_subsequence(part: list[tuple[float, float]], whole: list[tuple[float, float]]) -> bool:
    rest = iter(whole)
    return all(point in rest for point in part)


def test_each_bucket_keeps_its_lowest_and_highest_at_their_true_place() -> None:
    x = np.arange(12.0)
    y = np.array([0, 5, -3, 1, 2, 2, 2, 2, 9, 8, 7, 0.0])
    # Three buckets over 0 … 11, cut at 11/3 and 22/3: 0-3, 4-7, 8-11; of equal values the first.
    kept_x, kept_y = thin(x, y, 3, False)
    assert kept_x.tolist() == [0, 1, 2, 4, 8, 11]
    assert kept_y.tolist() == [0, 5, -3, 2, 9, 0]


def test_log_buckets_keep_every_point_of_the_first_decades() -> None:
    x = np.arange(100_000.0)
    kept_x, _ = thin(x, np.sin(x), 500, True)
    assert kept_x[:60].tolist() == list(range(60))
    assert kept_x.size < 1002
    assert kept_x[-1] == 99_999


def test_a_single_spike_survives_on_both_axes() -> None:
    x = np.arange(1, 131_073.0)
    y = np.zeros(x.size)
    y[77_777] = 1
    for log in (False, True):
        kept_x, kept_y = thin(x, y, 300, log)
        assert kept_x[kept_y == 1].tolist() == [77_778]


def test_small_curves_stay_whole() -> None:
    for size in (0, 1, 2, 7):
        x = np.arange(float(size))
        kept_x, kept_y = thin(x, np.ones(size), 10, False)
        assert kept_x.tolist() == x.tolist()
        assert kept_y.size == size


def test_gaps_stay_gaps_and_hide_no_extreme() -> None:
    x = np.arange(1000.0)
    y = np.sin(x)
    y[300:500] = np.nan
    y[700] = np.inf
    kept_x, kept_y = thin(x, y, 10, False)
    assert kept_x[np.isnan(kept_y)].tolist() == [300, 400]
    assert kept_x[np.isinf(kept_y)].tolist() == [700]
    finite = kept_y[np.isfinite(kept_y)]
    assert finite.max() == y[np.isfinite(y)].max()


def test_nothing_finite_gives_one_gap_per_bucket() -> None:
    kept_x, kept_y = thin(np.arange(100.0), np.full(100, np.nan), 4, False)
    assert np.isnan(kept_y).all()
    assert kept_x.tolist() == [0, 25, 50, 75, 99]


@pytest.mark.parametrize(
    ("x", "y", "buckets", "message"),
    [
        ([0, 1], [0], 4, "thinning: x and y must be two rows of equal length; got (2,) and (1,)."),
        ([0, 2, 1], [0, 0, 0], 4, "thinning: x must be finite and never decrease."),
        ([0, 1, np.inf], [0, 0, 0], 4, "thinning: x must be finite and never decrease."),
        ([0, np.nan, 1], [0, 0, 0], 4, "thinning: x must be finite and never decrease."),
        ([0], [0], 0, "thinning: buckets must be a whole number of at least 1; got 0."),
    ],
)
def test_rows_that_are_no_curve_are_refused(
    x: list[float], y: list[float], buckets: int, message: str
) -> None:
    with pytest.raises(ParameterError) as caught:
        thin(x, y, buckets, False)
    assert str(caught.value) == message
