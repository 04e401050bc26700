from __future__ import annotations

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
import torch

from posviz.measures import decay_bound, interpolation_bounds
from posviz.measures.interpolation_bounds import (
    extrapolation_bound,
    fitted_scores,
    interpolation_bound,
    largest_interpolation_error,
    printed_interpolation_bound,
)
from posviz.parameters import ParameterError


def frequencies(head_dim: int = 128, base: float = 1e4) -> Any:
    return base ** (-np.arange(0, head_dim, 2) / head_dim)


LLAMA = frequencies()


def scores(parts: Any, distances: Any, inv_freq: Any = LLAMA) -> Any:
    """Re Σ h_j e^(i s f_j) as it is written: (vectors, distances)."""
    turned = np.exp(1j * np.asarray(distances)[:, None] * inv_freq)
    return (np.atleast_2d(parts) @ turned.T).real


def distance_from_the_line(parts: Any, start: float, t: float, grid: float, inv_freq: Any) -> Any:
    ends = scores(parts, [start, start + grid], inv_freq)
    line = (1 - t) * ends[:, 0] + t * ends[:, 1]
    return np.abs(scores(parts, [start + t * grid], inv_freq)[:, 0] - line)


def test_s21_printed_constant_of_theorem_2_1() -> None:
    assert round(128 / printed_interpolation_bound(128, 1e4), 2) == 294.73
    assert round(32 * math.log(1e4), 2) == 294.73
    # 2·D·max|h| outside over the bound inside: "about 600 times".
    assert round(2 * 128 / printed_interpolation_bound(128, 1e4), 2) == 589.46
    assert printed_interpolation_bound(128, 1e4, between=0.25) == pytest.approx(
        128 * (0.25 * 0.75) / (8 * math.log(1e4))
    )


def test_sum_of_squares_is_larger_than_the_paper_takes_it_to_be() -> None:
    # Inequality 14 of the proof says 1/(1 - c^(-4/d)) ≤ d/(4 ln c).
    exact = (1 - 1e4**-2) / (1 - 1e4 ** (-4 / 128))
    assert 8 * interpolation_bound(LLAMA) == pytest.approx(exact, rel=1e-13)
    assert round(exact, 4) == 3.9983
    assert round(8 * printed_interpolation_bound(128, 1e4), 4) == 3.4744
    # The sum of a falling series is its integral and about half of its first term.
    assert exact == pytest.approx(128 / (4 * math.log(1e4)) + 0.5 + math.log(1e4) / (3 * 128), 1e-4)
    assert round(2 * 128 / interpolation_bound(LLAMA)) == 512


@pytest.mark.parametrize("grid", [1.0, 0.25, 3.0])
@pytest.mark.parametrize(("head_dim", "base"), [(128, 1e4), (64, 5e5), (16, 1e4), (2, 1e4)])
def test_bounds_hold_for_random_scores(head_dim: int, base: float, grid: float) -> None:
    inv_freq = frequencies(head_dim, base)
    random = np.random.default_rng(7)
    parts = random.standard_normal((500, len(inv_freq), 2)) @ [1, 1j]
    # Half of them with all sizes equal, where the bounds are tightest.
    parts[::2] /= np.abs(parts[::2])
    largest = np.abs(parts).max(axis=1)
    for start in (0.0, 17.0, 4000.0):
        for t in (0.0, 0.1, 0.5, 0.77, 1.0):
            error = distance_from_the_line(parts, start, t, grid, inv_freq)
            least = largest_interpolation_error(inv_freq, between=t, grid=grid)
            bound = interpolation_bound(inv_freq, between=t, grid=grid)
            assert (error <= largest * least + 1e-9).all()
            assert least <= bound + 1e-15


@pytest.mark.parametrize("t", [0.2, 0.5, 0.9])
@pytest.mark.parametrize(
    ("head_dim", "base"), [(64, 1e4), (128, 1e4), (128, 5e5), (256, 1e4), (2, 1e4)]
)
def test_a_score_exceeds_the_printed_bound(head_dim: int, base: float, t: float) -> None:
    inv_freq = frequencies(head_dim, base)
    # Each pair has the phase with which its own error is real and positive at s = 100 + t.
    curve = np.exp(1j * inv_freq * t)
    phase = np.angle(curve - (1 - t) - t * np.exp(1j * inv_freq))
    parts = np.exp(-1j * (100 * inv_freq + phase))
    np.testing.assert_allclose(np.abs(parts), 1)
    error = distance_from_the_line(parts, 100.0, t, 1.0, inv_freq)[0]
    assert error > printed_interpolation_bound(head_dim, base, between=t)
    assert error == pytest.approx(largest_interpolation_error(inv_freq, between=t), abs=1e-11)
    assert error < interpolation_bound(inv_freq, between=t)


def test_sizes_of_the_counterexample_of_128_dimensions() -> None:
    # Σ cos((s - ½)·f_j): all pairs turn alike around the middle of the first interval.
    error = distance_from_the_line(np.exp(-0.5j * LLAMA), 0.0, 0.5, 1.0, LLAMA)[0]
    assert round(error, 4) == round(largest_interpolation_error(LLAMA), 4) == 0.4939
    assert round(printed_interpolation_bound(128, 1e4), 4) == 0.4343
    assert round(interpolation_bound(LLAMA), 4) == 0.4998


def test_printed_bound_is_loose_where_the_base_is_tiny() -> None:
    # Only there does the printed bound drop less than it adds.
    assert printed_interpolation_bound(128, 2.0) > interpolation_bound(frequencies(128, 2.0))


def test_bounds_scale_with_h_and_with_the_square_of_the_grid() -> None:
    assert interpolation_bound(LLAMA, largest_h=3, grid=0.25) == pytest.approx(
        3 * interpolation_bound(LLAMA) / 16
    )
    assert largest_interpolation_error(LLAMA, largest_h=3) == pytest.approx(
        3 * largest_interpolation_error(LLAMA)
    )
    assert interpolation_bound(LLAMA, between=0.0) == interpolation_bound(LLAMA, between=1.0) == 0
    assert largest_interpolation_error(LLAMA, between=1.0) == pytest.approx(0.0, abs=1e-15)


def test_s23_extrapolation_bound_at_distance_zero() -> None:
    assert extrapolation_bound([0], LLAMA)[0] / (2 * 128) == 16.25


def test_extrapolation_bound_is_that_of_roformer_without_its_scale() -> None:
    distances = np.arange(0, 5000, 7.5)
    bound = extrapolation_bound(distances, LLAMA, largest_h=1.5)
    np.testing.assert_allclose(bound, 2 * 1.5 * 64 * decay_bound(distances, LLAMA), rtol=1e-12)
    # S22.
    np.testing.assert_allclose(
        extrapolation_bound([0, 50, 250], LLAMA) / 128, [32.5, 12.6295, 6.5482], atol=5e-5
    )


def test_extrapolation_bound_holds_and_is_looser_than_the_plain_sum() -> None:
    distances = np.arange(4097.0)
    bound = extrapolation_bound(distances, LLAMA)
    parts = np.random.default_rng(3).standard_normal((50, 64, 2)) @ [1, 1j]
    parts /= np.abs(parts).max(axis=1)[:, None]
    assert (np.abs(scores(parts, distances)) <= bound).all()
    # "Numerically it is at least larger than d"; |a| ≤ (d/2)·max|h| is then the better bound.
    smallest = bound.min() / (2 * 128)
    assert (round(smallest, 4), int(bound.argmin())) == (1.1159, 3643)
    assert bound.min() > 4 * 64


def test_extrapolation_bound_needs_little_memory_and_no_whole_block() -> None:
    distances = np.arange(100_000.0)
    tracemalloc.start()
    bound = extrapolation_bound(distances, LLAMA)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # One (distances, pairs) table alone would be 51 MB.
    assert peak < 25e6
    assert bound.shape == (100_000,)
    assert not bound.flags.writeable
    np.testing.assert_allclose(bound[77_777], extrapolation_bound([77_777], LLAMA)[0], rtol=1e-12)
    assert extrapolation_bound([], LLAMA).shape == (0,)


def test_blocks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = extrapolation_bound(np.arange(50), LLAMA)
    monkeypatch.setattr(interpolation_bounds, "_ANGLES_AT_ONCE", 3 * 64)
    np.testing.assert_array_equal(extrapolation_bound(np.arange(50), LLAMA), whole)


@pytest.mark.parametrize("seed", range(4))
def test_s24_a_fit_within_the_window_explodes_beyond_it(seed: int) -> None:
    values = np.random.default_rng(seed).standard_normal(2048)
    fit = fitted_scores(LLAMA, values, np.arange(2048, 4096))
    inside = np.abs(fit.inside).max()
    assert 0.4 < inside < 1.5
    assert np.abs(fit.scores).max() > 1000 * inside
    assert np.abs(fit.scores).max() > 8000
    # The right of figure 2: between the trained distances it stays as it is.
    between = fitted_scores(LLAMA, values, np.arange(0, 2047, 0.25))
    assert np.abs(between.scores).max() < 1.1 * inside
    np.testing.assert_allclose(between.scores[::4], fit.inside[:2047], rtol=0, atol=1e-7)


def test_fit_is_the_least_squares_solution() -> None:
    values = np.random.default_rng(5).standard_normal(2048)
    fit = fitted_scores(LLAMA, values, [], cutoff=1e-6)
    angles = np.arange(2048)[:, None] * LLAMA
    features = np.concatenate((np.sin(angles), np.cos(angles)), axis=1)
    coefficients, _, rank, _ = np.linalg.lstsq(features, values, rcond=1e-6)
    assert fit.directions == rank < 128
    np.testing.assert_allclose(fit.inside, features @ coefficients, rtol=0, atol=1e-8)


def test_a_score_that_rope_can_make_is_fitted_and_continued_exactly() -> None:
    # One pair of frequency 1 and one of 0.1, worked out by hand: 2 cos s - 3 sin(s/10).
    def curve(at: Any) -> Any:
        return 2 * np.cos(at) - 3 * np.sin(at / 10)

    outside = np.arange(200, 300)
    fit = fitted_scores([1.0, 0.1], curve(np.arange(200)), outside)
    np.testing.assert_allclose(fit.scores, curve(outside), rtol=0, atol=1e-11)
    assert fit.directions == 4


def test_torch_gives_the_same() -> None:
    ours, theirs = LLAMA, torch.tensor(LLAMA)
    distances = np.arange(0, 300, 0.5)
    for measure in (interpolation_bound, largest_interpolation_error):
        assert measure(theirs, between=0.3) == pytest.approx(measure(ours, between=0.3), rel=1e-13)
    bound = extrapolation_bound(torch.tensor(distances), theirs)
    assert isinstance(bound, torch.Tensor)
    np.testing.assert_allclose(bound.numpy(), extrapolation_bound(distances, ours), rtol=1e-12)
    values = np.random.default_rng(0).standard_normal(512)
    fit = fitted_scores(theirs, torch.tensor(values), distances, cutoff=1e-4)
    assert isinstance(fit.scores, torch.Tensor)
    expected = fitted_scores(ours, values, distances, cutoff=1e-4)
    np.testing.assert_allclose(fit.scores.numpy(), expected.scores, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: interpolation_bound(LLAMA, between=1.5),
            "interpolation bound: between must be a number of at least 0 and at most 1; got 1.5.",
        ),
        (
            lambda: largest_interpolation_error(LLAMA, grid=-1.0),
            "interpolation error: grid must be a finite number of at least 0; got -1.0.",
        ),
        (
            lambda: printed_interpolation_bound(5, 1e4),
            "printed interpolation bound: head_dim must be an even whole number; got 5.",
        ),
        (
            lambda: printed_interpolation_bound(128, 1.0),
            "printed interpolation bound: base must be a finite number above 1; got 1.0.",
        ),
        (
            lambda: extrapolation_bound([1.0], LLAMA, largest_h=math.inf),
            "extrapolation bound: largest_h must be a finite number of at least 0; got inf.",
        ),
        (
            lambda: extrapolation_bound([[1.0]], LLAMA),
            "extrapolation bound: distances must be one row; got the shape (1, 1).",
        ),
        (
            lambda: fitted_scores(LLAMA, [], [1.0]),
            "fitted scores: number of values must be a whole number of at least 1; got 0.",
        ),
        (
            lambda: fitted_scores(LLAMA, [1.0], [1.0], cutoff=2.0),
            "fitted scores: cutoff must be a number of at least 0 and at most 1; got 2.0.",
        ),
        (
            lambda: interpolation_bound([[1.0]]),
            "interpolation bound: inv_freq must be one row with at least one frequency; "
            "got the shape (1, 1).",
        ),
    ],
)
def test_values_that_cannot_be_are_refused(call: Any, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        call()
    assert str(caught.value) == message
