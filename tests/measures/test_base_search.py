from __future__ import annotations

import math

import numpy as np
import pytest

from posviz.measures.base_search import (
    fitted_lower_bound,
    smallest_valid_base,
    valid_bases,
)
from posviz.parameters import ParameterError

MEN = [4.3e3, 1.6e4, 2.7e4, 8.4e4, 3.1e5, 6.4e5, 2.1e6, 7.8e6, 3.6e7, 6.4e7, 5.1e8]
SU = [4.3e3, 1.2e4, 2.7e4, 8.4e4, 2.3e5, 6.3e5, 2.1e6, 4.9e6]


def directly(base: float, length: int, head_dim: int = 128) -> float:
    """First negative distance by the sum as it is written, NaN where there is none."""
    frequencies = np.array([base ** (-2 * i / head_dim) for i in range(head_dim // 2)])
    sums = np.cos(np.arange(length)[:, None] * frequencies).sum(axis=1)
    return float(np.argmax(sums < 0)) if (sums < 0).any() else math.nan


def test_s19_first_negative_distance_of_three_bases() -> None:
    for base, expected in ((1e4, 1707), (5e5, 18438), (1.2e4, 1554)):
        search = valid_bases(20_000, head_dim=128, low=base, high=base, count=1)
        assert search.first_negative.tolist() == [expected]
        assert search.islands == ()


def test_s19_a_larger_base_can_fail_where_a_smaller_one_passes() -> None:
    search = valid_bases(1700, head_dim=128, low=1e4, high=1.2e4, count=2)
    assert search.valid.tolist() == [True, False]
    assert math.isnan(search.first_negative[0])
    assert search.first_negative[1] == 1554


def test_s20_base_of_8k_passes_and_the_rounded_one_of_4k_fails() -> None:
    search = valid_bases(8192, head_dim=128, low=2.7e4, high=8.4e4, count=2)
    assert search.valid.tolist() == [False, True]
    assert search.first_negative[0] == 4079


@pytest.mark.parametrize(("power", "printed"), list(enumerate(SU)))
def test_s20_bases_of_su(power: int, printed: float) -> None:
    found = smallest_valid_base(1024 << power, head_dim=128)
    assert found is not None
    assert float(f"{found:.1e}") == printed
    # Men's search is coarser: never below.
    assert printed <= MEN[power]


def test_s20_k_is_1024_tokens() -> None:
    # With 1000 tokens the first of Su's values would be another.
    found = smallest_valid_base(1000, head_dim=128)
    assert found is not None
    assert f"{found:.1e}" == "4.2e+03"


def test_s20_fitted_line_is_that_of_the_printed_bounds() -> None:
    lengths = 1024.0 * 2 ** np.arange(11)
    exponent, log_factor = np.polyfit(np.log(lengths), np.log(MEN), 1)
    assert round(exponent, 3) == 1.628
    # From values rounded to two digits: 0.0423 for the printed 0.0424; k = 1000 would give 0.0440.
    assert math.exp(log_factor) == pytest.approx(0.0424, abs=1e-4)
    ratios = np.array(MEN) / [fitted_lower_bound(length) for length in lengths]
    assert (round(ratios.min(), 2), round(ratios.max(), 1)) == (0.67, 1.9)


def test_scan_equals_the_direct_sum() -> None:
    search = valid_bases(1500, head_dim=64, low=500, high=50_000, count=40)
    expected = [directly(base, 1500, head_dim=64) for base in search.bases]
    np.testing.assert_array_equal(search.first_negative, expected)
    np.testing.assert_array_equal(search.valid, np.isnan(expected))
    assert search.valid.any()
    assert not search.valid.all()


def test_islands_are_the_runs_of_valid_bases() -> None:
    search = valid_bases(1024, head_dim=128, low=4000, high=7000, count=300)
    assert len(search.islands) == 3
    inside = [any(a <= base <= b for a, b in search.islands) for base in search.bases]
    np.testing.assert_array_equal(search.valid, inside)
    assert search.islands[-1][1] == pytest.approx(7000)
    assert search.step == pytest.approx((7000 / 4000) ** (1 / 299))
    # 4.3e3 is the first, and the bases right above it fail again.
    assert 4293 < search.islands[0][0] < 4310
    assert 4325 < search.islands[0][1] < 4332


@pytest.mark.parametrize("length", [1024, 2048, 4096])
def test_edge_is_found_to_the_precision(length: int) -> None:
    edge = smallest_valid_base(length, head_dim=128, precision=1e-8)
    assert edge is not None
    assert math.isnan(directly(edge, length))
    below = directly(edge * (1 - 2e-8), length)
    assert below < length


def test_scan_that_starts_inside_an_island_gives_its_start() -> None:
    assert smallest_valid_base(1024, head_dim=128, low=20_000) == pytest.approx(20_000)
    assert smallest_valid_base(2, head_dim=128) == 2.0


def test_no_base_is_none() -> None:
    # One pair of frequency 1: cos 2 < 0 for every base.
    assert smallest_valid_base(3, head_dim=2) is None
    assert smallest_valid_base(8192, head_dim=128, low=1e4, high=5e4, count=500) is None


def test_results_are_read_only() -> None:
    search = valid_bases(100, head_dim=128, low=100, high=1000, count=3)
    for array in (search.bases, search.first_negative, search.valid):
        assert array.shape == (3,)
        assert not array.flags.writeable


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"length": 0}, "valid bases: length must be a whole number of at least 1; got 0."),
        ({"head_dim": 7}, "valid bases: head_dim must be an even whole number; got 7."),
        ({"low": 1.0}, "valid bases: low must be a finite number above 1; got 1.0."),
        ({"high": 5.0}, "valid bases: high must be a finite number of at least 10.0; got 5.0."),
        ({"count": 0}, "valid bases: count must be a whole number of at least 1; got 0."),
    ],
)
def test_values_that_cannot_be_are_refused(changed: dict[str, float], message: str) -> None:
    arguments = {"length": 100, "head_dim": 128, "low": 10.0, "high": 100.0} | changed
    length = arguments.pop("length")
    with pytest.raises(ParameterError) as caught:
        valid_bases(length, **arguments)  # type: ignore[arg-type]
    assert str(caught.value) == message


def test_precision_and_length_that_cannot_be_are_refused() -> None:
    with pytest.raises(ParameterError) as caught:
        smallest_valid_base(100, head_dim=128, precision=0)
    assert str(caught.value) == (
        "smallest valid base: precision must be a number of at least 1e-12 and at most 1; got 0."
    )
    with pytest.raises(ParameterError) as caught:
        fitted_lower_bound(0)
    assert str(caught.value) == (
        "fitted lower bound: length must be a finite number above 0; got 0."
    )
