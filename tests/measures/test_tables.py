"""Rows, waves and the principal plane of tables whose answers are known."""

from __future__ import annotations

import numpy as np
import pytest

import posviz
from posviz.encodings.real_tables import ALL_MINILM_L6_V2
from posviz.measures import power_spectrum, principal_plane, row_norms

COUNT = 60
ANGLES = 2 * np.pi * 3 * np.arange(COUNT) / COUNT
CIRCLE = np.zeros((COUNT, 5))
CIRCLE[:, 1], CIRCLE[:, 4] = 2 * np.cos(ANGLES), 2 * np.sin(ANGLES)
OFFSET = np.array([3.0, -1.0, 0.5, 0.0, 7.0])


def test_a_circle_of_three_turns_is_found_wherever_it_lies() -> None:
    found = principal_plane(CIRCLE + OFFSET)
    assert found.share == pytest.approx(1)
    assert found.radius == pytest.approx(2)
    assert found.radius_spread == pytest.approx(0, abs=1e-12)
    # From the first to the last position: one step short of three turns.
    assert abs(found.turns) == pytest.approx(3 * (COUNT - 1) / COUNT)


def test_turning_back_undoes_the_turns() -> None:
    there_and_back = np.concatenate((CIRCLE, CIRCLE[::-1]))
    assert principal_plane(there_and_back).turns == pytest.approx(0, abs=1e-12)


def test_an_ellipse_is_no_circle() -> None:
    stretched = CIRCLE * np.array([1, 2, 1, 1, 1])
    radii = np.hypot(4 * np.cos(ANGLES), 2 * np.sin(ANGLES))
    assert principal_plane(stretched).radius_spread == pytest.approx(radii.std() / radii.mean())


def test_a_line_lies_in_one_axis_and_equal_rows_in_none() -> None:
    line = np.arange(9.0)[:, None] * np.array([1.0, 2.0])
    found = principal_plane(line)
    assert found.share == pytest.approx(1)
    np.testing.assert_allclose(found.path[:, 1], 0, atol=1e-12)
    flat = principal_plane(np.ones((4, 3)))
    assert (flat.share, flat.radius_spread) == (0.0, float("inf"))


@pytest.mark.parametrize("count", [60, 61])
def test_all_power_of_a_wave_stands_at_its_frequency(count: int) -> None:
    wave = np.sin(2 * np.pi * 3 * np.arange(count) / count)[:, None] + OFFSET
    found = power_spectrum(wave)
    assert found.power.sum() == pytest.approx(1)
    assert found.power[2] == pytest.approx(1)
    assert found.cycles[2] == 3
    assert found.wavelengths[2] == pytest.approx(count / 3)


@pytest.mark.parametrize("count", [60, 61])
def test_power_is_the_variance_over_the_positions(count: int) -> None:
    table = np.random.default_rng(0).standard_normal((count, 3))
    low = table - table.mean(axis=0)
    spectrum = np.abs(np.fft.fft(low, axis=0)) ** 2
    share = spectrum[7].sum() * 2 / (count * (low**2).sum())
    assert power_spectrum(table).power[6] == pytest.approx(share)


def test_sinusoids_have_one_length_the_root_of_half_their_columns() -> None:
    vectors = posviz.parse("sinusoidal?model_dim=512").encode(np.arange(64.0)).vectors
    np.testing.assert_allclose(row_norms(vectors), 16)


@pytest.mark.skipif(bool(ALL_MINILM_L6_V2.missing()), reason=ALL_MINILM_L6_V2.missing())
def test_a_trained_table_is_smooth_where_its_initialisation_is_noise() -> None:
    positions = np.arange(512.0)
    trained = posviz.parse("learned?table=all-MiniLM-L6-v2").encode(positions).vectors
    drawn = posviz.parse("learned").encode(positions).vectors
    slow = {
        name: power_spectrum(one).power[:8].sum()
        for name, one in {"trained": trained, "drawn": drawn}.items()
    }
    assert slow["drawn"] < 0.05
    assert slow["trained"] > 5 * slow["drawn"]
    planes = principal_plane(trained), principal_plane(drawn)
    assert planes[0].share > 10 * planes[1].share
    assert planes[0].radius_spread < 0.2 < planes[1].radius_spread
    # 511 steps, of which each goes a sixth of the way around: a wave of 5.8 tokens.
    assert abs(planes[0].turns) == pytest.approx(87.4, abs=0.1)
    norms = row_norms(trained)
    assert np.argmax(norms) == 0
    assert norms[0] > 4 * np.median(norms)
