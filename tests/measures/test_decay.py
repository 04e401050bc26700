from __future__ import annotations

import math

import numpy as np
import pytest

import posviz
from posviz.encodings.rotary import RotaryEncoding
from posviz.measures import (
    direct_cos_mean,
    first_negative,
    score_decay,
    short_range_cost,
    split_angle,
)
from posviz.parameters import ParameterError


def rope(text: str = "") -> RotaryEncoding:
    spec = posviz.parse("rope" + text)
    assert isinstance(spec, RotaryEncoding)
    return spec


def yarn(factor: float) -> RotaryEncoding:
    spec = posviz.parse(f"yarn?scaling_factor={factor}")
    assert isinstance(spec, RotaryEncoding)
    return spec


@pytest.mark.parametrize(("base", "expected"), [(1e4, 1707), (5e5, 18438), (1.2e4, 1554)])
def test_first_negative_distance_of_three_bases(base: float, expected: int) -> None:
    # S19, criterion of arXiv:2405.14591; a larger base can have a shorter reach.
    decay = score_decay(rope(f"?base={base}"), length=20_000)
    assert decay.first_negative == expected
    assert decay.scores[expected] < 0 <= decay.scores[:expected].min()
    assert first_negative(rope(f"?base={base}").trained_frequencies()) == expected


def test_base_of_8k_context_has_no_negative_score_and_the_rounded_4k_base_does() -> None:
    # S20: b = 8.4e4 holds below 8192; b = 2.7e4, a rounded value, fails at 4079.
    assert score_decay(rope("?base=84000"), length=8192).first_negative is None
    assert score_decay(rope("?base=27000"), length=8192).first_negative == 4079


def test_first_negative_is_none_up_to_the_limit() -> None:
    frequencies = rope().trained_frequencies()
    assert first_negative(frequencies, limit=1707) is None
    assert first_negative(frequencies, limit=1708) == 1707
    assert first_negative([1e-6], limit=1 << 20) is None
    # A single pair turns negative past a quarter turn: 1e-5·d > π/2.
    assert first_negative([1e-5]) == math.ceil(math.pi / 2 / 1e-5)


def test_unscaled_rope_starts_at_one_and_all_ones_vectors_at_root_of_128() -> None:
    decay = score_decay(rope(), length=256)
    assert decay.scores[0] == 1.0
    # S18: q = k = 1 over 128 dimensions, q·k/√D = (2/√D)·Σ cos = √128 times this score.
    assert math.sqrt(128) * decay.scores[0] == pytest.approx(11.3137, abs=5e-5)


@pytest.mark.parametrize("length", [1, 2, 100, 5000])
def test_yarn_score_equals_the_direct_sum_times_its_squared_factor(length: int) -> None:
    spec = yarn(16)
    decay = score_decay(spec, length=length)
    assert decay.distances.tolist() == list(range(length))
    direct = direct_cos_mean(np.arange(length), spec.frequencies(length)) * 1.277259**2
    np.testing.assert_allclose(decay.scores, direct, rtol=2e-6, atol=1e-9)


def test_remapped_distances_equal_the_direct_sum(remapping: RotaryEncoding) -> None:
    length = 20_000
    distances = np.arange(length, dtype=float)
    query = np.full(length, length - 1.0)
    seen = remapping.relative_distance(query, query - distances)
    decay = score_decay(remapping, length=length)
    direct = direct_cos_mean(seen, remapping.frequencies(length))
    np.testing.assert_allclose(decay.scores, direct, rtol=0, atol=1e-10)


def test_published_patterns_of_distances_need_no_long_direct_sum(
    patterned: RotaryEncoding, monkeypatch: pytest.MonkeyPatch
) -> None:
    direct = split_angle.direct_cos_mean
    rows: list[int] = []

    def counted(distances: np.ndarray, inv_freq: np.ndarray) -> np.ndarray:
        rows.append(len(distances))
        return direct(distances, inv_freq)

    monkeypatch.setattr(split_angle, "direct_cos_mean", counted)
    score_decay(patterned, length=50_000)
    assert sum(rows) < 500


def test_clamped_distances_hold_the_score_at_the_window(clamped: RotaryEncoding) -> None:
    decay = score_decay(clamped, length=100_000)
    assert np.ptp(decay.scores[1024:]) == 0
    assert decay.scores[50_000] == pytest.approx(score_decay(rope(), length=1025).scores[-1])
    assert decay.first_negative is None


def test_all_three_factors_multiply_the_score(tempered: RotaryEncoding) -> None:
    decay = score_decay(tempered, length=1001)
    # m² = 2.25, softmax 2, query at position 1000: 1 + 1 = 2.
    assert decay.gain == 9.0
    assert decay.scores[0] == 9.0


def test_stopped_pairs_count_as_one(stopped: RotaryEncoding) -> None:
    decay = score_decay(stopped, length=200)
    frequencies = stopped.frequencies(200)
    stopped_share = np.count_nonzero(frequencies == 0) / 64
    turning = direct_cos_mean([150.0], frequencies[frequencies > 0])[0]
    assert decay.scores[150] == pytest.approx(stopped_share + (1 - stopped_share) * turning)


def test_partial_rotary_averages_over_its_own_pairs() -> None:
    decay = score_decay(rope("?head_dim=80&partial_rotary_factor=0.4"), length=300)
    by_hand = np.mean([math.cos(299 * 10000 ** (-2 * i / 32)) for i in range(16)])
    assert decay.scores[299] == pytest.approx(by_hand, abs=1e-12)


def test_results_are_read_only_float64() -> None:
    decay = score_decay(yarn(2), length=10)
    for array in (decay.distances, decay.scores):
        assert array.dtype == np.float64
        assert not array.flags.writeable


def test_short_range_cost_of_unscaled_rope_is_nothing() -> None:
    cost = short_range_cost(rope(), length=4096)
    assert cost.distances.tolist() == list(range(1, 65))
    np.testing.assert_allclose(cost.change, 0, atol=1e-13)


def test_short_range_cost_of_interpolation_worked_by_hand() -> None:
    spec = posviz.parse("linear?head_dim=2&scaling_factor=4")
    assert isinstance(spec, RotaryEncoding)
    cost = short_range_cost(spec, length=4096, max_distance=3)
    # One pair of frequency 1: cos(d/4) - cos d.
    expected = [math.cos(d / 4) - math.cos(d) for d in (1, 2, 3)]
    np.testing.assert_allclose(cost.change, expected, rtol=0, atol=1e-15)


def test_short_range_cost_counts_the_factor_and_stops_at_the_length() -> None:
    cost = short_range_cost(yarn(1.0), length=5)
    assert cost.distances.tolist() == [1, 2, 3, 4]
    assert short_range_cost(yarn(16), length=1).change.shape == (0,)
    # Neighbours in fast pairs keep their angle, so nearly all of the change is m² - 1.
    assert short_range_cost(yarn(16), length=4096).change[0] == pytest.approx(0.6, abs=0.02)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"length": 0}, "score decay: length must be a whole number of at least 1; got 0."),
        ({"length": True}, "score decay: length must be a whole number of at least 1; got True."),
        (
            {"length": 10, "count": 11},
            "score decay: count must be a whole number of at least 1 and at most 10; got 11.",
        ),
    ],
)
def test_lengths_that_cannot_be_are_refused(arguments: dict[str, int], message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        score_decay(rope(), **arguments)
    assert str(caught.value) == message
