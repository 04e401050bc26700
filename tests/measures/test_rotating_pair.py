from __future__ import annotations

import math

import pytest

import posviz
from posviz.encodings.rotary import RotaryEncoding
from posviz.measures import clock
from posviz.parameters import ParameterError


def spec_of(text: str) -> RotaryEncoding:
    spec = posviz.parse(text)
    assert isinstance(spec, RotaryEncoding)
    return spec


def test_286_degrees_stay_286_degrees() -> None:
    # Pair 0 turns one radian per token: 5 tokens are 286.479°, which arccos would call 73.52°.
    found = clock(spec_of("rope"), pair=0, position=5, length=4096, trained_length=4096)
    assert math.degrees(found.angle) == pytest.approx(286.4789, abs=1e-4)
    assert (found.x, found.y) == (pytest.approx(math.cos(5)), pytest.approx(math.sin(5)))
    assert found.turns == pytest.approx(0.7957747)
    assert found.unscaled_angle == found.angle


def test_interpolated_hand_lags_behind_the_unscaled_one() -> None:
    spec = spec_of("linear?scaling_factor=4")
    found = clock(spec, pair=0, position=100, length=16384, trained_length=4096)
    assert found.angle == pytest.approx(25 % (2 * math.pi))
    assert found.unscaled_angle == pytest.approx(100 % (2 * math.pi))
    assert found.turns == pytest.approx(25 / (2 * math.pi))
    assert found.unscaled_turns == pytest.approx(100 / (2 * math.pi))


def test_a_slow_hand_leaves_its_trained_arc() -> None:
    # Slowest of 64 pairs, wavelength 54410.14 tokens (S03): 4096 tokens are 7.53 % of a turn.
    inside = clock(spec_of("rope"), pair=63, position=4000, length=8192, trained_length=4096)
    outside = clock(spec_of("rope"), pair=63, position=8000, length=8192, trained_length=4096)
    assert inside.trained_arc == pytest.approx(4096 / 54410.14)
    assert (inside.outside, outside.outside) == (False, True)
    fast = clock(spec_of("rope"), pair=0, position=8000, length=8192, trained_length=4096)
    assert (fast.trained_arc, fast.outside) == (1.0, False)
    around = clock(spec_of("rope"), pair=63, position=200_000, length=1 << 18, trained_length=4096)
    assert around.outside
    # One whole turn and 2000 tokens more: the hand is back on the arc that training covered.
    back = clock(spec_of("rope"), pair=63, position=56_410, length=1 << 18, trained_length=4096)
    assert 1 < back.turns < 1.04
    assert not back.outside


@pytest.mark.parametrize("factor", [3, 5, 7, 12])
def test_interpolation_fills_the_trained_arc_to_its_very_end(factor: int) -> None:
    spec, last = spec_of(f"linear?scaling_factor={factor}"), 4096 * factor
    for pair in range(64):
        found = clock(spec, pair=pair, position=last, length=last, trained_length=4096)
        assert not found.outside, pair


def test_clamped_hand_stops_at_the_window(clamped: RotaryEncoding) -> None:
    found = clock(clamped, pair=10, position=5000, length=8192, trained_length=4096)
    assert found.distance == 1024
    assert found.turns == pytest.approx(1024 * 10000 ** (-10 / 64) / (2 * math.pi))


@pytest.mark.parametrize(
    ("pair", "position", "message"),
    [
        (
            64,
            0,
            "rotating pair: pair must be a whole number of at least 0 and at most 63; got 64.",
        ),
        (0, -1, "rotating pair: position must be a number of at least 0; got -1."),
        (0, math.inf, "rotating pair: position must be a number of at least 0; got inf."),
    ],
)
def test_hands_that_do_not_exist_are_refused(pair: int, position: float, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        clock(spec_of("rope"), pair=pair, position=position, length=4096, trained_length=4096)
    assert str(caught.value) == message
