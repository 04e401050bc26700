from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posviz.measures.split_angle import cos_mean, cos_mean_at, direct_cos_mean
from posviz.parameters import ParameterError

LLAMA = 10000.0 ** (-np.arange(64) / 64)


def stated_error(reach: float, frequencies: np.ndarray) -> float:
    return 2**-51 * (reach * frequencies.mean() + frequencies.size + 10)


@pytest.mark.parametrize("count", [0, 1, 2, 127, 128, 129, 1000, 4096, 65537])
@pytest.mark.parametrize("pairs", [1, 3, 64])
def test_equals_the_direct_sum_for_any_count_and_number_of_pairs(count: int, pairs: int) -> None:
    frequencies = 10000.0 ** (-np.arange(pairs) / pairs)
    found = cos_mean(frequencies, count)
    assert found.shape == (count,)
    direct = direct_cos_mean(np.arange(count), frequencies)
    np.testing.assert_allclose(found, direct, rtol=0, atol=1e-11)


def test_one_pair_is_one_cosine_even_at_the_far_end() -> None:
    # 0.5·n is exact in binary, so that the only error is the method's own.
    curve = cos_mean([0.5], 1 << 20)
    assert curve[-1] == pytest.approx(
        np.cos(0.5 * ((1 << 20) - 1)), abs=stated_error(1 << 20, LLAMA)
    )
    assert curve[0] == 1.0


def test_two_pairs_worked_by_hand() -> None:
    # cos(π n/2) is 1, 0, -1, 0 and a pair that does not turn stays at 1: their mean is 1, ½, 0, ½.
    curve = cos_mean([np.pi / 2, 0.0], 8192)
    np.testing.assert_allclose(curve, np.tile([1, 0.5, 0, 0.5], 2048), rtol=0, atol=1e-11)


@given(
    count=st.integers(200, 5000),
    start=st.floats(-1e5, 1e5),
    step=st.floats(-8, 8),
)
@settings(max_examples=50, deadline=None)
def test_any_start_and_step_within_the_stated_error(count: int, start: float, step: float) -> None:
    found = cos_mean(LLAMA, count, start=start, step=step)
    at = start + step * np.arange(count)
    allowed = 3 * stated_error(float(np.abs(at).max()), LLAMA)
    np.testing.assert_allclose(found, direct_cos_mean(at, LLAMA), rtol=0, atol=allowed)


def test_error_stays_within_the_statement_against_extended_precision() -> None:
    if np.finfo(np.longdouble).eps > 2e-19:
        pytest.skip("this machine has no number format with more digits than float64")
    last = (1 << 20) - 1
    picked = np.linspace(0, last, 997).astype(np.int64)
    angles = np.multiply.outer(picked.astype(np.longdouble), LLAMA.astype(np.longdouble))
    exact = np.cos(angles).mean(axis=1)
    error = np.abs(cos_mean(LLAMA, last + 1)[picked] - exact).max()
    assert error <= stated_error(last, LLAMA) < 1.1e-10


@pytest.mark.parametrize(
    "distances",
    [
        np.arange(3000)[::-1],
        np.arange(3000) + 0.3,
        np.minimum(np.arange(3000), 500),
        np.arange(-1500, 1500),
        np.where(np.arange(3000) < 700, np.arange(3000), 700 + (np.arange(3000) - 700) / 7),
        np.arange(3000) * 0.1,
        np.arange(3000) * 1000,
        np.arange(3000) ** 1.1,
        np.random.default_rng(0).uniform(0, 1e5, 3000),
        np.zeros(3000),
        np.repeat(np.arange(30) * 7000.5, 100),
    ],
    ids=[
        "falling",
        "all off by 0.3",
        "clamped",
        "negative too",
        "kinked",
        "steps of a tenth",
        "steps of a thousand",
        "bent",
        "scattered",
        "all zero",
        "plateaus",
    ],
)
def test_any_pattern_of_distances_equals_the_direct_sum(distances: np.ndarray) -> None:
    found = cos_mean_at(distances, LLAMA)
    allowed = 3 * stated_error(float(np.abs(distances).max()), LLAMA)
    np.testing.assert_allclose(found, direct_cos_mean(distances, LLAMA), rtol=0, atol=allowed)


def test_a_slow_bend_is_not_taken_for_a_straight_run() -> None:
    # Second differences of 2e-13 are below the rounding of 1e5 tokens, yet they add up to 0.001.
    n = np.arange(100_000)
    distances = 0.37 * n + 1e-13 * n.astype(float) ** 2
    np.testing.assert_allclose(
        cos_mean_at(distances, LLAMA), direct_cos_mean(distances, LLAMA), rtol=0, atol=1e-10
    )


def test_split_angle_takes_a_twentieth_of_the_direct_time() -> None:
    count = 1 << 17
    at = np.arange(count, dtype=np.float64)
    fast = min(_seconds(lambda: cos_mean(LLAMA, count)) for _ in range(10))
    slow = min(_seconds(lambda: direct_cos_mean(at, LLAMA)) for _ in range(2))
    assert slow / fast > 20


def test_no_frequency_at_all_is_refused() -> None:
    with pytest.raises(ParameterError, match=r"at least one frequency; got the shape \(0,\)\.$"):
        cos_mean([], 10)


def _seconds(call: object) -> float:
    started = time.perf_counter()
    call()  # type: ignore[operator]
    return time.perf_counter() - started
