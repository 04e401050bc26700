"""Facts that papers and articles print, by the number they have in the project's list (S01 …).

Values are to the last digit shown there. Facts of one encoding alone stand beside its other tests,
in ``tests/encodings``, under the same numbers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import posviz
from posviz import configs
from posviz.attention import logits, output
from posviz.encodings.extension import ntk_base, yarn_magnitude
from posviz.encodings.ramps import kept_by_turns, pair_at_turns, turns
from posviz.measures import (
    Content,
    context_curves,
    covering_base,
    critical_dimension,
    equal_scores,
    logit_row,
    weight_profile,
)


def spec(link: str) -> Any:
    return posviz.parse(link)


def plain(base: float, head_dim: int) -> Any:
    return posviz.get("rope")(base=base, head_dim=head_dim).encode([0])


LLAMA2 = "rope?head_dim=128"


@pytest.mark.parametrize(
    ("base", "head_dim", "pair", "wavelength"),
    [
        pytest.param(1e4, 100, 0, 6.28319, id="S01-first"),
        pytest.param(1e4, 100, 1, 7.55405, id="S01-second"),
        pytest.param(1e4, 100, -1, 52261.26, id="S01-last"),
        pytest.param(1e4, 512, 0, 6.28319, id="S02-first"),
        pytest.param(1e4, 512, -1, 60611.48, id="S02-last"),
        pytest.param(1e4, 128, -1, 54410.14, id="S03"),
        pytest.param(5e5, 128, -1, 2559195.5, id="S44-llama3"),
        pytest.param(1e4, 256, -1, 58469.57, id="S44-gemma"),
    ],
)
def test_wavelengths(base: float, head_dim: int, pair: int, wavelength: float) -> None:
    digits = len(str(wavelength).partition(".")[2])
    assert round(float(plain(base, head_dim).wavelengths[pair]), digits) == wavelength


def test_s03_neighbouring_pairs_differ_by_one_ratio() -> None:
    wavelengths = plain(1e4, 128).wavelengths
    np.testing.assert_allclose(wavelengths[1:] / wavelengths[:-1], 1.154782, atol=5e-7)


@pytest.mark.parametrize(
    ("base", "window", "count"),
    [
        pytest.param(1e4, 2048, 23, id="S04-llama1"),
        pytest.param(1e4, 4096, 18, id="S04-llama2"),
        pytest.param(5e5, 8192, 29, id="S04-llama3"),
    ],
)
def test_s04_pairs_that_never_finish_a_turn(base: float, window: int, count: int) -> None:
    assert int((plain(base, 128).wavelengths > window).sum()) == count


def test_s05_products_of_sinusoidal_vectors_depend_on_the_distance_only() -> None:
    table = spec("rope?head_dim=512").encode(range(300))
    vectors = np.concatenate((table.sin, table.cos), axis=1)
    products = vectors @ vectors.T
    np.testing.assert_allclose(np.diag(products), 256, rtol=1e-13)
    for distance in (1, 17, 250):
        along = np.diagonal(products, distance)
        np.testing.assert_allclose(along, along[0], rtol=0, atol=1e-10)
        np.testing.assert_allclose(np.diagonal(products, -distance), along[0], rtol=0, atol=1e-10)


def test_s06_a_shift_is_a_product_with_the_vector_of_the_shift() -> None:
    table = spec("rope?head_dim=512").encode(range(300))
    vectors = table.cos + 1j * table.sin
    np.testing.assert_allclose(vectors[37:], vectors[37] * vectors[:-37], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("factor", "base"), [(2, 20221.26), (4, 40889.94), (8, 82684.62)], ids=["x2", "x4", "x8"]
)
def test_s07_ntk_aware_base(factor: float, base: float) -> None:
    assert round(ntk_base(1e4, factor, 128), 2) == base


def test_ntk_anchor_to_more_digits() -> None:
    assert round(ntk_base(1e4, 4, 128), 6) == 40889.942432


def test_s08_ntk_aware_divides_from_exactly_one_to_exactly_s() -> None:
    ntk = spec("ntk_aware?scaling_factor=8")
    divisor = ntk.trained_frequencies() / ntk.frequencies(1)
    pair = np.arange(64)
    np.testing.assert_allclose(divisor, 8.0 ** (2 * pair / 126), rtol=1e-12)
    assert divisor[0] == 1.0
    assert divisor[-1] == pytest.approx(8.0, rel=1e-13)


def test_s09_yarn_correction_pairs_of_llama2() -> None:
    assert round(pair_at_turns(32, 128, 1e4, 4096), 5) == 20.94448
    assert round(pair_at_turns(1, 128, 1e4, 4096), 5) == 45.02688
    assert spec("yarn").bounds == (20, 46)
    low, high = spec("yarn?truncate=false").bounds
    assert (round(low, 5), round(high, 5)) == (20.94448, 45.02688)


@pytest.mark.parametrize("ramp", ["pair_index", "turns"])
def test_s10_bands_of_llama2(ramp: str) -> None:
    kept = spec(f"yarn?ramp={ramp}").kept()
    counts = [int(part.sum()) for part in (kept == 1, (kept > 0) & (kept < 1), kept == 0)]
    assert counts == [21, 25, 18]


def test_s11_the_two_ramps_at_pair_33() -> None:
    frequency = spec("yarn").trained_frequencies()
    assert round(float(turns(frequency, 4096)[33]), 4) == 5.6452
    assert round(float(spec("yarn?ramp=turns").kept()[33]), 4) == 0.1498
    assert float(spec("yarn").kept()[33]) == 0.5


@pytest.mark.parametrize(
    ("factor", "value"),
    [(4, 1.138629436), (8, 1.207944), (16, 1.277258872), (32, 1.346573590), (40, 1.368887945)],
)
def test_s12_yarn_attention_factor(factor: float, value: float) -> None:
    digits = len(str(value).partition(".")[2])
    yarn = spec(f"yarn?scaling_factor={factor}")
    assert round(yarn.encode([0]).attention_factor, digits) == round(value, digits)


def test_s12_logits_get_the_square_of_the_attention_factor() -> None:
    result = spec("yarn?scaling_factor=16").encode([0])
    unit = np.eye(128)[:1]
    assert round(float(logits(result, unit, unit)[0, 0]) * math.sqrt(128), 6) == 1.63139


def test_s40_slopes_of_the_two_temperatures() -> None:
    assert round(1 / math.log(4096), 4) == 0.1202
    window, step = 4096, 1e-6
    log_n = spec("log_n?scope=sequence")
    slope = (log_n.softmax_magnitude(2 * window) - 1) / math.log(2)
    assert round(slope, 4) == 0.1202
    near_one = (yarn_magnitude(1 + step) ** 2 - 1) / math.log1p(step)
    assert round(near_one, 3) == 0.2


def test_s38_log_n_factor_from_4096_to_131072() -> None:
    assert spec("log_n?scope=sequence").softmax_magnitude(131072) == pytest.approx(17 / 12)
    scale = spec("log_n").encode([4095, 131071]).query_scale
    np.testing.assert_allclose(scale, [1, 17 / 12], rtol=1e-12)


def test_s13_llama_3_1_bands() -> None:
    llama3 = spec("llama3")
    kept, wavelengths = llama3.kept(), 2 * math.pi / llama3.trained_frequencies()
    assert ((kept == 1) == (wavelengths < 2048)).all()
    assert ((kept == 0) == (wavelengths > 8192)).all()
    divisor = llama3.trained_frequencies() / llama3.frequencies(1)
    counts = [(divisor == 1).sum(), ((divisor > 1) & (divisor < 8)).sum(), (divisor == 8).sum()]
    assert counts == [29, 6, 29]


def test_s14_dynamic_ntk_at_twice_the_window() -> None:
    for rule, base in (("published", 20221.26), ("transformers", 30527.74), ("vllm", 10000.0)):
        dynamic = spec(f"dynamic_ntk?rule={rule}&scaling_factor=2")
        same = posviz.get("rope")(base=base).trained_frequencies()
        np.testing.assert_allclose(dynamic.frequencies(8192), same, rtol=5e-7)


def test_s15_critical_dimension_and_smaller_bases() -> None:
    assert critical_dimension(128, 1e4, 4096) == 92
    # The slowest trained pair is the 46th; beyond it no pair has finished a turn.
    assert int((turns(spec(LLAMA2).trained_frequencies(), 4096) >= 1).sum()) == 92 // 2
    bases = [covering_base(4096, arc) for arc in (math.pi / 2, math.pi, 2 * math.pi)]
    assert [round(base) for base in bases] == [2608, 1304, 652]


def test_s16_longrope_attention_factor() -> None:
    assert spec("longrope").encode([0]).attention_factor == pytest.approx(math.sqrt(17 / 12))
    assert round(spec("longrope").encode([0]).attention_factor, 6) == 1.190238


def test_s17_adjusted_base_slows_pair_one_by_six_percent() -> None:
    abf = spec("abf")
    divisor = abf.trained_frequencies() / abf.frequencies(1)
    assert round(float(divisor[1]), 5) == 1.06303


def test_s32_self_extend_reach_and_positions_used() -> None:
    for group, reach, used in ((8, 25600, 2871), (5, 16384, 3979)):
        extend = spec(f"self_extend?window=1024&group_size={group}")
        assert extend.reach == reach
        farthest = extend.relative_distance(np.asarray([15800.0]), np.asarray([0.0]))
        assert math.floor(farthest[0]) == used


def test_s33_dual_chunk_matrix() -> None:
    link = "dca?chunk_size=6&local_window=4&original_max_position_embeddings=10"
    matrix = spec(link).encode(range(48)).relative_distance
    assert matrix[6, 5] == 1
    assert matrix[11, 0] == 9
    assert np.tril(matrix).max() == 9
    code = spec("dca")
    assert (code.chunk_size, code.local_window) == (3 * 4096 // 4, 4096 // 8) == (3072, 512)


def test_s35_p_rope_keeps_96_of_128_pairs() -> None:
    result = spec("p_rope?head_dim=256").encode([0])
    assert int((result.inv_freq > 0).sum()) == 96
    assert len(result.inv_freq) == 128
    assert round(float(result.wavelengths[95]), 2) == 5846.96
    assert np.isinf(result.wavelengths[96:]).all()


def test_p_rope_anchor_of_gemma() -> None:
    result = spec("p_rope?head_dim=512&partial_rotary_factor=0.25").encode([0])
    assert int((result.inv_freq > 0).sum()) == 64


def test_s36_resonance_rounds_wavelengths() -> None:
    wavelengths = spec("resonance").encode([0]).wavelengths
    np.testing.assert_allclose(wavelengths[:10], [6, 7, 8, 10, 11, 13, 15, 17, 20, 23], rtol=1e-14)
    assert int((spec(LLAMA2).encode([0]).wavelengths <= 4096).sum()) == 46


def test_s48_equal_sections_of_a_multimodal_model_are_plain_rope() -> None:
    model = configs.read(
        {
            "model_type": "qwen2_vl",
            "hidden_size": 3584,
            "num_attention_heads": 28,
            "rope_theta": 1e6,
            "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]},
        }
    )
    (sections,) = (row.value for row in model.resolved if row.name == "mrope_section")
    assert sum(sections) == model.spec().pairs == 64
    assert model.spec() == spec("rope?base=1000000")


def test_s51_leaky_rerope_reach_and_rerope_bound() -> None:
    assert spec("leaky_rerope?window=1024&scaling_factor=8").reach == 25600
    assert math.isinf(spec("rerope?window=1024").reach)
    far = np.asarray([1e3, 1e5, 1e9])
    assert spec("rerope?window=1024").relative_distance(far, 0 * far).max() == 1024


def test_s52_layouts_agree_after_one_permutation() -> None:
    q, k = np.random.default_rng(0).standard_normal((2, 7, 128))
    half = spec("rope").encode(range(7))
    interleaved = spec("rope?layout=interleaved").encode(range(7))
    order = np.stack((np.arange(64), np.arange(64) + 64), axis=1).reshape(-1)
    np.testing.assert_allclose(
        logits(half, q, k), logits(interleaved, q[:, order], k[:, order]), rtol=1e-11, atol=1e-11
    )


def test_s53_beta_must_follow_the_window() -> None:
    frequency = posviz.get("rope")(head_dim=32).trained_frequencies()
    assert round(float(turns(frequency, 64)[0]), 3) == 10.186
    at_32 = kept_by_turns(frequency, 64, 1, 32)
    assert round(float(at_32[0]), 4) == 0.2963
    assert int((at_32 == 1).sum()) == 0
    at_8 = kept_by_turns(frequency, 64, 1, 8)
    assert int((at_8 == 1).sum()) == 1
    tiny = spec("ntk_by_parts?head_dim=32&original_max_position_embeddings=64&beta_fast=8")
    np.testing.assert_array_equal(tiny.kept(), at_8)


def test_deepseek_softmax_factors() -> None:
    v3 = spec("yarn?scaling_factor=40&mscale=1&mscale_all_dim=1&softmax_correction=true")
    assert round(v3.encode([0]).softmax_factor, 9) == 1.873854207
    assert round(v3.encode([0]).softmax_factor * 192**-0.5, 9) == 0.135233779
    assert v3.encode([0]).attention_factor == 1.0
    lite = v3.with_values(mscale=0.707, mscale_all_dim=0.707)
    assert round(lite.encode([0]).softmax_factor, 9) == 1.589626165


def test_lone_mscale_is_read_differently() -> None:
    lone = spec("yarn?scaling_factor=40&mscale=0.707")
    for rule, value in (("transformers", 1.369), ("deepseek_yarn", 1.261), ("llama.cpp", 1.369)):
        assert round(lone.with_values(mscale_rule=rule).encode([0]).attention_factor, 3) == value


def _largest_difference(first: str, second: str) -> tuple[float, int]:
    """(f - f') / f' of two links: the largest one, and its pair."""
    a, b = spec(first).frequencies(1), spec(second).frequencies(1)
    difference = np.abs(a - b) / np.minimum(a, b)
    return float(difference.max()), int(difference.argmax())


def test_sizes_of_known_disagreements() -> None:
    size, pair = _largest_difference("yarn", "yarn?ramp=turns")
    assert (round(size, 2), pair) == (2.04, 38)
    qwen = "yarn?base=1000000&scaling_factor=4&original_max_position_embeddings={}"
    size, _ = _largest_difference(qwen.format(32768), qwen.format(32768) + "&ramp=turns")
    assert round(size, 2) == 0.71
    # vLLM's YaRN for M-RoPE models takes 4 L where L belongs.
    assert spec(qwen.format(32768)).bounds == (23, 40)
    assert spec(qwen.format(4 * 32768)).bounds == (30, 47)
    deepseek = "yarn?head_dim=64&scaling_factor=40"
    size, _ = _largest_difference(deepseek, deepseek + "&ramp=turns")
    assert round(size, 1) == 3.3
    size, _ = _largest_difference("yarn", "yarn?truncate=false")
    assert round(size, 2) == 0.55
    gpt_oss = "yarn?base=150000&head_dim=64&scaling_factor=32"
    low, high = spec(gpt_oss + "&truncate=false").bounds
    assert (round(low, 4), round(high, 3)) == (8.0928, 17.398)
    assert spec(gpt_oss).bounds == (8, 18)
    size, pair = _largest_difference(gpt_oss, gpt_oss + "&truncate=false")
    assert (round(size, 2), pair) == (0.76, 17)
    fastest = spec("ntk_aware?scaling_factor=4&variant=vllm").frequencies(1)[0]
    assert round(float(fastest), 4) == 0.9786


def first_below_zero(link: str, length: int) -> int:
    """The first distance at which equal queries and keys have a negative logit."""
    below = equal_scores(spec(link), length=length) < 0
    assert below.any()
    return int(np.argmax(below))


def test_s18_all_ones_start_at_the_root_of_128() -> None:
    # (2/√D)·Σ cos(δ·f_i), the curve of Xiong et al., figure 4.
    scores = equal_scores(spec(LLAMA2), length=2, match=math.sqrt(128))
    assert round(float(scores[0]), 4) == 11.3137
    by_hand = 2 / math.sqrt(128) * sum(math.cos(1e4 ** (-i / 64)) for i in range(64))
    assert float(scores[1]) == pytest.approx(by_hand, rel=1e-12)


@pytest.mark.parametrize(("base", "first"), [(1e4, 1707), (5e5, 18438), (1.2e4, 1554)])
def test_s19_first_distance_with_a_negative_score(base: float, first: int) -> None:
    assert first_below_zero(f"rope?base={base:g}", 20_000) == first


def test_s20_lower_bounds_of_the_base() -> None:
    # No negative score below 8,192 with 8.4e4; 2.7e4, a rounded value, fails at 4,079.
    assert (equal_scores(spec("rope?base=84000"), length=8192) >= 0).all()
    assert first_below_zero("rope?base=27000", 4096) == 4079
    assert (equal_scores(spec("rope?base=4300"), length=1024) >= 0).all()
    # The fit that is printed with the eleven values, as a line through their logarithms.
    printed = [4.3e3, 1.6e4, 2.7e4, 8.4e4, 3.1e5, 6.4e5, 2.1e6, 7.8e6, 3.6e7, 6.4e7, 5.1e8]
    contexts = 1024 * 2.0 ** np.arange(11)
    slope, at_one = np.polyfit(np.log(contexts), np.log(printed), 1)
    assert round(float(slope), 3) == 1.628
    # From values of two digits its factor is known to half of its last digit and a little more.
    assert math.exp(float(at_one)) == pytest.approx(0.0424, abs=1e-4)


def test_s25_xpos_keeps_two_sevenths_of_the_fastest_pair_per_512_tokens() -> None:
    kept = np.exp(512 * np.asarray(logit_row(spec("xpos?head_dim=128"), 8).log_kept))
    assert round(float(kept[0]), 6) == round(2 / 7, 6) == 0.285714
    assert round(float(kept[-1]), 6) == 0.988839
    np.testing.assert_allclose(kept, (2 * np.arange(64) / 128 + 0.4) / 1.4, rtol=1e-12)


def test_s26_xpos_expectation_against_rope() -> None:
    # g(n) = Σ cos(n·f_i)·ζ_i^(n/512); the mean over pairs times 64.
    xpos = 64 * equal_scores(spec("xpos?head_dim=128"), length=1025)
    rope = 64 * equal_scores(spec(LLAMA2), length=1025)
    assert (float(xpos[0]), float(rope[0])) == (pytest.approx(64), pytest.approx(64))
    assert round(float(xpos[1024]), 4) == 10.8139
    assert round(float(rope[1024]), 4) == 13.0843


@pytest.mark.parametrize(
    ("head", "half_life", "reach", "entropy"),
    [
        pytest.param(0, 1.3863, 10, 1.7035, id="slope 1/2"),
        pytest.param(7, 177.45, 1179, 6.5452, id="slope 1/256"),
    ],
)
def test_s28_alibi_with_equal_content(
    head: int, half_life: float, reach: int, entropy: float
) -> None:
    contexts = [16_384, 65_536, 262_144, 1_048_576]
    curves = context_curves(spec("alibi?heads=8"), contexts, head=head)
    assert curves.reach.tolist() == [reach] * 4
    np.testing.assert_array_equal(curves.entropy.round(4), entropy)
    # It does not grow with the context.
    np.testing.assert_allclose(curves.entropy, curves.entropy[0], rtol=1e-12)
    profile = weight_profile(spec("alibi?heads=8"), 4096, head=head)
    digits = len(str(half_life).partition(".")[2])
    assert round(profile.half_life, digits) == half_life


def test_s37_entropy_of_gaussian_logits() -> None:
    # ln n - σ²/2 in the limit. With w ∝ e^z, m = Ee^z = e^(1/2) and A = E z·e^z = m, one draw moves
    # the entropy by (e^z·(1 + A/m - z)/m - 1)/n = (e^(z-1/2)·(2 - z) - 1)/n, whose variance is
    # e·E(2 - x)² - 1 with x normal around 2: (e - 1)/n². So n draws spread it by √((e - 1)/n).
    count, seeds = 4096, 64
    expected = math.log(count) - 1 / 2
    assert round(expected, 4) == 7.8178
    spread = math.sqrt((math.e - 1) / count)
    entropies = np.array(
        [
            context_curves(
                spec("nope"), [count], content=Content(content="gaussian", sigma=1.0, seed=seed)
            ).entropy[0]
            for seed in range(seeds)
        ]
    )
    assert (np.abs(entropies - expected) < 5 * spread).all()
    # The finite sum lowers the mean by a few 1/n; beyond that it is ln n - σ²/2.
    assert entropies.mean() == pytest.approx(
        expected, abs=4 * spread / math.sqrt(seeds) + 4 / count
    )
    assert entropies.std() == pytest.approx(spread, rel=5 / math.sqrt(2 * seeds))


MARGIN = Content(content="needle", sigma=0.0, needle_turns=False, match=math.log(9 * 4095))
"""The logit that gives a key 0.9 of the weight among 4,096."""


def needle_weights(link: str, lengths: list[int]) -> list[float]:
    return [float(one) for one in context_curves(spec(link), lengths, content=MARGIN).needle]


def test_s38_log_n_keeps_the_needle_that_plain_attention_loses() -> None:
    # At 131,072 the margin counts 17/12 times.
    (scaled,) = needle_weights("log_n", [131_072])
    margin = math.log(scaled / (1 - scaled)) + math.log(131_071)
    assert margin == pytest.approx(17 / 12 * math.log(9 * 4095), rel=1e-12)
    assert round(margin / MARGIN.match, 5) == 1.41667
    (plain,) = needle_weights("rope", [131_072])
    assert round(plain, 5) == 0.21947
    assert scaled == pytest.approx(1 / (1 + 131_071 / (9 * 4095) ** (17 / 12)), rel=1e-12)
    assert scaled > 0.9


def test_s39_one_needle_against_equal_logits() -> None:
    assert round(MARGIN.match, 4) == 10.5147
    lengths = [4096, 8192, 32_768, 131_072]
    for link in ("nope", "causal", "rope"):
        weights = needle_weights(link, lengths)
        assert [round(one, 5) for one in weights] == [0.9, 0.81816, 0.52936, 0.21947]


def test_s40_the_needles_margin_grows_by_those_slopes() -> None:
    # Twice the trained window: 1 + ln 2/ln 4096 with log n, (1 + 0.1·ln 2)² with YaRN.
    def gain(link: str) -> float:
        (weight,) = needle_weights(link, [8192])
        return (math.log(weight / (1 - weight)) + math.log(8191)) / MARGIN.match

    assert round((gain("log_n") - 1) / math.log(2), 4) == 0.1202
    yarn = gain("yarn?scaling_factor=2")
    assert yarn == pytest.approx((1 + 0.1 * math.log(2)) ** 2, rel=1e-12)
    assert (yarn - 1) / math.log(2) == pytest.approx(0.2, abs=0.1 * 0.1 * math.log(2) + 1e-9)


def test_s41_variance_of_a_causal_mean_is_the_concentration() -> None:
    places = [1, 2, 10, 100, 1000]
    found = context_curves(spec("causal"), places).concentration
    np.testing.assert_allclose(found, 1 / np.asarray(places), rtol=1e-13)
    # Values with σ = 3, averaged by every query over itself and all before it.
    runs = 4000
    values = 3 * np.random.default_rng(0).standard_normal((runs, 1000))
    means = np.cumsum(values, axis=1)[:, np.asarray(places) - 1] / places
    spread = 5 * math.sqrt(2 / runs)
    np.testing.assert_allclose(means.var(axis=0), 9 * found, rtol=spread)
    # The same for weights that are not alike: Σw²·σ².
    weights = weight_profile(spec("alibi"), 1000, head=4).weights
    (uneven,) = context_curves(spec("alibi"), [1000], head=4).concentration
    assert (values @ weights).var() == pytest.approx(9 * uneven, rel=spread)


def test_s47_the_position_is_readable_from_a_causal_mask() -> None:
    # Equal keys, and a value of 1 on the first token only: what comes out is that token's weight.
    places = np.arange(1, 5001)
    for link in ("nope", "causal"):
        first = context_curves(spec(link), places).first_weight
        np.testing.assert_allclose(first, 1 / places, rtol=1e-13)
        np.testing.assert_array_equal((1 / first).round(), places)
    table = spec("causal").encode(range(60))
    values = np.zeros((60, 4))
    values[0] = 1
    alike = np.ones((60, 8))
    mixed = output(table, alike, alike, values, is_causal=True)
    np.testing.assert_allclose(mixed[:, 0], first[:60], rtol=1e-13)
