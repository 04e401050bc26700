from __future__ import annotations

import pytest

import posviz
from posviz.encodings.rotary import RotaryEncoding
from posviz.measures import temperature


def yarn(options: str) -> RotaryEncoding:
    spec = posviz.parse(f"yarn?{options}")
    assert isinstance(spec, RotaryEncoding)
    return spec


def test_m_is_not_the_gain() -> None:
    # Factor 4, where users confuse m with m² (and apply it twice, which would give 1.680852593).
    found = temperature(yarn("scaling_factor=4"), length=16384)
    assert found.m == pytest.approx(1.138629436, rel=1e-9)
    assert found.m_squared == pytest.approx(1.296476993, rel=1e-9)
    assert found.gain == pytest.approx(1.296476993, rel=1e-9)
    assert found.temperature == pytest.approx(0.7713210536, rel=1e-9)
    assert found.m_squared**2 == pytest.approx(1.680852593, rel=1e-9)


@pytest.mark.parametrize(("factor", "m"), [(8, 1.207944), (16, 1.277259), (32, 1.346574)])
def test_published_magnitudes(factor: int, m: float) -> None:
    # S12; the paper prints 1.208 for s = 8.
    assert temperature(yarn(f"scaling_factor={factor}"), length=1).m == pytest.approx(m, abs=5e-7)


def test_logits_get_the_square_at_sixteen() -> None:
    assert temperature(yarn("scaling_factor=16"), length=1).gain == pytest.approx(1.63139, abs=5e-7)


def test_all_factors_multiply(tempered: RotaryEncoding) -> None:
    found = temperature(tempered, length=501)
    assert (found.m, found.softmax_factor, found.query_scale) == (1.5, 2.0, 1.5)
    assert found.gain == 6.75
    assert found.temperature == pytest.approx(4 / 9)


def test_a_correction_in_the_softmax_is_told_from_one_in_the_rotation() -> None:
    found = temperature(
        yarn("scaling_factor=40&mscale=1&mscale_all_dim=1&softmax_correction=true"), length=1
    )
    assert found.m == 1.0
    assert found.gain == found.softmax_factor == pytest.approx(1.3688879454**2)
