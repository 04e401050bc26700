from __future__ import annotations

import math
import tracemalloc
from fractions import Fraction
from typing import Any

import ml_dtypes
import mpmath
import numpy as np
import pytest
import torch

from posviz.measures.bias_precision import bias_precision
from posviz.measures.distinct_positions import distinct_multiples, distinct_positions
from posviz.measures.precision import PrecisionLens, precision_lens
from posviz.measures.rounding import rounded, rounded_off_ties, spacing
from posviz.parameters import ParameterError

LADDER = 1e4 ** (-np.arange(64) / 64)
TORCH = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}
EDGES = [
    *(0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan, 256, 257, 258, 259, 2049, 65504, 65519),
    *(65520, 1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-11, 1 + 3 * 2.0**-11, 3.3895314e38, 3.4e38),
    *(2.0**-14, 2.0**-24, 2.0**-25, 1.5 * 2.0**-25, 2.0**-126, 2.0**-133, 2.0**-134, 1e-40, 1e-45),
]


def torch_cast(values: Any, dtype: str) -> Any:
    """torch's cast from float32; what float32 cannot hold gets an odd last bit there, so that
    torch does not take it for a tie and the two roundings are one."""
    exact = np.asarray(values, dtype=np.float64)
    short = exact.astype(np.float32)
    if dtype != "float32":
        short = np.where(np.abs(short) > np.abs(exact), np.nextafter(short, np.float32(0)), short)
        short = (short.view(np.uint32) | (short != exact)).view(np.float32)
    return torch.tensor(short).to(TORCH[dtype]).double().numpy()


def lens(length: int, stage: Any, dtype: str, **more: Any) -> PrecisionLens:
    return precision_lens(LADDER, length=length, stage=stage, dtype=dtype, **more)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_rounding_is_torch_s_and_ml_dtypes_bit_for_bit(dtype: str) -> None:
    random = np.random.default_rng(3).integers(0, 2**32, 200_000, dtype=np.uint32)
    values = np.append(random.view(np.float32), np.asarray(EDGES, dtype=np.float32))
    values = values[~np.isnan(values)]
    ours = rounded(values.astype(np.float64), dtype)
    torch_s = torch.tensor(values).to(TORCH[dtype]).double().numpy()
    assert np.array_equal(ours.view(np.uint64), torch_s.view(np.uint64))
    with np.errstate(over="ignore"):
        others = values.astype(getattr(ml_dtypes, dtype, dtype)).astype(np.float64)
    assert np.array_equal(ours.view(np.uint64), others.view(np.uint64))
    assert np.isnan(rounded(math.nan, dtype))


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_rounding_of_float64_is_the_cast_of_numpy(dtype: str) -> None:
    generator = np.random.default_rng(4)
    size = 10.0 ** generator.uniform(-50, 45, 200_000)
    values = np.append(size * generator.choice([-1, 1], size.size), EDGES)
    with np.errstate(over="ignore", under="ignore"):
        others = values.astype(dtype).astype(np.float64)
    assert np.array_equal(rounded(values, dtype), others, equal_nan=True)


def test_rounding_of_float64_to_bfloat16_is_the_nearest_by_fractions() -> None:
    values = np.random.default_rng(5).uniform(1, 2, 500)
    values[:3] = 1 + 2.0**-8, 1 + 2.0**-8 + 2.0**-40, 1 + 3 * 2.0**-8 - 2.0**-40
    # Between 1 and 2 the numbers of bfloat16 are the multiples of 2^-7; round() goes half to even.
    expected = [float(Fraction(round(Fraction(value) * 128), 128)) for value in values.tolist()]
    assert rounded(values, "bfloat16").tolist() == expected
    # By way of float32 the second one is rounded twice, to 1.
    assert expected[1] == 1.0078125
    assert torch.tensor(values[1]).to(torch.bfloat16).item() == 1.0
    assert np.array_equal(rounded(values, "float64"), values)
    assert rounded(3.3, "bfloat16").shape == ()


def test_known_roundings_and_spacings() -> None:
    assert rounded([256, 257, 258, 259, 4088], "bfloat16").tolist() == [256, 256, 258, 260, 4096]
    assert rounded([65504, 65519, 65520, -7e4], "float16").tolist() == [
        *(65504, 65504, math.inf, -math.inf)
    ]
    assert rounded(2.0**24 + 1, "float32") == 2.0**24
    assert [spacing(1.0, dtype) for dtype in ("bfloat16", "float16", "float32", "float64")] == [
        *(2.0**-7, 2.0**-10, 2.0**-23, 2.0**-52)
    ]
    assert spacing(4095, "bfloat16") == 16
    assert spacing(2048, "float16") == 2
    assert (spacing(7e4, "float16"), spacing(0, "float16")) == (math.inf, 0)


@pytest.mark.parametrize(
    ("dtype", "all_up_to"), [("bfloat16", 256), ("float16", 2048), ("float32", 2**24)]
)
def test_all_positions_stay_different_up_to_two_to_the_significand(
    dtype: str, all_up_to: int
) -> None:
    whole = distinct_positions(all_up_to + 1, dtype)
    assert (whole.kept, whole.first_merged, whole.overflowed) == (all_up_to + 1, None, 0)
    after = distinct_positions(all_up_to + 2, dtype)
    assert (after.kept, after.first_merged, after.gap) == (all_up_to + 1, all_up_to + 1, 2)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize(
    "length", [1, 2, 258, 259, 260, 513, 4096, 5000, 65505, 65506, 65520, 65521, 65536, 131072]
)
def test_distinct_positions_are_those_of_torch_s_cast(dtype: str, length: int) -> None:
    cast = torch_cast(np.arange(length), dtype)
    counted = distinct_positions(length, dtype)
    assert counted.kept == np.unique(cast).size
    assert counted.overflowed == np.isinf(cast).sum()
    merged = np.flatnonzero(cast[1:] == cast[:-1])
    assert counted.first_merged == (int(merged[0]) + 1 if merged.size else None)
    assert distinct_multiples(1.0, length, dtype) == counted


def test_distinct_positions_by_hand() -> None:
    # 0 … 255, then 128 numbers in each of 256 … 511, 512 … 1023, 1024 … 2047, 2048 … 4095; and
    # 4095 itself becomes 4096.
    counted = distinct_positions(4096, "bfloat16")
    assert counted.kept == 256 + 4 * 128 + 1
    assert counted.gap == 16
    assert distinct_positions(65521, "float16").overflowed == 1
    assert math.isinf(distinct_positions(65521, "float16").gap)


@pytest.mark.parametrize("step", [0.5, 0.866, 2.0**-5, 3.0, 7000.0])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_distinct_angles_are_those_of_torch_s_cast(step: float, dtype: str) -> None:
    length = 150_000
    cast = torch_cast(np.arange(length) * step, dtype)
    counted = distinct_multiples(step, length, dtype)
    assert counted.kept == np.unique(cast).size
    assert counted.overflowed == np.isinf(cast).sum()
    with np.errstate(invalid="ignore"):
        merged = np.flatnonzero(cast[1:] == cast[:-1])
    assert counted.first_merged == (int(merged[0]) + 1 if merged.size else None)


def torch_tables(positions: Any, stage: str, dtype: str, inv_freq: Any = LADDER) -> tuple[Any, ...]:
    def cast(values: Any, here: str) -> Any:
        return torch_cast(values, dtype) if stage == here else values

    angles = cast(cast(positions, "positions")[:, None] * cast(inv_freq, "inv_freq"), "angles")
    turned = torch.tensor(angles).cos(), torch.tensor(angles).sin()
    return tuple(cast(part.numpy(), "tables") for part in turned)


def torch_errors(length: int, stage: str, dtype: str, base: float = 1e4) -> Any:
    """Error of the score at every distance, from tables of every position."""
    inv_freq = base ** (-np.arange(64) / 64)
    positions = np.arange(length, dtype=np.float64)
    cast = torch_tables(positions, stage, dtype, inv_freq)
    exact = torch_tables(positions, "none", dtype, inv_freq)
    scores = [sum(part @ part[-1] for part in tables) / 64 for tables in (cast, exact)]
    return np.abs(scores[0] - scores[1])[::-1]


@pytest.mark.parametrize("stage", ["positions", "inv_freq", "angles", "tables"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
@pytest.mark.parametrize("length", [1, 2, 300, 4096, 5001])
def test_largest_errors_are_over_all_distances(length: int, stage: Any, dtype: str) -> None:
    measured = lens(length, stage, dtype, distances=[0])
    if dtype != "float64":
        errors = torch_errors(length, stage, dtype)
        assert measured.largest_score_error == pytest.approx(errors.max(), abs=1e-11)
        assert errors[measured.worst_distance] == pytest.approx(errors.max(), abs=1e-11)
    else:
        assert (measured.largest_score_error, measured.worst_distance) == (0, 0)
    tables = torch_errors(length, "tables", "bfloat16").max()
    assert measured.tables_error == pytest.approx(tables, abs=1e-11)
    assert measured.measured == measured.tables_measured == length


@pytest.mark.parametrize(
    ("base", "dtype", "length", "largest"),
    [
        (1e4, "bfloat16", 4096, 0.1508),
        (1e4, "float16", 32768, 0.242),
        (5e5, "float16", 32768, 0.144),
    ],
)
def test_cast_frequencies_are_worst_between_the_distances_of_the_curve(
    base: float, dtype: str, length: int, largest: float
) -> None:
    errors = torch_errors(length, "inv_freq", dtype, base)
    assert errors.max() == pytest.approx(largest, rel=5e-3)
    inv_freq = base ** (-np.arange(64) / 64)
    measured = precision_lens(inv_freq, length=length, stage="inv_freq", dtype=dtype)
    assert measured.largest_score_error == pytest.approx(errors.max(), abs=1e-10)
    assert measured.worst_distance == errors.argmax()
    assert measured.verdict == "fatal"
    # The curve shows what the verdict speaks of.
    assert np.abs(measured.score_errors).max() == pytest.approx(errors.max(), abs=1e-10)


@pytest.mark.parametrize("stage", ["positions", "inv_freq", "angles", "tables"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_scores_and_cos_errors_are_those_of_the_stage_run_in_torch(stage: str, dtype: str) -> None:
    length = 3000
    positions = np.arange(length, dtype=np.float64)
    cos, sin = torch_tables(positions, stage, dtype)
    scores = (cos @ cos[-1] + sin @ sin[-1])[::-1] / 64
    measured = lens(length, stage, dtype, distances=positions)
    np.testing.assert_allclose(measured.scores, scores, rtol=0, atol=1e-12)
    exact = np.cos(positions[:, None] * LADDER)
    np.testing.assert_allclose(measured.exact_scores, exact.mean(axis=1), rtol=0, atol=1e-12)
    errors = np.abs(scores - exact.mean(axis=1))
    assert measured.largest_score_error == pytest.approx(errors.max(), abs=1e-12)
    sample = np.append(np.rint(np.linspace(0, length - 1, 1024)).astype(int), np.arange(-1024, 0))
    np.testing.assert_allclose(
        measured.pair_errors, np.abs(cos - exact)[sample].max(axis=0), rtol=0, atol=1e-12
    )
    assert measured.largest_cos_error == measured.pair_errors.max()


def test_a_key_seven_tokens_back_is_seen_at_distance_0_in_bfloat16() -> None:
    # Both 4095 and 4088 become 4096.
    measured = lens(4096, "positions", "bfloat16", distances=[7])
    exact = mpmath.fsum(mpmath.cos(7 * mpmath.mpf(10) ** (-mpmath.mpf(i) / 16)) for i in range(64))
    assert measured.scores[0] == pytest.approx(1, abs=1e-15)
    assert measured.exact_scores[0] == pytest.approx(float(exact / 64), abs=1e-14)
    assert measured.largest_score_error == pytest.approx(1 - float(exact / 64), abs=1e-14)


def test_cast_angles_are_off_by_at_most_half_a_spacing() -> None:
    # (2^20-1)·0.866 lies between 2^19 and 2^20, where the numbers of float32 are 1/16 apart.
    errors = lens(2**20, "angles", "float32").pair_errors
    assert errors[0] == 0
    assert 0.03 < errors[1] <= 2.0**-5 + 1e-9
    # 8 bits of significand: at most 2^-8 of the angle, which only a power of two comes near.
    small = precision_lens([1e-3], length=100, stage="angles", dtype="bfloat16")
    assert 0 < small.pair_errors[0] < 0.099**2 * 2.0**-8


def test_tables_cost_at_most_half_the_spacing_below_one() -> None:
    for length in (4096, 2**20):
        measured = lens(length, "tables", "bfloat16")
        assert 0.9 * 2.0**-9 < measured.largest_cos_error <= 2.0**-9
        assert measured.largest_score_error == measured.tables_error < 2.0**-9


@pytest.mark.parametrize(
    ("length", "stage", "dtype", "stride"),
    [(2**16 + 1, "angles", "float32", 3), (2**17, "angles", "bfloat16", 5)],
)
def test_beyond_some_length_angles_are_measured_at_both_ends_and_evenly_between(
    length: int, stage: Any, dtype: str, stride: int
) -> None:
    errors = torch_errors(length, stage, dtype)
    measured = lens(length, stage, dtype, distances=[0])
    at = np.r_[:4096, 4096 : length - 4096 : stride, length - 4096 : length]
    assert measured.measured == at.size
    assert measured.largest_score_error == pytest.approx(errors[at].max(), abs=1e-9)
    assert errors[measured.worst_distance] == pytest.approx(errors[at].max(), abs=1e-9)
    assert measured.tables_measured == length
    assert f" over {at.size:,} of {length:,} distances, at distance " in measured.reason


def test_angles_and_tables_are_complete_up_to_the_lengths_named() -> None:
    for length, stage in ((2**16, "angles"), (2**17, "tables")):
        errors = torch_errors(length, stage, "bfloat16")
        measured = lens(length, stage, "bfloat16")
        assert measured.measured == length
        assert measured.largest_score_error == pytest.approx(errors.max(), abs=1e-9)
        assert measured.worst_distance == errors.argmax()
    longer = lens(2**20, "inv_freq", "float32")
    assert longer.measured == 2**20
    assert longer.tables_measured < 41_000
    assert longer.reason.endswith(f", over {longer.tables_measured:,} of 1,048,576 distances).")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32", "float64"])
def test_fast_rounding_of_cosines_is_the_slow_one(dtype: str) -> None:
    angles = np.random.default_rng(6).uniform(-1e6, 1e6, 300_000)
    # Some below the normal range of float16.
    values = np.append(np.cos(angles), np.append(np.sin(angles[:100] * 1e-11), [0.0, 1.0, -1.0]))
    fast = rounded_off_ties(values, dtype, out=np.empty((2, values.size)))
    assert np.array_equal(fast, rounded(values, dtype))


def test_bases_of_a_few_pairs_and_frequencies_of_any_sign_are_measured() -> None:
    for inv_freq in ([1.0], [-1.0, 0.3], [0.0, 0.0]):
        for stage in ("positions", "inv_freq", "angles", "tables"):
            measured = precision_lens(inv_freq, length=5000, stage=stage, dtype="bfloat16")
            positions = np.arange(5000.0)
            tables = torch_tables(positions, stage, "bfloat16", np.asarray(inv_freq))
            exact = torch_tables(positions, "none", "bfloat16", np.asarray(inv_freq))
            errors = sum(a @ a[-1] - b @ b[-1] for a, b in zip(tables, exact, strict=True))
            largest = np.abs(errors).max() / len(inv_freq)
            assert measured.largest_score_error == pytest.approx(largest, abs=1e-11)


F, H, B = "fatal", "harmful", "benign"


@pytest.mark.parametrize(
    ("stage", "dtype", "verdicts"),
    [
        ("positions", "bfloat16", (B, F, F, F, F)),
        ("positions", "float16", (B, B, F, F, F)),
        ("positions", "float32", (B, B, B, B, B)),
        ("inv_freq", "bfloat16", (H, H, F, F, F)),
        ("inv_freq", "float16", (H, H, H, F, F)),
        ("inv_freq", "float32", (B, B, B, B, B)),
        ("angles", "bfloat16", (H, F, F, F, F)),
        ("angles", "float16", (H, H, F, F, F)),
        ("angles", "float32", (B, B, B, B, B)),
        ("tables", "bfloat16", (B, B, B, B, B)),
        ("tables", "float16", (B, B, B, B, B)),
        ("tables", "float64", (B, B, B, B, B)),
    ],
)
def test_verdicts_at_256_2048_4096_32768_and_131072_tokens(
    stage: str, dtype: str, verdicts: tuple[str, ...]
) -> None:
    lengths = (256, 2048, 4096, 32768, 131072)
    assert tuple(lens(length, stage, dtype).verdict for length in lengths) == verdicts


def test_float32_angles_and_frequencies_show_at_a_million_tokens() -> None:
    assert lens(2**20, "angles", "float32").verdict == "harmful"
    assert lens(2**17, "inv_freq", "float32").verdict == "benign"
    assert lens(2**20, "inv_freq", "float32").verdict == "harmful"


def test_reason_of_equal_neighbours() -> None:
    assert lens(4096, "positions", "bfloat16", distances=[7]).reason == (
        "Of 4,096 positions 769 stay different in bfloat16: position 257 gets the number of 256, "
        "and at the end different numbers lie 16 tokens apart. The score is off by up to 0.27, at "
        "distance 7, more than 0.1 of the 1 at distance 0."
    )
    assert lens(4096, "angles", "float16").reason.startswith(
        "Of 4,096 angles of the fastest pair 3,073 stay different in float16: position 2,049 gets "
        "the number of 2,048, and at the end different numbers lie 2 tokens apart. The score is "
        "off by up to 0.08, at distance 262: "
    )


def test_reason_of_an_overflow_and_its_scores() -> None:
    measured = lens(65536, "positions", "float16", distances=[0, 40000])
    assert measured.verdict == "fatal"
    assert np.isnan(measured.scores).all()
    assert math.isinf(measured.largest_score_error)
    assert np.isinf(measured.pair_errors).all()
    assert measured.reason == (
        "float16 ends at 65504: positions become infinite from position 65,520 on (16 of 65,536), "
        "and their cos is no number. The score is no number, first at distance 0."
    )
    # 0.866·131071 overflows as well, 0.316·131071 does not.
    angles = lens(131072, "angles", "float16")
    assert np.isinf(angles.pair_errors[[0, 1, 4]]).all()
    assert np.isfinite(angles.pair_errors[5:]).all()
    assert angles.distinct is not None
    assert angles.distinct.overflowed == 131072 - 65520
    # A pair that does not turn has no angle at an infinite position either: ∞·0.
    still = precision_lens([1.0, 0.0], length=65536, stage="positions", dtype="float16")
    assert np.isinf(still.pair_errors).all()


def test_reasons_of_harmful_and_benign_casts() -> None:
    measured = lens(4096, "inv_freq", "float16")
    # 0.0457 / 0.000589
    assert measured.reason == (
        "The score is off by up to 0.046, at distance 3,985: 77.6 times what tables in bfloat16 "
        "cost (0.00059)."
    )
    assert lens(4096, "angles", "float32").reason.startswith(
        "All 4,096 angles of the fastest pair stay different in float32. The score is off by up to "
    )
    assert lens(4096, "tables", "bfloat16").reason.endswith(
        ", at most 2 times what tables in bfloat16 cost (0.00059)."
    )
    assert lens(2048, "positions", "float16").reason == (
        "All 2,048 positions are numbers of float16: the cast changes nothing."
    )
    assert lens(4096, "angles", "float64").reason == (
        "All is computed in float64: the cast changes nothing."
    )


def test_a_frequency_too_small_for_the_format_is_reported() -> None:
    # The smallest number of float16 is 2^-24; half of it and less become 0.
    slow = [1.0, 2.0**-25, 1e-9, 0.0]
    told = precision_lens(slow, length=100, stage="inv_freq", dtype="float16").reason
    assert told.startswith("2 pairs get the frequency 0 in float16. The score is off by up to ")
    told = precision_lens(slow[:2], length=100, stage="inv_freq", dtype="float16").reason
    assert told.startswith("1 pair gets the frequency 0 in float16.")


def test_a_pair_that_does_not_turn_has_no_error() -> None:
    still = precision_lens([0.0], length=100, stage="angles", dtype="bfloat16")
    assert (still.verdict, still.largest_score_error, still.distinct) == ("benign", 0, None)


def test_distances_are_spread_on_a_log_axis_from_0_to_the_first_token() -> None:
    at = lens(2**22, "positions", "float32").distances
    assert at[:12].tolist() == list(range(12))
    assert at[-1] == 2**22 - 1
    assert 200 < at.size <= 258
    assert lens(1, "tables", "bfloat16").distances.tolist() == [0]
    assert lens(2, "tables", "bfloat16").distances.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"length": 0}, "length must be a whole number of at least 1; got 0."),
        ({"stage": "cos"}, "one of positions, inv_freq, angles, tables; got 'cos'."),
        ({"dtype": "int8"}, "one of bfloat16, float16, float32, float64; got 'int8'."),
        ({"inv_freq": [1.0, math.inf]}, "one row of at least one finite number"),
        ({"inv_freq": [[1.0]]}, r"got an array of the shape \(1, 1\)."),
        ({"distances": [0.5]}, r"distances must be whole numbers from 0 to 99; got \[0.5\]."),
        ({"distances": [100]}, r"distances must be whole numbers from 0 to 99; got \[100\]."),
        ({"distances": []}, "distances must be whole numbers from 0 to 99"),
        ({"distances": [math.nan]}, "distances must be whole numbers from 0 to 99"),
    ],
)
def test_bad_values_are_named(changed: dict[str, Any], text: str) -> None:
    given: dict[str, Any] = {"inv_freq": [1.0], "length": 100, "stage": "angles"}
    with pytest.raises(ParameterError, match="^precision lens: .*" + text):
        precision_lens(**{**given, "dtype": "bfloat16", **changed})


def alibi(slope: float) -> Any:
    return lambda distance: -slope * distance


def weights(logits: Any) -> Any:
    terms = np.exp(logits - np.max(logits))
    return terms / terms.sum()


@pytest.mark.parametrize("stage", ["positions", "bias", "logits"])
@pytest.mark.parametrize("slope", [0.7, 2.0**-4, 1e-3])
def test_moved_weight_and_counts_are_those_of_the_whole_row(stage: Any, slope: float) -> None:
    # Longer than one part of the sum.
    length = 150_000
    distances = np.arange(length, dtype=np.float64)
    exact = -slope * distances + (1.0 if stage == "logits" else 0.0)
    if stage == "positions":
        keys = torch_cast(np.arange(length)[::-1].copy(), "bfloat16")
        cast = -slope * (keys[0] - keys)
    else:
        cast = torch_cast(exact, "bfloat16")
    measured = bias_precision(alibi(slope), length=length, stage=stage, dtype="bfloat16")
    moved = np.abs(weights(cast) - weights(exact)).sum() / 2
    assert measured.moved_weight == pytest.approx(moved, rel=1e-9, abs=1e-13)
    errors = np.abs(cast - exact)
    assert measured.largest_error == errors.max()
    assert measured.worst_distance == errors.argmax()
    assert measured.merged == np.count_nonzero(cast[1:] == cast[:-1])
    assert np.array_equal(measured.logits, cast[measured.distances.astype(int)])
    assert np.array_equal(measured.exact_logits, exact[measured.distances.astype(int)])


def test_steep_slope_loses_its_neighbours_with_cast_positions_and_not_with_a_cast_bias() -> None:
    positions = bias_precision(alibi(0.5), length=4096, stage="positions", dtype="bfloat16")
    assert positions.verdict == "fatal"
    # 4095 … 4088 become 4096, so that eight keys share the weight that e^(-d/2) gave them.
    assert positions.logits[:8].tolist() == [0] * 8
    # By hand: 0.393, 0.239, 0.145 at distances 0, 1, 2 against 1/8 each, and e^-4 from 8 on.
    assert positions.moved_weight == pytest.approx(0.420, abs=1e-3)
    assert positions.reason.endswith(" At equal content 42 % of the weight goes to other keys.")
    # At distance 2056 = 2048 + 8 the logit -1028 is half way between numbers 8 apart.
    bias = bias_precision(alibi(0.5), length=4096, stage="bias", dtype="bfloat16")
    assert (bias.largest_error, bias.worst_distance, bias.verdict) == (4, 2056, "benign")
    assert bias.reason == (
        "Logits are off by up to 4, at distance 2,056. 3,327 of 4,095 distances get the number of "
        "the one before. At equal content less than 0.01 % of the weight goes to other keys."
    )
    flat = bias_precision(alibi(2.0**-4), length=4096, stage="positions", dtype="float16")
    assert flat.verdict == "harmful"
    exact = bias_precision(alibi(0.5), length=2048, stage="positions", dtype="float16")
    assert (exact.verdict, exact.reason) == ("benign", "The cast to float16 changes no logit.")


def test_a_large_content_costs_the_logits_their_small_bias() -> None:
    # Near 256 the numbers of bfloat16 are 2 apart above and 1 below: slopes of 1/64 are lost.
    measured = bias_precision(
        alibi(2.0**-6), length=1024, stage="logits", dtype="bfloat16", content=256.0
    )
    assert measured.logits[:20].tolist() == [256] * 20
    assert measured.verdict == "fatal"
    assert measured.reason.startswith("A logit is here a content of 256 plus the bias. Logits are ")
    short = bias_precision(alibi(0.5), length=9, stage="logits", dtype="float16")
    assert short.reason == (
        "A logit is here a content of 1 plus the bias. The cast to float16 changes no logit."
    )


def test_overflowing_biases_mask_their_keys_and_overflowing_positions_are_fatal() -> None:
    masked = bias_precision(alibi(1.0), length=65536, stage="bias", dtype="float16")
    assert (masked.overflowed, masked.verdict) == (16, "benign")
    assert masked.logits[-1] == -math.inf
    assert math.isinf(masked.largest_error)
    assert masked.reason.startswith("16 of 65,536 logits overflow float16. ")
    lost = bias_precision(alibi(1.0), length=65536, stage="positions", dtype="float16")
    assert (lost.verdict, lost.overflowed) == ("fatal", 65536)
    assert np.isnan(lost.moved_weight)
    assert lost.reason == (
        "65,536 of 65,536 logits overflow float16. No softmax can be taken of them."
    )


def test_keys_outside_a_window_stay_outside() -> None:
    def windowed(distance: Any) -> Any:
        return np.where(distance < 10, -0.5 * distance, -np.inf)

    measured = bias_precision(windowed, length=1000, stage="bias", dtype="bfloat16")
    assert (measured.largest_error, measured.overflowed, measured.merged) == (0, 0, 0)
    assert measured.moved_weight == 0


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"stage": "angles"}, "stage must be one of positions, bias, logits; got 'angles'."),
        ({"dtype": "fp8"}, "dtype must be one of bfloat16, float16, float32, float64; got 'fp8'."),
        ({"content": math.inf}, "content must be a finite number; got inf."),
        ({"length": 0}, "length must be a whole number of at least 1; got 0."),
    ],
)
def test_bad_values_of_the_bias_are_named(changed: dict[str, Any], text: str) -> None:
    given: dict[str, Any] = {"length": 100, "stage": "bias", "dtype": "bfloat16", **changed}
    with pytest.raises(ParameterError, match="^bias precision: " + text):
        bias_precision(alibi(1.0), **given)


def test_four_million_tokens_take_little_memory() -> None:
    tracemalloc.start()
    lens(2**22, "angles", "bfloat16")
    lens(2**22, "positions", "bfloat16")
    bias_precision(alibi(1e-6), length=2**22, stage="bias", dtype="bfloat16")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 30e6
