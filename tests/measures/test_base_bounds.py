from __future__ import annotations

import math

import numpy as np
import pytest

from posviz.measures import covering_base, critical_dimension, decay_bound
from posviz.parameters import ParameterError

LLAMA = 10000.0 ** (-np.arange(64) / 64)


def test_critical_dimension_of_llama_2() -> None:
    # S15; 92 of 128 dimensions, as 18 of 64 pairs never finish a turn (S04).
    assert critical_dimension(128, 10000, 4096) == 92
    assert 128 - 92 == 2 * 18


@pytest.mark.parametrize(("length", "expected"), [(1, 0), (6, 0), (7, 2), (10**9, 128)])
def test_critical_dimension_stays_between_none_and_all(length: int, expected: int) -> None:
    assert critical_dimension(128, 10000, length) == expected


@pytest.mark.parametrize(
    ("arc", "expected"), [(math.pi / 2, 2608), (math.pi, 1304), (2 * math.pi, 652)]
)
def test_bases_that_cover_an_arc_in_4096_tokens(arc: float, expected: int) -> None:
    assert round(covering_base(4096, arc)) == expected


def test_roformer_bound_at_three_distances() -> None:
    # S22.
    np.testing.assert_allclose(decay_bound([0, 50, 250], LLAMA), [32.5, 12.6295, 6.5482], atol=5e-5)


def test_a_base_of_one_has_no_critical_dimension() -> None:
    with pytest.raises(ParameterError) as caught:
        critical_dimension(128, 1.0, 4096)
    assert str(caught.value) == "critical dimension: base must be a number above 1; got 1.0."
