from __future__ import annotations

import math

import numpy as np
import pytest

import posviz
from posviz.encodings.rotary import RotaryEncoding
from posviz.measures import profile_difference
from posviz.parameters import ParameterError


def spec_of(text: str) -> RotaryEncoding:
    spec = posviz.parse(text)
    assert isinstance(spec, RotaryEncoding)
    return spec


def test_the_two_yarn_ramps_differ_inside_the_band_only() -> None:
    found = profile_difference(
        spec_of("yarn?ramp=turns"), spec_of("yarn?ramp=pair_index"), length=65536
    )
    assert np.flatnonzero(found.relative > 1e-12).min() >= 21
    assert np.flatnonzero(found.relative > 1e-12).max() <= 45
    # S11: at pair 33 the paper keeps γ = 0.1498, the code 0.5; f'/f = γ + (1 - γ)/16.
    paper, code = 0.1498 + 0.8502 / 16, 0.5 + 0.5 / 16
    assert found.signed[33] == pytest.approx(paper / code - 1, abs=2e-4)
    assert found.largest == found.relative[found.largest_pair] == found.relative.max()
    assert found.magnitude_a == found.magnitude_b == pytest.approx(1.277259, abs=5e-7)


def test_a_stopped_pair_against_a_turning_one_is_infinitely_apart(stopped: RotaryEncoding) -> None:
    assert profile_difference(stopped, stopped, length=10).largest == 0
    assert profile_difference(stopped, spec_of("rope"), length=10).signed[63] == -1
    other = profile_difference(spec_of("rope"), stopped, length=10)
    assert (other.largest, other.largest_pair) == (math.inf, 49)
    assert other.signed[40] == pytest.approx(1.0)


def test_different_numbers_of_pairs_cannot_be_compared() -> None:
    with pytest.raises(ParameterError, match=r"got 64 in RoPE and 32 in YaRN\.$"):
        profile_difference(spec_of("rope"), spec_of("yarn?head_dim=64"), length=10)
