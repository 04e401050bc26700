"""Laws and facts of sinusoids, of words and paths as waves, and of what needs no encoding at all.

Facts carry their number in the project's list (S05, S06, S41, S47).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.ndimage import uniform_filter

import posviz
from posviz import ParameterError
from posviz.attention import weights
from posviz.encodings.coordinates import grid_of, grid_shape, spread, walked

sinusoidal = posviz.get("sinusoidal")
complex_embedding = posviz.get("complex_embedding")
floater = posviz.get("floater")
nope = posviz.get("nope")
cnn = posviz.get("cnn_zero_padding")
GRIDS = [posviz.get("sinusoidal_2d"), posviz.get("sinusoidal_3d")]
quick = settings(max_examples=20, deadline=None, derandomize=True, database=None)


def sorted_columns(vectors: np.ndarray) -> np.ndarray:
    return vectors[:, np.lexsort(vectors)]


# Sinusoids


def test_s05_products_of_rows_are_half_the_dimensions_and_depend_on_distance_only() -> None:
    vectors = sinusoidal(model_dim=512).encode(np.arange(300)).vectors
    products = vectors @ vectors.T
    np.testing.assert_allclose(np.diag(products), 256.0, rtol=1e-13)
    for distance in (1, 7, 299):
        along = np.diagonal(products, distance)
        np.testing.assert_allclose(along, along[0], atol=1e-10)
        np.testing.assert_allclose(along, np.diagonal(products, -distance), atol=1e-10)


@quick
@given(start=st.integers(0, 10_000), step=st.integers(-500, 500), base=st.floats(1.5, 1e6))
def test_s06_a_shift_is_a_product_in_complex_form(start: int, step: int, base: float) -> None:
    vectors = sinusoidal(model_dim=32, base=base).encode([start, step, start + step]).vectors
    here, moved, there = vectors[:, 1::2] + 1j * vectors[:, 0::2]
    np.testing.assert_allclose(here * moved, there, atol=1e-10)


@pytest.mark.parametrize("model_dim", [8, 9])
def test_layouts_are_one_permutation_of_the_columns(model_dim: int) -> None:
    tables = [
        sinusoidal(model_dim=model_dim, layout=layout).encode(np.arange(1, 30)).vectors
        for layout in ("alternating", "halves")
    ]
    if model_dim == 8:
        # An odd number leaves out a cosine where sines come first, and a sine otherwise.
        tables.append(sinusoidal(model_dim=8, layout="cos_first").encode(np.arange(1, 30)).vectors)
    for table in tables[1:]:
        np.testing.assert_array_equal(sorted_columns(table), sorted_columns(tables[0]))


def test_the_closed_ladder_reaches_the_end_and_the_standard_one_does_not() -> None:
    slowest = {
        ladder: float(sinusoidal(ladder=ladder).encode([0]).wavelengths.max())
        for ladder in ("standard", "closed")
    }
    assert slowest["closed"] == pytest.approx(2 * math.pi * 1e4)
    assert slowest["standard"] == pytest.approx(60611.48, abs=0.005)


# Words as waves


def test_a_word_keeps_its_length_and_turns_at_its_own_speed() -> None:
    result = complex_embedding(sentence="a b", complex_dim=5, draws_phases=True).encode(range(12))
    waves = result.vectors[:, :5] + 1j * result.vectors[:, 5:]
    assert result.labels == ("a", "b") * 6
    start = complex_embedding(sentence="a b", complex_dim=5, draws_phases=True).initial_parameters()
    for word in (0, 1):
        own = waves[word::2]
        np.testing.assert_allclose(np.abs(own), np.abs(start["amplitude"][[word]] + 0 * own.real))
        # Two tokens on, whatever the position: a factor that depends on the word only.
        turn = np.exp(2j * start["frequency"][word])
        np.testing.assert_allclose(own[1:] / own[:-1], turn + 0 * own[1:], atol=1e-12)


def test_shared_frequencies_and_equal_amplitudes_give_the_sinusoid() -> None:
    spec = complex_embedding(sentence="a b c", complex_dim=8, frequencies="shared")
    start = spec.initial_parameters()
    ones = {**start, "amplitude": np.ones_like(start["amplitude"])}
    vectors = spec.encode(np.arange(40), parameters=ones).vectors
    waves = sinusoidal(model_dim=8).encode(np.arange(40)).vectors
    # The code gives two neighbouring dimensions the same frequency, as the sinusoid has it.
    np.testing.assert_allclose(vectors[:, 8::2], waves[:, 0::2], atol=1e-12)
    np.testing.assert_allclose(vectors[:, 1:8:2], waves[:, 1::2], atol=1e-12)


def test_equal_words_share_a_row_and_a_sentence_without_words_is_refused() -> None:
    result = complex_embedding(sentence="the cat saw the other cat").encode(range(7))
    assert result.strips["number of the word"].tolist() == [1, 2, 3, 1, 4, 2, 1]
    with pytest.raises(ParameterError, match=r"sentence must have a word .*; got '  '\."):
        complex_embedding(sentence="  ")


# Paths


def test_the_linear_flow_is_the_sinusoid() -> None:
    path = floater(generator="linear", steps=256, model_dim=16).encode(np.arange(40)).vectors
    waves = sinusoidal(model_dim=16).encode(np.arange(40)).vectors
    np.testing.assert_allclose(path, waves, rtol=0, atol=1e-9)


def test_the_network_s_path_is_that_of_an_adaptive_solver() -> None:
    spec = floater(model_dim=6, hidden=5, seed=4, steps=32)
    parts = spec.initial_parameters()

    def change(time: float, point: np.ndarray) -> Any:
        inner = parts["first.weight"] @ np.append(point, time) + parts["first.bias"]
        return parts["second.weight"] @ np.tanh(inner) + parts["second.bias"]

    at = np.array([0.0, 3.0, 10.25, 64.0, 200.0])
    solved = solve_ivp(
        change, (0, 20), parts["start"], method="DOP853", rtol=1e-12, atol=1e-12, t_eval=0.1 * at
    )
    np.testing.assert_allclose(spec.encode(at).vectors, solved.y.T, rtol=0, atol=1e-9)


def test_the_solver_is_of_order_four() -> None:
    exact = sinusoidal(model_dim=2).encode([8]).vectors
    errors = [
        np.abs(floater(generator="linear", model_dim=2, steps=steps).encode([8]).vectors - exact)
        for steps in (8, 16)
    ]
    assert errors[0].max() / errors[1].max() == pytest.approx(16, rel=0.1)


def test_a_point_of_the_path_does_not_depend_on_what_else_is_asked() -> None:
    spec = floater(model_dim=4, hidden=3)
    at = np.array([7.5, 0.0, 2.0, 30.0, 2.0])
    together = spec.encode(at).vectors
    for place, row in zip(at, together, strict=True):
        np.testing.assert_allclose(spec.encode([place]).vectors[0], row, rtol=1e-13)
    assert spec.encode([]).vectors.shape == (0, 4)


def test_gradients_flow_through_the_walk_in_float32() -> None:
    spec = floater(model_dim=4, hidden=3)
    parts = {
        name: torch.tensor(value, dtype=torch.float32, requires_grad=True)
        for name, value in spec.initial_parameters().items()
    }
    vectors = spec.encode(torch.arange(5.0), parameters=parts).vectors
    assert vectors.dtype == torch.float32
    vectors.square().sum().backward()
    for name, part in parts.items():
        assert part.grad is not None, name
        assert bool(part.grad.isfinite().all()), name
        assert float(part.grad.abs().max()) > 0, name


@pytest.mark.parametrize("place", [-0.5, 16385.0])
def test_a_path_is_walked_from_0_to_its_limit(place: float) -> None:
    with pytest.raises(ParameterError) as caught:
        floater().encode([0.0, place])
    assert str(caught.value) == (
        "FLOATER: positions must be from 0 to 16384, since the path is walked from 0 on, token by "
        f"token; got {place:g}."
    )


def test_columns_of_the_linear_flow_turn_in_pairs() -> None:
    with pytest.raises(ParameterError, match="model_dim must be even while generator is linear"):
        floater(generator="linear", model_dim=5)
    assert floater(model_dim=5).encode([0, 1]).vectors.shape == (2, 5)


# No encoding


def test_s47_equal_keys_and_a_value_on_the_first_token_give_1_over_t() -> None:
    result = nope().encode(np.arange(20))
    keys = np.ones((1, 20, 4))
    row = weights(result, np.random.default_rng(0).standard_normal((1, 20, 4)), keys)[0]
    values = np.zeros((20, 1))
    values[0] = 1.0
    np.testing.assert_allclose((row @ values)[:, 0], 1 / np.arange(1, 21))
    np.testing.assert_allclose(
        result.curves["weight on the first token"], (row @ values)[:, 0], rtol=1e-12
    )
    entropy = -np.sum(np.where(row > 0, row * np.log(np.where(row > 0, row, 1)), 0), axis=1)
    np.testing.assert_allclose(result.curves["entropy (nats)"], entropy, atol=1e-12)


def test_s41_the_variance_of_a_causal_mean_falls_as_1_over_t() -> None:
    values = np.random.default_rng(1).normal(0, 1.5, (200_000, 8))
    means = np.cumsum(values, axis=1) / np.arange(1, 9)
    curve = nope(variance=2.25).encode(np.arange(8)).curves["variance of a causal mean"]
    np.testing.assert_allclose(means.var(axis=0), curve, rtol=0.02)


def test_without_an_encoding_no_token_stands_before_the_first() -> None:
    with pytest.raises(ParameterError, match=r"NoPE: positions must be at least 0, .*; got -1\."):
        nope().encode([-1, 0])


# Borders


@quick
@given(rows=st.integers(1, 12), columns=st.integers(1, 12), layers=st.integers(1, 6))
def test_each_layer_is_a_box_filter_with_zeros_around(rows: int, columns: int, layers: int) -> None:
    spec = cnn(rows=rows, columns=columns, layers=layers)
    result = spec.encode(spec.example_positions(1))
    image = np.ones((rows, columns))
    for layer in range(layers):
        image = uniform_filter(image, 3, mode="constant")
        np.testing.assert_allclose(result.vectors[:, layer], image.ravel(), atol=1e-14)
    assert result.grid == (rows, columns)


def test_the_border_is_seen_one_place_further_in_with_each_layer() -> None:
    result = cnn(rows=15, columns=15, layers=4).encode(np.arange(225))
    for layer in range(4):
        plane = result.vectors[:, layer].reshape(15, 15)
        inside = slice(layer + 1, 14 - layer)
        np.testing.assert_allclose(plane[inside, inside], 1, atol=1e-14)
        assert plane[layer, 7] < 1 - 1e-4


def test_places_beyond_the_grid_are_refused() -> None:
    spec = cnn(rows=2, columns=3)
    for wrong in (6, -1, 0.5):
        with pytest.raises(ParameterError, match="whole numbers from 0 to 5, the places of 2 rows"):
            spec.encode([wrong])
    assert spec.encode([5, 0]).grid == ()


# Grids


@pytest.mark.parametrize("encoding", GRIDS, ids=lambda encoding: encoding.id)
def test_axes_are_sinusoids_of_their_own_coordinate(encoding: Any) -> None:
    spec = encoding(model_dim=12)
    axes = spec.axes
    points = spec.example_positions(20)
    vectors = spec.encode(points).vectors.reshape(len(points), axes, -1)
    for axis in range(axes):
        alone = sinusoidal(model_dim=12 // axes).encode(points[:, axis]).vectors
        np.testing.assert_allclose(vectors[:, axis], alone, atol=1e-12)


@pytest.mark.parametrize("encoding", GRIDS, ids=lambda encoding: encoding.id)
def test_products_of_places_depend_on_the_difference_of_coordinates(encoding: Any) -> None:
    spec = encoding(model_dim=24)
    points = np.random.default_rng(2).integers(0, 50, (6, spec.axes))
    here, there = (spec.encode(points + shift).vectors for shift in (0, 17))
    np.testing.assert_allclose(here @ here.T, there @ there.T, atol=1e-10)


@pytest.mark.parametrize("encoding", GRIDS, ids=lambda encoding: encoding.id)
def test_a_grid_is_known_and_anything_else_is_not(encoding: Any) -> None:
    spec = encoding()
    points = spec.example_positions(60)
    result = spec.encode(points)
    assert math.prod(result.grid) == len(points)
    assert len(result.grid) == spec.axes
    assert spec.encode(points[::-1]).grid == ()
    with pytest.raises(ParameterError, match=f"must be rows of {spec.axes} coordinates"):
        spec.encode(np.arange(4.0))


@quick
@given(count=st.integers(1, 5000), axes=st.integers(1, 3))
def test_grids_have_about_the_places_asked_for(count: int, axes: int) -> None:
    shape = grid_shape(count, axes)
    # Rounding up adds less than one line of each kind.
    assert count <= math.prod(shape) <= count + int(np.cumprod(shape[:-1]).sum())
    assert max(shape) <= 2 * min(shape) + 2
    assert grid_of(walked([np.arange(float(side)) for side in shape])) == shape


def test_where_places_stand_along_a_side() -> None:
    assert spread(4, "index").tolist() == [0, 1, 2, 3]
    assert spread(4, "index_from_1").tolist() == [1, 2, 3, 4]
    assert spread(4, "centres").tolist() == [-0.75, -0.25, 0.25, 0.75]
    assert spread(5, "ends").tolist() == [-1, -0.5, 0, 0.5, 1]
    np.testing.assert_allclose(spread(4, "turn"), np.pi * np.array([0.5, 1, 1.5, 2]))
