from __future__ import annotations

import math

import numpy as np
import pytest

import posviz
from posviz.encodings.rotary import RotaryEncoding
from posviz.measures import spectrum


def spec_of(text: str) -> RotaryEncoding:
    spec = posviz.parse(text)
    assert isinstance(spec, RotaryEncoding)
    return spec


@pytest.mark.parametrize(
    ("base", "trained_length", "unfinished"),
    [(10000, 2048, 23), (10000, 4096, 18), (500000, 8192, 29)],
)
def test_pairs_that_never_finish_a_turn(base: int, trained_length: int, unfinished: int) -> None:
    # S04: Llama 1, 2 and 3.
    found = spectrum(spec_of(f"rope?base={base}"), length=8192, trained_length=trained_length)
    assert found.unfinished_count == unfinished
    assert found.unfinished.tolist() == [False] * (64 - unfinished) + [True] * unfinished


@pytest.mark.parametrize("ramp", ["turns", "pair_index"])
def test_yarn_bands_of_llama_2_under_both_ramps(ramp: str) -> None:
    # S10: 21 pairs untouched, 25 mixed, 18 divided by s.
    found = spectrum(spec_of(f"yarn?ramp={ramp}"), length=65536, trained_length=4096)
    assert (found.kept, found.blended, found.divided) == (21, 25, 18)
    assert found.band.tolist() == [0] * 21 + [1] * 25 + [2] * 18
    assert found.full_divisor == pytest.approx(16)
    assert found.divisor[20] == 1


def test_bands_of_llama_3_1() -> None:
    # S13: α = 1 and β = 4 in turns, base 500000, L = 8192, s = 8: the llama3 rule.
    text = (
        "yarn?base=500000&original_max_position_embeddings=8192&scaling_factor=8"
        "&beta_fast=4&ramp=turns"
    )
    found = spectrum(spec_of(text), length=65536, trained_length=8192)
    assert (found.kept, found.blended, found.divided) == (29, 6, 29)


def test_interpolation_divides_every_pair() -> None:
    found = spectrum(spec_of("linear?scaling_factor=3"), length=12288, trained_length=4096)
    assert (found.kept, found.blended, found.divided) == (0, 0, 64)
    np.testing.assert_allclose(found.divisor, 3, rtol=1e-15)
    # Three times the window at a third of the speed: each pair makes the turns of training.
    np.testing.assert_allclose(found.turns_target, found.turns_trained, rtol=1e-14)
    assert found.beyond_count == 0
    assert found.beyond.tolist() == [1.0] * 64


def test_ntk_aware_divides_from_one_to_the_factor() -> None:
    # S08: s^(2i/(D-2)).
    found = spectrum(spec_of("ntk_aware?scaling_factor=8"), length=32768, trained_length=4096)
    np.testing.assert_allclose(found.divisor, 8 ** (2 * np.arange(64) / 126), rtol=1e-12)
    assert (found.kept, found.blended, found.divided) == (1, 62, 1)


def test_plain_rope_goes_beyond_by_the_ratio_of_lengths() -> None:
    found = spectrum(spec_of("rope"), length=16384, trained_length=4096)
    assert (found.kept, found.blended, found.divided) == (64, 0, 0)
    assert found.full_divisor == 1
    assert found.beyond.tolist() == [1.0] * 46 + [4.0] * 18
    assert found.beyond_count == 18
    assert found.turns_trained[0] == pytest.approx(4096 / (2 * math.pi))
    assert found.turns_target[0] == pytest.approx(16384 / (2 * math.pi))


def test_shorter_than_trained_is_not_beyond() -> None:
    found = spectrum(spec_of("rope"), length=1024, trained_length=4096)
    assert found.beyond.tolist() == [1.0] * 64


def test_stopped_pairs_are_the_divided_ones(stopped: RotaryEncoding) -> None:
    found = spectrum(stopped, length=8192, trained_length=4096)
    # Base 10000, 64 pairs: b^(-i/64) < 1e-2 from i = 33 and < 1e-3 from i = 49.
    assert found.band.tolist() == [0] * 33 + [1] * 16 + [2] * 15
    assert found.full_divisor == math.inf
    assert np.isinf(found.divisor[49:]).all()
    assert np.isinf(found.wavelengths[49:]).all()
    np.testing.assert_allclose(found.divisor[33:49], 2)
    assert found.turns_target[49:].tolist() == [0.0] * 15


def test_clamped_distances_see_only_the_window(clamped: RotaryEncoding) -> None:
    found = spectrum(clamped, length=131072, trained_length=4096)
    assert found.turns_target[0] == pytest.approx(1024 / (2 * math.pi))
    assert found.beyond_count == 0
    assert found.kept == 64


def test_kinked_distances_reach_the_trained_window_at_25600(kinked: RotaryEncoding) -> None:
    # S51: (L - w)·k + w = 25600 tokens for L = 4096, w = 1024, k = 8.
    assert spectrum(kinked, length=25600, trained_length=4096).beyond_count == 0
    assert spectrum(kinked, length=25700, trained_length=4096).beyond_count == 18


def test_faster_pairs_count_their_full_divisor_below_one() -> None:
    class Faster(type(spec_of("rope"))):  # type: ignore[misc]
        def frequencies(self, length: int, *, xp: object = np, device: object = None) -> np.ndarray:
            return self.trained_frequencies() * np.where(np.arange(64) < 10, 2.0, 1.0)

    found = spectrum(Faster(), length=4096, trained_length=4096)
    assert found.full_divisor == 0.5
    assert (found.kept, found.blended, found.divided) == (54, 0, 10)


def test_kept_share_is_the_ramp_that_the_paper_and_its_code_print_at_pair_33():
    # Facts S11: at i = 33 the ramp in turns gives 0.1498, the ramp in the pair index 0.5.
    for link, expected in (("yarn?ramp=turns", 0.1498), ("yarn", 0.5)):
        result = spectrum(posviz.parse(link), length=65536, trained_length=4096)
        assert result.kept_share[33] == pytest.approx(expected, abs=5e-5)


def test_kept_share_is_0_everywhere_for_interpolation_and_1_where_nothing_changes():
    squeezed = spectrum(posviz.parse("linear"), length=65536, trained_length=4096)
    assert np.all(squeezed.kept_share == 0)
    same = spectrum(posviz.parse("rope"), length=65536, trained_length=4096)
    assert np.all(same.kept_share == 1)
