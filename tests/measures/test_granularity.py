from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

import posviz
from posviz.measures.granularity import (
    adjacent_similarity,
    limit_granularity,
    neighbour_granularity,
)
from posviz.parameters import ParameterError


def frequencies(base: float = 1e4, pairs: int = 64) -> Any:
    return base ** (-np.arange(pairs) / pairs)


def test_s17_granularity_that_the_paper_prints() -> None:
    assert round(limit_granularity(1e4, scaling_factor=4), 3) == 0.027
    assert round(limit_granularity(50 * 1e4), 3) == 0.076


def test_printed_granularity_is_the_mean_angle_of_ever_more_pairs() -> None:
    for base, factor in ((1e4, 4.0), (5e5, 1.0)):
        angles = frequencies(base, 2_000_000) / factor
        limit = limit_granularity(base, scaling_factor=factor)
        assert angles.mean() == pytest.approx(limit * (1 - 1 / base), rel=1e-5)
        # 64 pairs: larger by about 1/(s·D), and the sine is a little below the angle.
        angles = frequencies(base) / factor
        assert angles.mean() == pytest.approx(limit + 1 / (128 * factor), rel=0.01)
        assert neighbour_granularity(angles) < angles.mean()


def test_granularity_of_a_head_of_128_dimensions() -> None:
    assert round(neighbour_granularity(frequencies() / 4), 4) == 0.0290
    assert round(neighbour_granularity(frequencies(5e5)), 4) == 0.0788


@pytest.mark.parametrize("link", ["linear?scaling_factor=4", "rope?base=500000", "ntk_aware"])
def test_sine_and_cosine_of_rotated_vectors_of_ones(link: str) -> None:
    result: Any = posviz.parse(link).encode([41, 42])
    first, second = result.rotate(np.ones((2, 128)))
    assert adjacent_similarity(result.inv_freq) == pytest.approx(first @ second / 128, abs=1e-12)
    # As complex numbers, first and second half of the vector being the two parts.
    before, after = (vector[:64] + 1j * vector[64:] for vector in (first, second))
    sine = np.vdot(before, after).imag / 128
    assert neighbour_granularity(result.inv_freq) == pytest.approx(sine, abs=1e-12)


def test_worked_by_hand() -> None:
    assert neighbour_granularity([math.pi / 2, 0]) == 0.5
    assert adjacent_similarity([math.pi / 3, 0]) == pytest.approx(0.75)
    assert adjacent_similarity([math.pi / 3, 0], step=3) == pytest.approx(0.0, abs=1e-15)
    assert adjacent_similarity([1.0, 0.1], step=0) == 1.0


def test_torch_gives_the_same() -> None:
    for measure in (neighbour_granularity, adjacent_similarity):
        assert measure(torch.tensor(frequencies())) == pytest.approx(measure(frequencies()))


def test_values_that_cannot_be_are_refused() -> None:
    with pytest.raises(ParameterError) as caught:
        neighbour_granularity([])
    assert str(caught.value) == (
        "neighbour granularity: inv_freq must be one row with at least one frequency; "
        "got the shape (0,)."
    )
    with pytest.raises(ParameterError) as caught:
        limit_granularity(1.0)
    assert str(caught.value) == "granularity: base must be a finite number above 1; got 1.0."
    with pytest.raises(ParameterError) as caught:
        limit_granularity(1e4, scaling_factor=0)
    assert str(caught.value) == (
        "granularity: scaling_factor must be a finite number above 0; got 0."
    )
