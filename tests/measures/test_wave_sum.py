"""Sums of waves at many distances, against 50 digits, term by term, and on torch."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
import torch

from posviz.measures import cos_mean, wave_sum
from posviz.measures.wave_sum import waves_at

UNIT = 2.0**-53
LADDER = 1e4 ** (-np.arange(0, 128, 2) / 128)
DECAY = np.log((np.arange(0, 128, 2) / 128 + 0.4) / 1.4) / 512
"""λ of xPos."""
AMPLITUDE = np.random.default_rng(0).standard_normal((2, 64))


def exact(
    distance: float,
    inv_freq: np.ndarray,
    log_kept: np.ndarray | None = None,
    amplitude: np.ndarray | None = None,
) -> mpmath.mpf:
    """Σ Re(a·e^((λ + if)·δ)) to 50 digits."""
    real, imaginary = (
        np.stack((np.ones_like(inv_freq), 0 * inv_freq)) if amplitude is None else (amplitude)
    )
    kept = np.zeros_like(inv_freq) if log_kept is None else log_kept
    with mpmath.workdps(50):
        at = mpmath.mpf(distance)
        return mpmath.fsum(
            mpmath.exp(at * mpmath.mpf(float(rate)))
            * (
                mpmath.mpf(float(a)) * mpmath.cos(at * mpmath.mpf(float(f)))
                - mpmath.mpf(float(b)) * mpmath.sin(at * mpmath.mpf(float(f)))
            )
            for f, rate, a, b in zip(inv_freq, kept, real, imaginary, strict=True)
        )


def bound(
    distance: float,
    inv_freq: np.ndarray,
    log_kept: np.ndarray | None,
    amplitude: np.ndarray | None,
) -> float:
    """What the docstring of wave_sum promises for distances up to this one."""
    size = np.ones_like(inv_freq) if amplitude is None else np.hypot(*amplitude)
    speed = np.average(inv_freq, weights=size)
    speed += 0 if log_kept is None else np.average(np.abs(log_kept), weights=size)
    return float(4 * UNIT * size.sum() * (distance * speed + inv_freq.size + 10))


CASES = {
    "plain": (None, None),
    "decaying": (DECAY, None),
    "sizes and phases": (None, AMPLITUDE),
    "decaying, with sizes and phases": (DECAY, AMPLITUDE),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("start", [0.0, 1000.0, 2.0**22 - 4099])
def test_values_are_within_the_stated_bound_of_50_digits(case: str, start: float) -> None:
    log_kept, amplitude = CASES[case]
    parts = None if amplitude is None else (amplitude[0], amplitude[1])
    found = wave_sum(LADDER, 4099, start=start, log_kept=log_kept, amplitude=parts)
    places = np.array([0, 1, 63, 64, 2048, 4098])
    direct = waves_at(start + places, LADDER, log_kept, parts)
    allowed = bound(start + 4098, LADDER, log_kept, amplitude)
    for place, one in zip(places, direct, strict=True):
        expected = exact(start + float(place), LADDER, log_kept, amplitude)
        assert abs(found[place] - expected) <= allowed
        assert abs(one - expected) <= allowed


@pytest.mark.parametrize("log_kept", [None, DECAY], ids=["plain", "decaying"])
def test_one_pass_over_4_million_distances_stays_within_the_bound(
    log_kept: np.ndarray | None,
) -> None:
    few = LADDER[::8]
    kept = None if log_kept is None else log_kept[::8]
    found = wave_sum(few, (1 << 22) + 1, log_kept=kept)
    assert found.shape == ((1 << 22) + 1,)
    for place in (0, 1, 2047, 2048, 1_000_003, (1 << 22) - 1, 1 << 22):
        assert abs(found[place] - exact(place, few, kept)) <= bound(2.0**22, few, kept, None)


@pytest.mark.parametrize("count", [1, 2, 3, 101, 1009, 4096, 50_021])
def test_without_decay_it_is_the_mean_cosine_times_the_pairs(count: int) -> None:
    allowed = 2 * bound(count + 17.0, LADDER, None, None)
    np.testing.assert_allclose(
        wave_sum(LADDER, count, start=17.0),
        64 * cos_mean(LADDER, count, start=17.0),
        rtol=0,
        atol=allowed,
    )


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 7, 8, 9, 31, 127, 128, 257, 1021, 65_537])
@pytest.mark.parametrize("case", CASES)
def test_any_number_of_distances_is_given_in_order(case: str, count: int) -> None:
    log_kept, amplitude = CASES[case]
    parts = None if amplitude is None else (amplitude[0], amplitude[1])
    found = wave_sum(LADDER, count, start=3.0, log_kept=log_kept, amplitude=parts)
    assert found.shape == (count,)
    places = np.unique(np.linspace(0, count - 1, 200).astype(int)) if count else np.arange(0)
    direct = waves_at(3.0 + places, LADDER, log_kept, parts)
    np.testing.assert_allclose(found[places], direct, rtol=0, atol=1e-9)


def test_a_single_decaying_wave_is_a_damped_cosine() -> None:
    # e^(-δ/10)·cos(2πδ/4) = e^(-δ/10)·(1, 0, -1, 0, …).
    found = wave_sum(np.array([math.pi / 2]), 9, log_kept=np.array([-0.1]))
    signs = np.array([1, 0, -1, 0, 1, 0, -1, 0, 1])
    np.testing.assert_allclose(found, signs * np.exp(-np.arange(9) / 10), rtol=0, atol=1e-15)


def test_an_imaginary_amplitude_turns_a_cosine_into_a_sine() -> None:
    one = np.array([1.0])
    found = wave_sum(np.array([0.3]), 50, amplitude=(0 * one, -one))
    np.testing.assert_allclose(found, np.sin(0.3 * np.arange(50)), rtol=0, atol=1e-14)


def test_distances_before_the_query_are_the_mirror_image() -> None:
    here = wave_sum(LADDER, 201, start=-100.0)
    np.testing.assert_allclose(here, here[::-1], rtol=0, atol=1e-11)
    # A wave with a phase is mirrored with the opposite phase.
    real, imaginary = AMPLITUDE
    left = wave_sum(LADDER, 201, start=-100.0, amplitude=(real, imaginary))
    right = wave_sum(LADDER, 201, start=-100.0, amplitude=(real, -imaginary))
    np.testing.assert_allclose(left, right[::-1], rtol=0, atol=1e-11)


def test_keys_after_the_query_grow_where_keys_before_it_decay() -> None:
    # xPos divides where it multiplies; the pairs' sizes then are e^(λδ) > 1, and so is the error.
    found = wave_sum(LADDER, 101, start=-100.0, log_kept=DECAY)
    grown = float(np.exp(-100 * DECAY).max())
    for place in (0, 50, 99, 100):
        expected = exact(place - 100.0, LADDER, DECAY)
        assert abs(found[place] - expected) <= grown * bound(100.0, LADDER, DECAY, None)


def test_pairs_that_stand_still_keep_their_size() -> None:
    np.testing.assert_array_equal(wave_sum(np.zeros(3), 1000), np.full(1000, 3.0))


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("count", [0, 1, 2, 997, 70_001])
def test_torch_gives_the_same(case: str, count: int) -> None:
    log_kept, amplitude = CASES[case]
    parts = None if amplitude is None else (amplitude[0], amplitude[1])
    there = wave_sum(
        torch.asarray(LADDER),
        count,
        start=5.0,
        log_kept=None if log_kept is None else torch.asarray(log_kept),
        amplitude=None if parts is None else (torch.asarray(parts[0]), torch.asarray(parts[1])),
    )
    assert isinstance(there, torch.Tensor)
    here = wave_sum(LADDER, count, start=5.0, log_kept=log_kept, amplitude=parts)
    np.testing.assert_allclose(there.numpy(), here, rtol=0, atol=1e-9)


def test_float32_stays_within_the_bound_of_its_own_spacing() -> None:
    frequencies = LADDER.astype(np.float32)
    found = wave_sum(frequencies, 5003)
    assert found.dtype == np.float32
    allowed = bound(5002.0, frequencies.astype(float), None, None) * 2.0**-24 / UNIT
    for place in (0, 1, 100, 5002):
        assert abs(float(found[place]) - exact(place, frequencies)) <= allowed
