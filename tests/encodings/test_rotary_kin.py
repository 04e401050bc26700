"""Laws and printed facts of rotary encodings beyond one axis, and of the shift as a linear map.

Facts carry their number in the project's list (S05, S06, S25, S26, S48, S50, S52).
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spec_strategies import specs, variants

import posviz
from posviz import ParameterError
from posviz.attention import logits, output, weights
from posviz.encodings.axial import AxialEncoding
from posviz.encodings.position_ids import vision_text_ids
from posviz.encodings.rotary import RotaryFamily
from posviz.measures import shift_error
from posviz.results import Rotation

KIN = [posviz.get(one) for one in ("xpos", "vo_rope", "irope", "radix")]
AXIAL = [encoding for encoding in posviz.catalog() if issubclass(encoding, AxialEncoding)]
AXIAL_SPECS = [spec for encoding in AXIAL for spec in variants(encoding)]
ALL = [*KIN, *AXIAL]
every_axial_spec = pytest.mark.parametrize("spec", AXIAL_SPECS, ids=posviz.link)
drawn = settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)


def vectors_for(spec: Any, count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    queries, keys = np.random.default_rng(seed).standard_normal((2, count, spec.head_dim))
    return queries, keys


@pytest.mark.parametrize("encoding", ALL, ids=lambda encoding: encoding.id)
@drawn
@given(data=st.data())
def test_rotation_keeps_length_and_leaves_the_tail(encoding: Any, data: Any) -> None:
    spec = data.draw(specs(encoding))
    assert isinstance(spec, RotaryFamily)
    result = spec.encode(spec.example_positions(6))
    assert isinstance(result, Rotation)
    vectors, _ = vectors_for(spec, len(result.positions))
    turned = result.rotate(vectors)
    head = result.rotary_dim
    assert head == 2 * len(result.inv_freq) <= spec.head_dim
    np.testing.assert_allclose(
        np.linalg.norm(turned[:, :head], axis=1),
        np.linalg.norm(vectors[:, :head], axis=1),
        rtol=1e-12,
    )
    np.testing.assert_array_equal(turned[:, head:], vectors[:, head:])


@every_axial_spec
def test_logits_depend_on_the_distance_along_each_axis_only(spec: Any) -> None:
    places = spec.example_positions(12)
    queries, keys = vectors_for(spec, len(places))
    here = logits(spec.encode(places), queries, keys)
    shift = np.arange(1.0, 1 + places.shape[1]) * 0.25
    there = logits(spec.encode(places + shift), queries, keys)
    np.testing.assert_allclose(there, here, rtol=1e-9, atol=1e-9)
    # And they do depend on it: another place for one token is another row.
    moved = places.copy()
    moved[0] += 1.0
    assert np.abs(logits(spec.encode(moved), queries, keys) - here)[0, 1:].max() > 1e-3


@every_axial_spec
def test_speed_of_a_pair_is_its_length_over_the_axes(spec: Any) -> None:
    result = spec.encode(spec.example_positions(12))
    length = np.sqrt((result.axis_freq**2).sum(axis=0))
    np.testing.assert_allclose(result.inv_freq, length, rtol=1e-14)
    if not spec.is_learned:
        # Each pair turns with one axis.
        assert ((result.axis_freq != 0).sum(axis=0) == 1).all()


@pytest.mark.parametrize("encoding", AXIAL, ids=lambda encoding: encoding.id)
@pytest.mark.parametrize("given_shape", ["row", "wide", "far"])
def test_coordinates_of_another_shape_give_one_sentence(encoding: Any, given_shape: str) -> None:
    axes = len(encoding.axis_names)
    bad = {
        "row": np.arange(6.0),
        "wide": np.zeros((4, axes + 1)),
        "far": np.full((2, axes), 2.0**60),
    }[given_shape]
    with pytest.raises(ParameterError) as caught:
        encoding().encode(bad)
    if given_shape == "far":
        assert str(caught.value).startswith(f"{encoding.title}: positions must be at most 2^53")
    else:
        assert str(caught.value) == (
            f"{encoding.title}: positions must be rows of {axes} coordinates "
            f"({', '.join(encoding.axis_names)}); got the shape {bad.shape}."
        )


def test_grid_is_known_where_positions_walk_through_it() -> None:
    spec = posviz.get("rope_2d")()
    points = spec.grid_points(3, 5)
    assert spec.encode(points).grid == (3, 5)
    assert spec.encode(points[::-1]).grid == ()
    assert spec.encode(points[:-1]).grid == ()
    assert posviz.get("rope_3d")().encode(posviz.get("rope_3d")().grid_points(2, 3, 4)).grid == (
        2,
        3,
        4,
    )


def test_axial_score_is_a_sum_over_axes_and_the_mixed_one_is_not() -> None:
    """z(y, x) = f(y) + g(x) for given q and k, so that the corners of a rectangle cancel."""
    corners = np.asarray([[0.0, 0.0], [3.0, 0.0], [0.0, 2.0], [3.0, 2.0]])
    query, key = np.random.default_rng(4).standard_normal((2, 1, 16)) * np.ones((2, 4, 1))

    def leftover(link: str) -> float:
        scores = logits(posviz.parse(link).encode(corners), query, key)
        return float(abs(scores[0, 0] - scores[0, 1] - scores[0, 2] + scores[0, 3]))

    assert leftover("rope_2d?head_dim=16&base=10") < 1e-12
    assert leftover("rope_2d_mixed?head_dim=16") > 0.1


def test_class_token_of_a_grid_from_one_does_not_rotate() -> None:
    spec = posviz.get("rope_2d")(**posviz.get("rope_2d").profiles["Llama 4 (vision), torchtune"])
    result = spec.encode(spec.grid_points(2, 2))
    np.testing.assert_array_equal(result.angles[-1], 0.0)
    assert (result.angles[:-1, 0] > 0).all()


def test_mixed_rotation_with_parameters_of_the_axial_form_is_that_form() -> None:
    axial = posviz.parse("rope_2d?head_dim=16&base=10&first_axis=column&layout=interleaved")
    mixed = posviz.parse("rope_2d_mixed?head_dim=16&heads=2&shown_head=1")
    places = axial.grid_points(3, 4)
    along_y, along_x = axial.encode(places).axis_freq
    frequencies = np.stack((np.stack((0 * along_x, along_x)), np.stack((0 * along_y, along_y))))
    result = mixed.encode(places, parameters={"frequencies": frequencies})
    np.testing.assert_allclose(result.angles, axial.encode(places).angles, rtol=1e-14)


@pytest.mark.parametrize(
    ("link", "message"),
    [
        (
            "m_rope?mrope_section=16,24,20",
            "M-RoPE: mrope_section must be 3 whole numbers (time, row, column) that add up to half "
            "of head_dim, 64; got 16, 24, 20.",
        ),
        (
            "rope_3d?sections=16.5,16,15.5",
            "RoPE-3D: sections must be 3 whole numbers (time, row, column) that add up to half "
            "of head_dim, 48; got 16.5, 16, 15.5.",
        ),
        (
            "m_rope?frames=256&rows=256&columns=2",
            "M-RoPE: frames times rows times columns must be at most 8192 tokens; got frames 256, "
            "rows 256 and columns 2.",
        ),
        ("irope?layer=48", "iRoPE: layer must be below layers, which is 48; got layer 48."),
        (
            "rope_2d_mixed?shown_head=6",
            "RoPE-2D, mixed: shown_head must be below heads, which is 6; got shown_head 6.",
        ),
        (
            "xpos?head_dim=9",
            "xPos: head_dim must be even, since every layout joins dimensions in pairs; got "
            "head_dim 9.",
        ),
    ],
)
def test_values_that_do_not_go_together_give_one_sentence(link: str, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        posviz.parse(link)
    assert str(caught.value) == message


# --- M-RoPE -------------------------------------------------------------------------------------


@pytest.mark.parametrize("arrangement", ["blocked", "interleaved"])
def test_s48_equal_ids_give_rope_exactly(arrangement: str) -> None:
    spec = posviz.get("m_rope")(arrangement=arrangement)
    assert sum(spec.mrope_section) == 16 + 24 + 24 == spec.pairs == 64
    at = np.asarray([0.0, 1.0, 7.0, 4095.0, 123456.0])
    ours = spec.encode(np.repeat(at[:, None], 3, axis=1))
    plain = posviz.get("rope")(base=1e6).encode(at)
    np.testing.assert_array_equal(ours.angles, plain.angles)
    np.testing.assert_array_equal(ours.inv_freq, plain.inv_freq)


def test_sections_of_the_released_models() -> None:
    profiles = posviz.get("m_rope").profiles
    blocked = posviz.get("m_rope")(**profiles["Qwen2-VL"]).pair_axes()
    np.testing.assert_array_equal(blocked, [0] * 16 + [1] * 24 + [2] * 24)
    interleaved = posviz.get("m_rope")(**profiles["Qwen3-VL"]).pair_axes()
    np.testing.assert_array_equal(interleaved[:9], [0, 1, 2] * 3)
    np.testing.assert_array_equal(np.bincount(interleaved), [24, 20, 20])
    np.testing.assert_array_equal(interleaved[-4:], 0)


def test_ids_of_text_count_on_behind_an_image() -> None:
    spec = posviz.get("m_rope")(text_before=2, rows=2, columns=3)
    result = spec.encode(spec.example_positions(10))
    np.testing.assert_array_equal(result.strips["time"], [0, 1, 2, 2, 2, 2, 2, 2, 5, 6])
    np.testing.assert_array_equal(result.strips["row"], [0, 1, 2, 2, 2, 3, 3, 3, 5, 6])
    np.testing.assert_array_equal(result.strips["column"], [0, 1, 2, 3, 4, 2, 3, 4, 5, 6])


def test_text_after_a_long_video_overlaps_it_in_code_and_not_in_the_paper() -> None:
    segments = [("text", 1), ("video", (6, 2, 2)), ("text", 1)]
    code = vision_text_ids(segments, spatial_merge_size=1)
    paper = vision_text_ids(segments, spatial_merge_size=1, after_vision="paper")
    assert code.ids[-1].tolist() == [3, 3, 3]
    assert paper.ids[-1].tolist() == [7, 7, 7]
    assert code.next_text_delta == 6 + 1 - 26
    assert paper.next_text_delta == 7 + 1 - 26


def test_time_of_a_video_is_cut_to_whole_ids_and_an_image_has_none() -> None:
    segments = [("video", (4, 1, 1)), ("image", (1, 1, 1))]
    found = vision_text_ids(
        segments, spatial_merge_size=1, second_per_grid=0.75, tokens_per_second=2
    )
    # 0, 1.5, 3 and 4.5; the image starts behind one row and column.
    assert found.ids[:, 0].tolist() == [0, 1, 3, 4, 1]


def test_left_padding_has_ids_of_zero_and_does_not_count() -> None:
    plain = vision_text_ids([("text", 3)])
    padded = vision_text_ids([("text", 3)], left_padding=2)
    assert padded.ids[:, 0].tolist() == [0, 0, 0, 1, 2]
    assert plain.next_text_delta == padded.next_text_delta == 0
    assert vision_text_ids([]).ids.shape == (0, 3)


@pytest.mark.parametrize(
    ("segment", "message"),
    [
        (("sound", 3), "position ids: a segment must be text, image or video; got 'sound'."),
        (
            ("image", (1, 3, 4)),
            "position ids: rows and columns of patches must be multiples of the "
            "spatial_merge_size 2; got image (1, 3, 4).",
        ),
    ],
)
def test_segments_that_cannot_be_counted_give_one_sentence(segment: Any, message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        vision_text_ids([segment])
    assert str(caught.value) == message


# --- xPos ---------------------------------------------------------------------------------------


def test_s25_zeta_of_the_first_and_the_last_pair() -> None:
    zeta = posviz.get("xpos")().zeta(xp=np)
    assert round(float(zeta[0]), 6) == 0.285714
    assert zeta[0] == pytest.approx(2 / 7, rel=1e-15)
    assert round(float(zeta[-1]), 6) == 0.988839
    result = posviz.get("xpos")().encode([0.0, 512.0])
    np.testing.assert_allclose(result.decay**512, zeta, rtol=1e-12)


def test_s26_sum_of_cosines_with_and_without_the_decay() -> None:
    curves = posviz.get("xpos")().encode([0.0, 1024.0]).curves
    faded, plain = curves["Σ cos, faded (xPos)"], curves["Σ cos (RoPE)"]
    assert faded[0] == plain[0] == 64
    assert round(float(faded[1]), 4) == 10.8139
    assert round(float(plain[1]), 4) == 13.0843


@pytest.mark.parametrize("layout", ["half_split", "interleaved"])
def test_xpos_logit_is_the_rotated_one_faded_by_its_distance(layout: str) -> None:
    """Pair by pair: the factor on pair i is ζ_i^(δ/B), wherever the two tokens stand."""
    spec = posviz.get("xpos")(head_dim=8, scale_base=4.0, layout=layout)
    at = np.asarray([3.0, 5.0, 11.0])
    result = spec.encode(at)
    for pair in range(4):
        one = np.zeros((3, 8))
        first = pair if layout == "half_split" else 2 * pair
        one[:, first] = 1.0
        products = result.rotate_queries(one) @ result.rotate_keys(one).T
        distance = at[:, None] - at[None, :]
        expected = np.cos(distance * result.inv_freq[pair]) * result.decay[pair] ** distance
        np.testing.assert_allclose(products, expected, rtol=1e-12)


@pytest.mark.parametrize("shift", [1.0, 500.0])
def test_xpos_centre_and_common_shift_cancel_in_logits(shift: float) -> None:
    at = np.arange(9.0)
    queries, keys = vectors_for(posviz.get("xpos")(), 9)
    expected = logits(posviz.get("xpos")().encode(at), queries, keys)
    for centre in ("ceil", "floor", "zero"):
        found = logits(posviz.get("xpos")(centre=centre).encode(at + shift), queries, keys)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_xpos_is_causal_only_because_it_grows_beyond_the_query() -> None:
    result = posviz.get("xpos")().encode(np.asarray([0.0, 512.0, 4096.0, 16384.0]))
    ones = np.zeros((4, 128))
    ones[:, 0] = 1.0
    products = np.abs(result.rotate_queries(ones) @ result.rotate_keys(ones).T)
    # The fastest pair keeps 2/7 per 512 tokens, and gains 7/2 the other way.
    growth = 3.5 ** (16384 / 512) * abs(math.cos(16384))
    assert products[0, 3] == pytest.approx(growth, rel=1e-9)
    assert growth > 1e16
    assert products[3, 0] < 1e-16
    assert result.is_causal_only
    later = np.triu_indices(4, 1)
    assert np.isneginf(logits(result, ones, ones)[later]).all()
    assert "causal" in posviz.get("xpos").limits


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_xpos_names_the_farthest_token_that_its_factors_can_reach(kind: Any) -> None:
    spec = posviz.get("xpos")(centre="zero")
    farthest = int(math.log(float(np.finfo(kind).max)) / math.log(3.5) * 512)
    assert np.isfinite(spec.encode(np.asarray([farthest - 1], dtype=kind)).key_gain).all()
    with pytest.raises(ParameterError) as caught:
        spec.encode(np.asarray([0, farthest + 1], dtype=kind))
    assert str(caught.value) == (
        f"xPos: positions must be within {farthest} tokens of the centre 0, where its factors "
        f"leave the range of {np.dtype(kind).name}, with gamma 0.4 and scale_base 512; "
        f"got one {farthest + 1} tokens away."
    )


def test_xpos_length_sets_the_centre_only() -> None:
    spec = posviz.get("xpos")(centre="floor")
    result = spec.encode([0.0, 4.0, 8.0], length=9)
    np.testing.assert_array_equal(result.query_gain[1], 1.0)
    np.testing.assert_array_equal(spec.encode([0.0, 4.0], length=8).key_gain[1], 1.0)
    with pytest.raises(ParameterError, match="xPos: length must be a whole number of at least 1"):
        spec.encode([0.0], length=0)


# --- VO-RoPE ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rotates", ["VO", "QKVO"])
@pytest.mark.parametrize("layout", ["half_split", "interleaved"])
def test_vo_rope_output_ignores_a_common_shift(rotates: str, layout: str) -> None:
    spec = posviz.get("vo_rope")(head_dim=8, rotates=rotates, layout=layout)
    queries, keys, values = np.random.default_rng(2).standard_normal((3, 2, 5, 8))
    at = np.asarray([0.0, 1.0, 4.0, 9.0, 20.0])
    here = output(spec.encode(at), queries, keys, values, is_causal=True)
    there = output(spec.encode(at + 321.0), queries, keys, values, is_causal=True)
    np.testing.assert_allclose(there, here, rtol=1e-10, atol=1e-12)
    stretched = output(spec.encode(2 * at), queries, keys, values, is_causal=True)
    assert np.abs(stretched - here).max() > 0.01


def test_vo_rope_turns_a_value_by_its_distance_and_gives_a_lone_one_back() -> None:
    spec = posviz.get("vo_rope")(head_dim=2)
    result = spec.encode([3.0, 5.0])
    values = np.asarray([[1.0, 0.0], [0.0, 1.0]])
    np.testing.assert_allclose(result.mix(np.eye(2), values), values, atol=1e-15)
    # The query at 5 sees the value at 3 turned by 3 - 5 radians.
    only_first = result.mix(np.asarray([[1.0, 0.0], [1.0, 0.0]]), values)
    np.testing.assert_allclose(only_first[1], [math.cos(-2), math.sin(-2)], atol=1e-15)


def test_vo_rope_scores_are_unrotated_or_those_of_rope() -> None:
    queries, keys = vectors_for(posviz.get("rope")(), 4)
    at = np.asarray([0.0, 2.0, 3.0, 50.0])
    plain = queries @ keys.T / math.sqrt(128)
    values_only = logits(posviz.get("vo_rope")().encode(at), queries, keys)
    np.testing.assert_allclose(values_only, plain, rtol=1e-13)
    both = logits(posviz.get("vo_rope")(rotates="QKVO").encode(at), queries, keys)
    np.testing.assert_allclose(
        both, logits(posviz.get("rope")().encode(at), queries, keys), rtol=1e-13
    )


# --- iRoPE --------------------------------------------------------------------------------------


def test_s50_query_temperature_of_llama_4() -> None:
    result = posviz.get("irope")(layer=3).encode([8190, 8191, 131071])
    np.testing.assert_allclose(result.query_scale, [1, 1.069315, 1.283321], atol=5e-7)


def test_irope_layer_rotates_or_has_a_temperature() -> None:
    spec = posviz.get("irope")(layers=8)
    at = np.asarray([0.0, 1.0, 8191.0, 40000.0])
    plain = posviz.get("rope")(base=500000.0).encode(at)
    for layer in range(8):
        result = spec.with_values(layer=layer).encode(at)
        assert result.layers == ("RoPE", "RoPE", "RoPE", "NoPE") * 2
        if layer % 4 == 3:
            np.testing.assert_array_equal(result.angles, 0.0)
            np.testing.assert_array_equal(
                result.query_scale, result.curves["query temperature of NoPE layers"]
            )
        else:
            np.testing.assert_array_equal(result.angles, plain.angles)
            assert result.query_scale is None


def test_irope_without_scale_or_with_every_layer_without_positions() -> None:
    smollm = posviz.get("irope")(**posviz.get("irope").profiles["SmolLM3"], layer=3)
    np.testing.assert_array_equal(smollm.encode([0.0, 1e6]).query_scale, 1.0)
    assert set(posviz.get("irope")(interval=1).layer_kinds()) == {"NoPE"}
    with pytest.raises(ParameterError, match="iRoPE: positions must be at least 0"):
        posviz.get("irope")().encode([-1.0])


# --- the radix view -----------------------------------------------------------------------------


@given(number=st.integers(0, 10**10 - 1))
@settings(max_examples=50, deadline=None, derandomize=True, database=None)
def test_decimal_digits_are_those_of_the_number(number: int) -> None:
    spec = posviz.get("radix")(head_dim=20, base=1e10, reading="digit", dials=10)
    strips = spec.encode([number]).strips
    found = "".join(str(int(strips[f"pair {pair}"][0])) for pair in reversed(range(10)))
    assert found == str(number).rjust(10, "0")


def test_pair_zero_is_the_fastest_and_least_significant() -> None:
    spec = posviz.get("radix")()
    assert spec.shown_pairs()[0] == 0
    assert spec.shown_pairs()[-1] == 49
    strips = spec.encode(np.arange(64.0)).strips
    turns = [int(np.count_nonzero(np.diff(row))) for row in strips.values()]
    assert turns == sorted(turns, reverse=True)
    assert turns[0] > 10 * max(1, turns[-1])
    result = spec.encode([0.0])
    np.testing.assert_allclose(result.inv_freq, spec.radix ** -np.arange(50.0), rtol=1e-9)


# --- sinusoids, and the shift as a linear map -----------------------------------------------------

LAYOUTS = ["alternating", "halves", "cos_first"]


def test_s05_products_of_sinusoids_depend_on_the_distance_and_are_even_in_it() -> None:
    vectors = posviz.get("sinusoidal")().encode(np.arange(300.0)).vectors
    products = vectors @ vectors.T
    np.testing.assert_allclose(np.diag(products), 256.0, rtol=1e-12)
    for distance in (1, 7, 250):
        row = np.diag(products, distance)
        np.testing.assert_allclose(row, row[0], rtol=1e-11)
    np.testing.assert_allclose(products, products.T, rtol=1e-13)


@pytest.mark.parametrize("distance", [1, 17, -5, 400])
def test_s06_shift_of_a_sinusoid_is_a_diagonal_map_in_complex_form(distance: int) -> None:
    spec = posviz.get("sinusoidal")(model_dim=64)
    at = np.arange(500.0, 600.0)

    def waves(positions: np.ndarray) -> np.ndarray:
        vectors = spec.encode(positions).vectors
        return vectors[:, 1::2] + 1j * vectors[:, 0::2]

    step = waves(np.asarray([float(distance)]))
    np.testing.assert_allclose(waves(at + distance), step * waves(at), atol=1e-12)


@pytest.mark.parametrize("ladder", ["standard", "closed"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("distance", [1, 16, -100])
def test_one_linear_map_moves_sinusoids_in_every_layout(
    layout: str, ladder: str, distance: int
) -> None:
    spec = posviz.get("sinusoidal")(model_dim=48, layout=layout, ladder=ladder)
    vectors = spec.encode(np.arange(400.0)).vectors
    assert shift_error(vectors, distance) < 1e-12
    assert shift_error(torch.tensor(vectors), distance) < 1e-12


def test_no_linear_map_moves_a_random_table() -> None:
    table = np.random.default_rng(0).standard_normal((512, 64))
    assert shift_error(table, 3) == pytest.approx(math.sqrt(1 - 64 / 509), abs=0.01)
    assert shift_error(table, 0) < 1e-13
    assert shift_error(np.zeros((10, 2)), 1) == 0.0


@pytest.mark.parametrize(
    ("shape", "distance", "message"),
    [
        ((10, 4), 1.5, "shift error: distance must be a whole number; got 1.5."),
        ((10,), 1, "shift error: vectors must have the axes (positions, model_dim); got (10,)."),
        (
            (10, 8),
            2,
            "shift error: vectors must hold more than 8 pairs of positions that are distance 2 "
            "apart, one more than columns; got 8.",
        ),
    ],
)
def test_a_shift_that_cannot_be_measured_gives_one_sentence(
    shape: tuple[int, ...], distance: Any, message: str
) -> None:
    with pytest.raises(ParameterError) as caught:
        shift_error(np.ones(shape), distance)
    assert str(caught.value) == message


def test_s52_layouts_give_equal_logits_after_one_permutation() -> None:
    queries, keys = vectors_for(posviz.get("rope")(), 6)
    at = np.asarray([0.0, 1.0, 5.0, 40.0, 41.0, 9000.0])
    order = np.arange(128).reshape(64, 2).T.reshape(-1)
    halves = posviz.get("rope")(layout="half_split").encode(at)
    pairs = posviz.get("rope")(layout="interleaved").encode(at)
    expected = logits(pairs, queries, keys)
    found = logits(halves, queries[:, order], keys[:, order])
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
    assert np.abs(logits(halves, queries, keys) - expected).max() > 0.1


# --- what snippets compute beside the quantity that the contract compares -------------------------


@pytest.mark.parametrize(
    ("link", "ours"),
    [
        ("log_n", {"logit_factor": "query_scale"}),
        ("log_n?scope=sequence", {"logit_factor": "softmax_factor"}),
        ("xpos", {"cos": "cos", "key_gain": "key_gain"}),
        ("irope?floor_scale=4", {"temperature": "curves"}),
        ("irope?floor_scale=4&layer=3", {"query_scale": "query_scale"}),
        ("vo_rope", {"output": "mix"}),
        ("vo_rope?layout=interleaved&head_dim=16", {"output": "mix"}),
        ("radix?head_dim=8&dials=4", {"dials": "strips"}),
        ("radix?head_dim=8&dials=4&reading=digit", {"digits": "strips"}),
    ],
)
def test_snippet_gives_its_other_numbers_too(link: str, ours: dict[str, str]) -> None:
    spec = posviz.parse(link)
    names: dict[str, Any] = {}
    exec(spec.code(), names)
    result = spec.encode(names["positions"])
    for name, attribute in ours.items():
        expected: Any = getattr(result, attribute)
        if attribute == "curves":
            (expected,) = expected.values()
        if attribute == "strips":
            expected = np.stack(list(expected.values()), axis=1)
        if attribute == "mix":
            expected = result.mix(names["weights"], names["v"])
        np.testing.assert_allclose(names[name], expected, rtol=1e-9, atol=1e-12)


def test_weights_of_a_causal_rotation_sum_to_one() -> None:
    spec = posviz.get("xpos")()
    queries, keys = vectors_for(spec, 5)
    found = weights(spec.encode(np.arange(5.0)), queries, keys)
    np.testing.assert_allclose(found.sum(axis=-1), 1.0, rtol=1e-14)
    assert (np.triu(found, 1) == 0).all()


# --- numbers that the facts of an encoding state --------------------------------------------------


@pytest.mark.parametrize(
    ("encoding", "said", "value"),
    [
        ("yarn", "0.15 by the one", lambda: _kept_of_pair_33("turns")),
        ("yarn", "0.5 by the other", lambda: _kept_of_pair_33("pair_index")),
        ("yarn", "1.63 for s = 16", lambda: posviz.get("yarn")().magnitude(1) ** 2),
        ("dynamic_ntk", "30,528", lambda: _dynamic_base("transformers")),
        ("dynamic_ntk", "20,221", lambda: _dynamic_base("published")),
        (
            "p_rope",
            "5,847",
            lambda: posviz.parse("p_rope?head_dim=256").encode([0]).wavelengths[95],
        ),
        ("abf", "by 6 percent", lambda: 100 * (_abf_divisors()[1] - 1)),
        ("abf", "factor of 47", lambda: _abf_divisors()[-1]),
        (
            "resonance",
            "46 of 64",
            lambda: (posviz.parse("rope").encode([0]).wavelengths < 4096).sum(),
        ),
        ("xpos", "0.286", lambda: posviz.get("xpos")().zeta(xp=np)[0]),
        ("xpos", "0.989", lambda: posviz.get("xpos")().zeta(xp=np)[-1]),
        ("xpos", "36,000 tokens", lambda: round(math.log(3.4e38) / math.log(3.5) * 512, -3)),
        ("longrope", "1.1 to", lambda: min(posviz.get("longrope")().short_factor)),
        ("longrope", "to 3.05", lambda: max(posviz.get("longrope")().short_factor)),
    ],
)
def test_numbers_told_to_the_reader_are_the_core_s(encoding: str, said: str, value: Any) -> None:
    facts = " ".join((*posviz.get(encoding).misread, posviz.get(encoding).limits))
    assert said in facts
    (number,) = re.findall(r"[\d,.]*\d", said)[:1]
    digits = len(number.partition(".")[2])
    assert round(float(value()), digits) == float(number.replace(",", ""))


def _kept_of_pair_33(ramp: str) -> float:
    return float(posviz.get("yarn")(ramp=ramp).kept()[33])


def _dynamic_base(rule: str) -> float:
    second = posviz.get("dynamic_ntk")(rule=rule).frequencies(8192)[1]
    return float(second ** (-128 / 2))


def _abf_divisors() -> np.ndarray:
    spec = posviz.get("abf")()
    return spec.trained_frequencies() / spec.frequencies(1)
