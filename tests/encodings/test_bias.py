"""Laws, limiting cases and printed facts of the biases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from spec_strategies import variants

import posviz
from posviz import ParameterError
from posviz.attention import weights
from posviz.encodings.bias import BiasEncoding
from posviz.encodings.buckets import t5_bucket
from posviz.encodings.fire_rule import psi
from posviz.encodings.slopes import alibi_slopes

FAMILY = [encoding for encoding in posviz.catalog() if issubclass(encoding, BiasEncoding)]
SPECS = [spec for encoding in FAMILY for spec in variants(encoding)]
every_spec = pytest.mark.parametrize("spec", SPECS, ids=posviz.link)
AT = np.asarray([0.0, 1, 2, 3, 7, 20, 21, 150])


def spec(link: str) -> Any:
    return posviz.parse(link)


def at_equal_content(result: Any) -> np.ndarray:
    """Weights where q·k is the same for all keys: what the bias alone does."""
    return weights(result, *np.zeros((2, len(result.positions), 4)))


@every_spec
def test_weights_do_not_move_with_the_sequence_unless_it_is_said(spec: Any) -> None:
    here, there = (at_equal_content(spec.encode(AT + shift)) for shift in (0.0, 1000.0))
    np.testing.assert_allclose(here.sum(-1), 1, rtol=1e-12)
    if spec.id == "fire":
        assert np.abs(here - there).max() > 1e-4
    else:
        np.testing.assert_allclose(here, there, rtol=1e-9, atol=1e-12)


@every_spec
def test_toeplitz_says_whether_the_matrix_is_one(spec: Any) -> None:
    matrix = spec.encode(np.arange(600.0, 616.0)).matrix
    is_one = np.allclose(matrix[:, 1:, 1:], matrix[:, :-1, :-1], rtol=1e-12, atol=1e-12)
    assert is_one == spec.is_toeplitz


@every_spec
def test_later_keys_have_no_weight_exactly_where_the_spec_is_causal(spec: Any) -> None:
    found = at_equal_content(spec.encode(AT))
    later = np.triu(np.ones((len(AT), len(AT)), dtype=bool), 1)
    assert (found[:, later] == 0).all() == spec.is_causal_only


def test_s27_alibi_slopes() -> None:
    np.testing.assert_array_equal(alibi_slopes(8), 2.0 ** -np.arange(1, 9))
    np.testing.assert_allclose(alibi_slopes(16)[:3], [0.707107, 0.5, 0.353553], atol=5e-7)
    twelve = [*(2.0 ** -np.arange(1, 9)), 0.707107, 0.353553, 0.176777, 0.088388]
    np.testing.assert_allclose(alibi_slopes(12), twelve, atol=5e-7)


@pytest.mark.parametrize(
    ("head", "half", "window", "entropy"),
    [
        pytest.param(0, 1.3863, 10, 1.7035, id="1/2"),
        pytest.param(7, 177.45, 1179, 6.5452, id="1/256"),
    ],
)
@pytest.mark.parametrize("context", [6000, 8000])
def test_s28_alibi_reach_does_not_grow_with_the_context(
    head: int, half: float, window: int, entropy: float, context: int
) -> None:
    result = spec("alibi").encode([*range(context)])
    digits = len(str(half).partition(".")[2])
    assert round(math.log(2) / float(result.slopes[head]), digits) == half
    row = result.by_distance[head, context - 1 :]
    share = np.exp(row) / np.exp(row).sum()
    assert int(np.searchsorted(np.cumsum(share), 0.99)) + 1 == window
    # Farther shares are too small for a float64.
    share = share[share > 0]
    assert round(float(-(share * np.log(share)).sum()), 4) == entropy


def test_alibi_s_forms_give_the_same_weights_where_they_mean_the_same() -> None:
    causal, key_only = (
        at_equal_content(spec(f"alibi?form={f}").encode(AT)) for f in ("causal", "key_only")
    )
    np.testing.assert_allclose(causal, key_only, rtol=1e-12)
    both = spec("alibi?form=symmetric").encode(AT).matrix
    np.testing.assert_array_equal(both, np.swapaxes(both, 1, 2))
    np.testing.assert_array_equal(np.tril(both), np.tril(spec("alibi").encode(AT).matrix))


def test_alibi_heads_without_slope_have_no_bias() -> None:
    some = spec("alibi?heads=12&biased_heads=4").encode(AT)
    np.testing.assert_array_equal(some.matrix[:4], spec("alibi?heads=4").encode(AT).matrix)
    assert not some.matrix[4:].any()
    assert not some.slopes[4:].any()
    with pytest.raises(ParameterError) as caught:
        spec("alibi?heads=4&biased_heads=5")
    assert str(caught.value) == "ALiBi: biased_heads must be at most heads, which is 4; got 5."


@pytest.mark.parametrize(
    ("link", "starts"),
    [
        pytest.param("t5", [*range(8), 8, 12, 16, 23, 32, 46, 64, 91], id="S29-encoder"),
        pytest.param(
            "t5?bidirectional=false",
            [*range(16), 16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113],
            id="S45-decoder",
        ),
    ],
)
def test_s29_s45_where_t5_buckets_start(link: str, starts: list[int]) -> None:
    stairs = spec(link).encode(range(300)).staircase
    behind = stairs.buckets[stairs.distances >= 0]
    np.testing.assert_array_equal(np.unique(behind, return_index=True)[1], starts)
    ahead = stairs.buckets[stairs.distances < 0][::-1]
    if link == "t5":
        # The other half of the buckets, in the same order; its bucket 16 is never used.
        np.testing.assert_array_equal(ahead, 16 + behind[1:])
    else:
        assert not ahead.any()


def test_t5_bands_double_every_two_buckets_in_an_encoder() -> None:
    starts = np.asarray([8, 16, 32, 64])
    stairs = spec("t5").encode(range(200)).staircase
    buckets = stairs.buckets[stairs.distances >= 0][starts]
    np.testing.assert_array_equal(np.diff(buckets), 2)


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize(("count", "largest"), [(32, 128), (8, 20), (320, 800), (4, 3), (6, 1000)])
def test_numpy_and_torch_agree_on_every_edge_of_a_bucket(
    count: int, largest: int, bidirectional: bool
) -> None:
    relative = np.arange(-5000, 5001)
    expected = t5_bucket(
        relative, bidirectional=bidirectional, num_buckets=count, max_distance=largest
    )
    assert expected.dtype == np.int64
    assert expected.max() == count - 1
    for given in (relative.astype(np.float32), torch.tensor(relative, dtype=torch.float32)):
        found = t5_bucket(
            given, bidirectional=bidirectional, num_buckets=count, max_distance=largest
        )
        np.testing.assert_array_equal(np.asarray(found), expected)


@pytest.mark.parametrize(
    ("link", "message"),
    [
        (
            "t5?num_buckets=3",
            "T5 bias: num_buckets must be at least 4 while bidirectional is true; got 3.",
        ),
        (
            "t5?max_distance=8",
            "T5 bias: max_distance must be above 8, the distances that have a bucket each with "
            "num_buckets 32; got 8.",
        ),
        (
            "sandwich?bias_dim=7",
            "Sandwich: bias_dim must be even, two for each cosine of base; got 7.",
        ),
        (
            "kerple_power?power=2.5",
            "KERPLE (power): power must be a number above 0 and at most 2, or left out; got 2.5.",
        ),
    ],
)
def test_values_that_cannot_be_used_are_named(link: str, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        spec(link)
    assert str(caught.value) == message


def test_toeplitz_can_be_any_other_bias_up_to_its_largest_distance() -> None:
    alibi = spec("alibi?form=symmetric").encode(np.arange(9.0))
    table = np.moveaxis(alibi.by_distance, 0, 1)
    given = spec("toeplitz?largest_distance=8").encode(range(9), parameters={"table": table})
    np.testing.assert_array_equal(given.matrix, alibi.matrix)
    beyond = spec("toeplitz?largest_distance=8").encode(range(30), parameters={"table": table})
    np.testing.assert_array_equal(
        beyond.matrix[:, 29, :22], -8 * alibi.slopes[:, None] + np.zeros(22)
    )


def test_tisa_s_code_reads_the_curve_mirrored_and_one_off() -> None:
    paper, code = (
        spec(f"tisa?reading={reading}").encode(range(-20, 21))
        for reading in ("paper", "repository")
    )
    # o = -δ on one side, o = δ - 1 on the other.
    by_offset = paper.by_distance[:, ::-1]
    np.testing.assert_allclose(code.by_distance[:, 1:], by_offset[:, :-1], rtol=1e-12)


def test_tisa_s_bump_is_as_high_as_its_amplitude_at_its_centre() -> None:
    one = {
        "kernel_offsets": np.full((1, 1), -3.0),
        "kernel_amplitudes": np.full((1, 1), 0.7),
        "kernel_sharpness": np.full((1, 1), -math.log(2)),
    }
    result = spec("tisa?heads=1&kernels=1").encode(range(8), parameters=one)
    row = result.matrix[0, 5]
    np.testing.assert_allclose(row[1:4], [0.35, 0.7, 0.35])


def test_kerple_with_power_1_is_alibi() -> None:
    slopes = {"a": alibi_slopes(8), "p": np.ones(8)}
    slopes["a"] = np.maximum(slopes["a"], 0.01)
    ours = spec("kerple_power").encode(AT, parameters=slopes).matrix
    expected = -slopes["a"][:, None, None] * np.tril(AT[:, None] - AT[None, :])
    np.testing.assert_allclose(ours, expected, rtol=1e-13)


def test_kerple_log_is_a_power_law_of_weights_and_linear_near_0() -> None:
    given = {"r1": np.asarray([2.0]), "r2": np.asarray([1.0])}
    result = spec("kerple_log?heads=1").encode(range(2000), parameters=given)
    row = np.exp(result.by_distance[0, 1999:])
    np.testing.assert_allclose(row[[1, 9, 99]], [1 / 4, 1 / 100, 1 / 10000], rtol=1e-12)
    near = {"r1": np.asarray([10.0]), "r2": np.asarray([0.01])}
    straight = spec("kerple_log?heads=1").encode([0, 1], parameters=near).matrix[0, 1, 0]
    assert straight == pytest.approx(-0.1, rel=0.01)


def test_nemo_s_power_inside_the_logarithm_starts_as_the_paper_s_kernel() -> None:
    plain, nemo = (
        spec(f"kerple_log?extra_power={on}").encode(AT).matrix for on in ("false", "true")
    )
    np.testing.assert_allclose(plain, nemo, rtol=1e-14)


@pytest.mark.parametrize(("power", "is_kernel"), [(0.5, True), (1, True), (2, True), (2.5, False)])
def test_minus_a_power_of_the_distance_is_a_kernel_up_to_2(power: float, is_kernel: bool) -> None:
    at = np.arange(12.0)
    apart = np.abs(at[:, None] - at[None, :])
    if is_kernel:
        ours = spec(f"kerple_power?heads=1&power={power}&bidirectional=true")
        matrix = ours.encode(at, parameters={"a": np.ones(1)}).matrix[0]
    else:
        matrix = -(apart**power)
    # Conditionally positive definite: no negative direction among those that sum to 0.
    centring = np.eye(12) - 1 / 12
    least = float(np.linalg.eigvalsh(centring @ matrix @ centring)[0])
    assert (least > -1e-9) == is_kernel


def test_kerple_keeps_learned_numbers_in_the_authors_bounds() -> None:
    wild = {"a": np.asarray([-1.0, 0.5]), "p": np.asarray([0.0, 9.0])}
    kept = {"a": np.asarray([0.01, 0.5]), "p": np.asarray([0.01, 2.0])}
    ours, expected = (
        spec("kerple_power?heads=2").encode(AT, parameters=one).matrix for one in (wild, kept)
    )
    np.testing.assert_array_equal(ours, expected)


def test_s30_sandwich_at_distance_1() -> None:
    result = spec("sandwich?heads=8").encode([0, 1])
    assert round(float(result.matrix[0, 1, 0]), 4) == -1.4466
    assert not np.diagonal(result.matrix, axis1=1, axis2=2).any()
    np.testing.assert_allclose(result.matrix[:, 1, 0] * np.arange(1, 9), result.matrix[0, 1, 0])


def test_sandwich_is_the_product_of_sinusoidal_vectors() -> None:
    vectors = spec("sinusoidal?model_dim=128").encode(AT).vectors
    products = vectors @ vectors.T - 64
    ours = spec("sandwich?heads=8&counted_from=zero&bidirectional=true").encode(AT).matrix[0]
    np.testing.assert_allclose(ours, products, rtol=1e-12, atol=1e-11)


def test_sandwich_wobbles_around_a_logarithm() -> None:
    distance = np.arange(10.0, 3000.0)
    ours = spec("sandwich?heads=8").bias(distance, {})[0]
    logarithm = -64 / math.log(1e4) * (np.log(distance) + np.euler_gamma)
    assert abs((ours - logarithm).mean()) < 1
    assert np.abs(ours - logarithm).max() < 12
    assert (np.diff(ours) > 0).any()


def test_s31_fire_normaliser() -> None:
    far = psi(np.asarray([10.0, 256.0, 512.0]), 0.1)
    np.testing.assert_array_equal(np.round(far[:2] / far[2], 5), [0.17525, 0.82954])


@pytest.mark.parametrize("count", [8, 512, 3000])
def test_s31_fire_normalised_distance_stays_below_1(count: int) -> None:
    positions = np.linspace(0, 10 * count, 50).round()
    normalised = spec("fire").encode(positions).maps["normalised distance"]
    assert normalised.min() == 0
    assert normalised.max() < 1


def test_fire_depends_on_the_distance_only_below_its_threshold() -> None:
    matrix = spec("fire?initial_threshold=10").encode(range(20)).matrix[0]
    for distance in (1, 5):
        along = np.diagonal(matrix, -distance)
        np.testing.assert_allclose(along[: 11 - distance], along[0], rtol=1e-12)
        assert abs(along[-1] - along[0]) > 1e-3


def test_mlp_bias_with_logarithm_is_the_same_network_of_another_number() -> None:
    at = np.sign(AT) * (np.exp(AT / 50) - 1)
    plain = spec("mlp_bias").bias(AT / 50, spec("mlp_bias").parts(None, AT))
    log = spec("mlp_bias?log_distance=true").bias(at, spec("mlp_bias").parts(None, AT))
    np.testing.assert_allclose(plain, log, rtol=1e-9, atol=1e-12)


def test_forgetting_with_equal_gates_is_alibi() -> None:
    chosen = spec("forgetting?heads=2&model_dim=3")
    slopes = np.asarray([0.5, 0.25])
    bias = -np.log(np.exp(slopes) - 1)  # σ(b) = e^-slope
    gates = {"to_forget_gates.0.weight": np.zeros((2, 3)), "to_forget_gates.0.bias": bias}
    result = chosen.encode(range(6), parameters=gates)
    expected = spec("alibi?heads=2").encode(range(6)).matrix * slopes[:, None, None]
    expected = expected / alibi_slopes(2)[:, None, None]
    np.testing.assert_allclose(result.matrix, expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(result.curves["gate of head 1"], math.exp(-0.5))


def test_a_closed_gate_hides_what_came_before_it() -> None:
    inputs = np.zeros((6, 1))
    inputs[3] = -1.0
    gates = {"to_forget_gates.0.weight": [[80.0]], "to_forget_gates.0.bias": [40.0]}
    result = spec("forgetting?heads=1&model_dim=1").encode(
        range(6), inputs=inputs, parameters=gates
    )
    seen = at_equal_content(result)[0] > 1e-9
    np.testing.assert_array_equal(seen[5], [0, 0, 0, 1, 1, 1])
    np.testing.assert_array_equal(seen[2], [1, 1, 1, 0, 0, 0])


def test_forgetting_names_the_axes_of_its_inputs() -> None:
    with pytest.raises(ParameterError) as caught:
        spec("forgetting").encode(range(3), inputs=np.zeros((3, 5)))
    assert str(caught.value) == (
        "Forgetting attention (data-dependent ALiBi): inputs must have the axes (3 positions, "
        "64 model dimensions); got (3, 5)."
    )


def test_parameters_of_a_bias_that_learns_nothing_are_refused() -> None:
    with pytest.raises(ParameterError, match="ALiBi: there are no learned parameters"):
        spec("alibi").encode([0, 1], parameters={"slopes": [1.0]})
