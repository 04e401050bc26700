"""Corner cases of single methods, against numbers worked out beside them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import posviz


def spec(link: str) -> Any:
    return posviz.parse(link)


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_proportional_rope_is_p_rope(share: float) -> None:
    rope = spec(f"rope?partial_rotary=proportional&partial_rotary_factor={share}")
    p_rope = spec(f"p_rope?partial_rotary_factor={share}")
    np.testing.assert_array_equal(rope.frequencies(1), p_rope.frequencies(1))
    full = spec("rope").frequencies(1)
    np.testing.assert_array_equal(rope.frequencies(1)[: int(64 * share)], full[: int(64 * share)])


def test_ordinary_partial_rotary_squeezes_a_whole_ladder() -> None:
    ordinary = spec("rope?partial_rotary_factor=0.25").encode([1])
    np.testing.assert_array_equal(ordinary.inv_freq, spec("rope?head_dim=32").frequencies(1))
    vector = np.arange(128.0)[None, :]
    # The proportional pairs sit half a head apart, the ordinary ones half the rotary part.
    assert (ordinary.rotate(vector)[0] != vector[0]).nonzero()[0].max() == 31
    proportional = spec("rope?partial_rotary=proportional&partial_rotary_factor=0.25").encode([1])
    changed = (proportional.rotate(vector)[0] != vector[0]).nonzero()[0]
    assert set(changed) == {*range(16), *range(64, 80)}


def test_p_rope_factor_divides_what_rotates() -> None:
    np.testing.assert_array_equal(
        spec("p_rope?scaling_factor=4").frequencies(1), spec("p_rope").frequencies(1) / 4
    )


def test_adjusted_base_is_measured_against_the_trained_one() -> None:
    abf = spec("abf?new_base=160000")
    np.testing.assert_array_equal(abf.trained_frequencies(), spec("rope").frequencies(1))
    np.testing.assert_array_equal(abf.frequencies(1), spec("rope?base=160000").frequencies(1))


def test_one_pair_is_what_ntk_keeps() -> None:
    assert spec("ntk_aware?head_dim=2").frequencies(1) == [1.0]
    assert spec("dynamic_ntk?head_dim=2").frequencies(1 << 20) == [1.0]
    # vLLM's form slows the fastest pair too, by s^(2/d) = s here.
    assert spec("ntk_aware?head_dim=2&variant=vllm").frequencies(1) == [1 / 16]


def test_mixed_form_keeps_the_base_and_divides_the_last_pair_by_the_factor() -> None:
    mixed = spec("ntk_aware?variant=vllm&mixed_b=0.625&scaling_factor=8")
    divisor = mixed.trained_frequencies() / mixed.frequencies(1)
    assert divisor[-1] == pytest.approx(8, rel=1e-12)
    # ln of the divisor grows as i^b, i from 1.
    np.testing.assert_allclose(
        np.log(divisor) / math.log(8), (np.arange(1, 65) / 64) ** 0.625, rtol=1e-10
    )


@pytest.mark.parametrize(
    ("rule", "factor"), [("published", 4.0), ("transformers", 7.0), ("vllm", 1.0)]
)
def test_dynamic_rules_at_four_windows(rule: str, factor: float) -> None:
    dynamic = spec(f"dynamic_ntk?rule={rule}&scaling_factor=2")
    assert dynamic.factor_at(4 * 4096) == factor
    static = spec(f"ntk_aware?scaling_factor={factor}")
    np.testing.assert_allclose(dynamic.frequencies(4 * 4096), static.frequencies(1), rtol=1e-13)


def test_dynamic_yarn_is_yarn_at_the_factor_of_its_length() -> None:
    dynamic, static = spec("dynamic_yarn"), spec("yarn?scaling_factor=4")
    np.testing.assert_array_equal(dynamic.frequencies(4 * 4096), static.frequencies(1))
    assert dynamic.magnitude(4 * 4096) == static.magnitude(1)


def test_llama3_is_ntk_by_parts_under_other_names() -> None:
    llama3 = spec("llama3?low_freq_factor=2&high_freq_factor=20")
    by_parts = spec(
        "ntk_by_parts?base=500000&original_max_position_embeddings=8192&scaling_factor=8"
        "&beta_slow=2&beta_fast=20"
    )
    np.testing.assert_array_equal(llama3.frequencies(1), by_parts.frequencies(1))


def test_equal_ramp_ends_make_a_step() -> None:
    step = spec("llama3?low_freq_factor=1&high_freq_factor=1")
    wavelengths = 2 * math.pi / step.trained_frequencies()
    np.testing.assert_array_equal(step.kept(), (wavelengths <= 8192).astype(float))
    equal = spec("yarn?beta_fast=32&beta_slow=32&truncate=false")
    # Both bounds are pair 20.944; pair 21 lies 0.056 beyond, more than the 0.001 of the ramp.
    np.testing.assert_array_equal(equal.kept(), (np.arange(64) <= 20).astype(float))


def test_ramp_bounds_that_clamping_crosses() -> None:
    # In a window of 4 tokens no pair turns once: the upper bound falls below the first pair.
    tiny = "yarn?original_max_position_embeddings=4"
    low, high = spec(tiny).bounds
    assert low == 0
    assert high < 0
    # transformers, vLLM and the authors then keep every pair; llama.cpp divides all but pair 0.
    assert (spec(tiny).kept() == 1).all()
    assert list(spec(tiny + "&crossed_bounds=step").kept()) == [1.0] + 63 * [0.0]
    # In a huge window all pairs turn often: they are divided by some and kept by llama.cpp.
    huge = f"yarn?original_max_position_embeddings={1 << 40}"
    low, high = spec(huge).bounds
    assert low > high == 127
    assert (spec(huge).kept() == 0).all()
    assert (spec(huge + "&crossed_bounds=step").kept() == 1).all()


def test_extrapolation_factor_zero_is_plain_interpolation() -> None:
    none_kept = spec("yarn?extrapolation_factor=0&scaling_factor=4")
    linear = spec("linear?scaling_factor=4")
    np.testing.assert_array_equal(none_kept.frequencies(1), linear.frequencies(1))
    assert none_kept.magnitude(1) == pytest.approx(1.138629436)
    assert none_kept.with_values(mscale_rule="llama.cpp").magnitude(1) == 1.0


@pytest.mark.parametrize(
    ("rule", "mscale", "over_all", "ratio_of"),
    [
        ("transformers", None, None, (1.0, 0.0)),
        ("transformers", 0.5, None, (1.0, 0.0)),
        ("transformers", None, 0.5, (1.0, 0.0)),
        ("transformers", 0.0, 0.5, (1.0, 0.0)),
        ("transformers", 0.7, 0.5, (0.7, 0.5)),
        ("deepseek_yarn", None, None, (1.0, 0.0)),
        ("deepseek_yarn", 0.5, None, (0.5, 0.0)),
        ("deepseek_yarn", None, 0.5, (1.0, 0.5)),
        ("deepseek_yarn", 0.0, 0.5, (0.0, 0.5)),
        ("llama.cpp", 0.5, None, (1.0, 0.0)),
        ("llama.cpp", 0.5, 1.0, (1.0, 1.0)),
        ("llama.cpp", 0.5, 0.7, (0.7, 0.7)),
    ],
)
def test_mscale_rules(
    rule: str, mscale: float | None, over_all: float | None, ratio_of: tuple[float, float]
) -> None:
    yarn = spec("yarn?scaling_factor=40").with_values(
        mscale_rule=rule, mscale=mscale, mscale_all_dim=over_all
    )
    above, below = (0.1 * weight * math.log(40) + 1 for weight in ratio_of)
    assert yarn.magnitude(1) == pytest.approx(above / below, rel=1e-14)


def test_deepseek_inference_code_scales_beyond_the_window_only() -> None:
    own = spec("yarn?mscale=1&mscale_all_dim=1").with_values(
        **posviz.get("yarn").profiles["DeepSeek's own inference code (beyond the window only)"]
    )
    inside, beyond = own.encode([0], 4096), own.encode([0], 4097)
    np.testing.assert_array_equal(inside.inv_freq, own.trained_frequencies())
    assert (inside.attention_factor, inside.softmax_factor) == (1.0, 1.0)
    np.testing.assert_array_equal(beyond.inv_freq, spec("yarn").frequencies(1))
    assert beyond.attention_factor == 1.0
    assert beyond.softmax_factor == pytest.approx(1.277258872**2)


def test_softmax_correction_needs_mscale_all_dim() -> None:
    assert spec("yarn?softmax_correction=true").softmax_magnitude(1) == 1.0
    assert spec("yarn?mscale=1&mscale_all_dim=1").softmax_magnitude(1) == 1.0


LISTS = "longrope?head_dim=4&short_factor=1,2&long_factor=4,8"


@pytest.mark.parametrize(
    ("switch", "length", "divisor"),
    [
        ("length", 1, (1, 2)),
        ("length", 4096, (1, 2)),
        ("length", 4097, (4, 8)),
        ("capacity", 1, (4, 8)),
        ("capacity&max_position_embeddings=4096", 9000, (1, 2)),
        ("always_long", 1, (4, 8)),
    ],
)
def test_which_longrope_list_applies(switch: str, length: int, divisor: tuple[int, int]) -> None:
    longrope = spec(f"{LISTS}&switch={switch}")
    found = longrope.trained_frequencies() / longrope.frequencies(length)
    np.testing.assert_allclose(found, divisor, rtol=1e-14)


@pytest.mark.parametrize(
    ("query", "length", "factor"),
    [
        ("", 1, math.sqrt(17 / 12)),
        ("&magnitude_policy=yarn", 1, 0.1 * math.log(32) + 1),
        ("&scaling_factor=4096", 1, math.sqrt(2)),
        ("&attention_factor=1.19", 1, 1.19),
        ("&short_mscale=1.1&long_mscale=1.3", 4096, 1.1),
        ("&short_mscale=1.1&long_mscale=1.3", 4097, 1.3),
        ("&short_mscale=1.1", 4097, math.sqrt(17 / 12)),
        # transformers: no factor below the trained window.
        ("&max_position_embeddings=2048", 1, 1.0),
    ],
)
def test_longrope_attention_factor(query: str, length: int, factor: float) -> None:
    assert spec(LISTS + query).encode([0], length).attention_factor == pytest.approx(factor)


def test_truncated_basis_has_three_bands() -> None:
    basis = spec("truncated_basis?original_max_position_embeddings=2048")
    trained, found = basis.trained_frequencies(), basis.frequencies(1)
    done = 2048 * trained / (2 * math.pi)
    np.testing.assert_array_equal(found[done >= 1], trained[done >= 1])
    middle = (done < 1) & (done > 1 / 8)
    assert middle.sum() > 5
    np.testing.assert_allclose(found[middle], 2 * math.pi / (16 * 2048), rtol=1e-15)
    assert (done <= 1 / 8).sum() > 3
    assert (found[done <= 1 / 8] == 0).all()


def test_resonance_goes_after_yarn_too() -> None:
    after = spec("resonance?scaling_factor=16").encode([0])
    yarn = spec("yarn").encode([0])
    np.testing.assert_allclose(after.wavelengths, np.round(yarn.wavelengths), rtol=1e-14)
    assert after.attention_factor == yarn.attention_factor


def test_rerope_distances() -> None:
    matrix = spec("rerope?window=3").encode(range(6)).relative_distance
    assert list(matrix[5]) == [3, 3, 3, 2, 1, 0]
    assert list(matrix[0]) == [0, -1, -2, -3, -4, -5]


def test_leaky_rerope_distances() -> None:
    matrix = spec("leaky_rerope?window=3&scaling_factor=4").encode(range(6)).relative_distance
    assert list(matrix[5]) == [3.5, 3.25, 3, 2, 1, 0]


def test_self_extend_distances_are_floored_one_by_one() -> None:
    matrix = spec("self_extend?window=4&group_size=2").encode(range(10)).relative_distance
    # ⌊9/2⌋ + 4 - 2 - ⌊n/2⌋ for n = 0 … 5, then the plain distance.
    assert list(matrix[9]) == [6, 6, 5, 5, 4, 4, 3, 2, 1, 0]
    # w + ⌊(δ - w)/G⌋ would give 5 for the second key of query 8; both positions are floored here.
    assert list(matrix[8][:3]) == [6, 6, 5]


def test_self_extend_shift_is_a_true_division_in_the_code() -> None:
    code = spec("self_extend?window=5&group_size=2").encode([20, 0]).relative_distance
    printed = spec("self_extend?window=5&group_size=2&shift=floored").encode([20, 0])
    assert code[0, 1] == 12.5
    assert printed.relative_distance[0, 1] == 13


def test_dual_chunks_of_the_authors_code_are_shorter_by_the_window() -> None:
    code = spec("dca?chunk_size=6&local_window=2&original_max_position_embeddings=8&rule=code")
    matrix = code.encode(range(13)).relative_distance
    # Chunks of 4 tokens; a query of the next chunk stands at 4, 5, 6, 6, a farther one at 6.
    assert list(matrix[4][:5]) == [4, 3, 2, 1, 0]
    assert list(matrix[7][:8]) == [6, 5, 4, 3, 3, 2, 1, 0]
    assert list(matrix[8][:9]) == [6, 5, 4, 3, 4, 3, 2, 1, 0]
    # Where s - w is small, the last place of the clamped row is nearer than s.
    narrow = spec("dca?chunk_size=6&local_window=4&original_max_position_embeddings=12&rule=code")
    assert narrow.encode([4, 0]).relative_distance[0, 1] == 3


@pytest.mark.parametrize("encoding", ["rerope", "leaky_rerope", "self_extend"])
def test_reach_without_room_is_the_trained_window(encoding: str) -> None:
    assert spec(f"{encoding}?window=4096").reach == 4096


@pytest.mark.parametrize("encoding", ["rerope", "leaky_rerope", "self_extend", "dca"])
def test_query_scaling_starts_beyond_the_window(encoding: str) -> None:
    remapped = spec(f"{encoding}?query_scaling=true")
    scale = remapped.encode([0, 4095, 8191, 131071]).query_scale
    np.testing.assert_allclose(scale, [1, 1, 13 / 12, 17 / 12], rtol=1e-14)
    assert spec(f"{encoding}?query_scaling=false").encode([0]).query_scale is None


def test_negative_positions_take_no_logarithm() -> None:
    assert list(spec("log_n").encode([-5, -1, 0]).query_scale) == [1, 1, 1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_frequency_too_small_for_a_wavelength_has_an_infinite_one(dtype: Any) -> None:
    bent = spec("power_basis?head_dim=8192&power=100").encode(np.asarray([0, 1], dtype=dtype))
    assert np.isinf(bent.wavelengths[-1])
    # Among the slow pairs are some whose frequency is not 0, but too small to divide by.
    assert ((bent.inv_freq > 0) & np.isinf(bent.wavelengths)).any()
    finite = np.isfinite(bent.wavelengths)
    np.testing.assert_allclose(
        bent.wavelengths[finite] * bent.inv_freq[finite], 2 * math.pi, rtol=1e-6
    )


def test_base_close_to_one_and_window_of_one() -> None:
    extreme = spec("yarn?base=1.0000000000000002&original_max_position_embeddings=1")
    assert np.isfinite(extreme.encode([0, 1, 100]).cos).all()
    assert np.isfinite(spec("yarn?base=1e15&beta_slow=1e-06&beta_fast=1e6").kept()).all()
