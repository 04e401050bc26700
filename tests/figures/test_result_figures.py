"""Figures of results hold the numbers of the result, computed here a second time by hand."""

import re
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from latex2mathml.converter import convert

import posviz
from posviz.figures.results import At, accepting, drawn, limits_of, result_figures
from posviz.results import Result, Schedule, Staircase
from tests.figures.hand_made_results import (
    COUNT,
    axial,
    bias,
    mask,
    matrix_bias,
    remapped,
    rotation,
    scaled,
    sines,
    table,
    terms,
)

FIGURES = {figure.id: figure for figure in result_figures()}
every_figure = pytest.mark.parametrize("figure", FIGURES.values(), ids=list(FIGURES))
every_encoding = pytest.mark.parametrize("encoding", posviz.catalog(), ids=lambda one: one.id)


def content(name, result, **at):
    assert FIGURES[name].accepts(result)
    return FIGURES[name].content(result, At(**at))


def titles(name, result, **at):
    layout = FIGURES[name](result, At(**at)).layout
    return layout.xaxis.title.text, layout.yaxis.title.text


@every_figure
def test_formulas_convert_and_words_are_whole_sentences(figure):
    assert "<math" in convert(figure.formula)
    for words in (figure.help, figure.limits):
        assert words.endswith(".")
        assert len(words) > 30


@every_encoding
def test_every_figure_of_every_encoding_is_small_has_titles_and_fills_its_formula(encoding):
    spec = encoding()
    result = spec.encode(spec.example_positions(min(530, encoding.most_positions)))
    assert accepting(result)
    beyond = At(position=10**6, distance=10**6, dimension=10**6, head=10**6)
    for figure in accepting(result):
        for part in figure.parts(result) if figure.parts else ("",):
            at = At(**{**vars(beyond), "part": part})
            shown = figure.content(result, at)
            plain = drawn(shown)
            asked = set(re.findall("⟨(.*?)⟩", figure.formula))
            given = set(figure.slots(result, at)) | ({"x", "y"} if figure.cursor else set())
            assert asked <= given, figure.id
            assert plain.layout["xaxis"]["title"]["text"].strip()
            assert plain.layout["yaxis"]["title"]["text"]
            assert figure.is_map == (plain.data[0]["type"] == "heatmap")
            if figure.is_map:
                z = plain.data[0]["z"]
                assert z.shape == (len(shown.y), len(shown.x))
                # A blank zone past the end of a table comes on top.
                assert np.isfinite(z).any(axis=1).sum() <= 512
                assert z.shape[1] <= 512
                assert plain.data[0]["zmin"] < plain.data[0]["zmax"]
            else:
                assert any(np.isfinite(trace["y"]).any() for trace in plain.data), figure.id


def test_waves_are_the_chosen_column_first_and_then_a_fast_a_middle_and_the_last():
    lines = content("waves", table(), dimension=5).lines
    assert [line.name for line in lines] == [f"dimension {one}" for one in (5, 1, 15 // 3 + 10)]
    np.testing.assert_allclose(lines[0].y, np.cos(np.arange(COUNT) * 100.0 ** (-4 / 16)))
    assert titles("waves", table()) == ("position", "value")


def test_waves_of_a_rotation_are_cosines():
    line = content("waves", rotation(), dimension=3).lines[0]
    assert line.name == "cosine of pair 3"
    np.testing.assert_allclose(line.y, np.cos(np.arange(COUNT) * 100.0 ** (-6 / 16)))


def test_spectrum_is_two_pi_over_frequency_and_counts_what_never_finishes_a_turn():
    wavelength, level = content("spectrum", rotation()).lines
    expected = 2 * np.pi * 100.0 ** (np.arange(8) / 8)
    np.testing.assert_allclose(wavelength.y, expected)
    assert level.y.tolist() == [COUNT, COUNT]
    assert level.name.endswith(f"{(expected > COUNT).sum()} never finish a turn among them")
    figure = FIGURES["spectrum"](rotation())
    assert figure.layout.yaxis.type == "log"
    assert figure.layout.xaxis.title.text == "pair (0 is the fastest)"


def test_similarity_of_a_large_table_is_the_block_mean_of_all_products():
    positions = np.arange(1300.0)
    cells = content("similarity", table(1300))
    vectors = sines(positions)
    products = vectors @ vectors.T
    assert cells.block == 3
    np.testing.assert_allclose(cells.z[2, 7], products[6:9, 21:24].mean(), atol=1e-12)
    np.testing.assert_allclose(cells.z[-1, 0], products[1299:, :3].mean(), atol=1e-12)
    assert (cells.x[0], cells.x[-1]) == (1.0, 1299.0)


def test_similarity_of_a_rotation_is_the_mean_cosine_of_the_angle_difference():
    cells = content("similarity", rotation())
    frequencies = 100.0 ** (-np.arange(8) / 8)
    for query, key in ((0, 0), (30, 4), (4, 30)):
        expected = np.cos((query - key) * frequencies).mean()
        assert cells.z[query, key] == pytest.approx(expected)
    assert FIGURES["similarity"].slots(rotation(), At(position=30, distance=26))["value"] == (
        f"{np.cos(26 * frequencies).mean():.5g}"
    )


def test_a_profile_of_sinusoids_is_one_line_and_that_of_noise_three():
    lines = content("similarity_profile", table()).lines
    assert len(lines) == 1
    expected = np.cos(np.arange(COUNT)[:, None] * 100.0 ** (-np.arange(8) / 8)).sum(axis=1)
    np.testing.assert_allclose(lines[0].y, expected, atol=1e-9)
    noise = np.random.default_rng(1).standard_normal((20, 4))
    mean, low, high = content("similarity_profile", table(20, vectors=noise)).lines
    at_three = [noise[place + 3] @ noise[place] for place in range(17)]
    assert mean.y[3] == pytest.approx(np.mean(at_three))
    assert (low.y[3], high.y[3]) == (pytest.approx(min(at_three)), pytest.approx(max(at_three)))


def test_scores_of_a_scaled_rotation_stand_beside_the_plain_ones():
    with_decay, plain = content("pair_decay", scaled()).lines
    frequencies, decay = 100.0 ** (-np.arange(8) / 8), np.linspace(0.98, 0.999, 8)
    assert with_decay.y[10] == pytest.approx(np.mean(decay**10 * np.cos(10 * frequencies)))
    assert plain.y[10] == pytest.approx(np.cos(10 * frequencies).mean())
    assert titles("pair_decay", scaled()) == ("distance (query − key)", "score, q = k")


def test_remapped_distances_are_blank_after_the_query_and_their_score_stands_still():
    cells = content("seen_distance", remapped())
    assert cells.z[20, 5] == 6
    assert cells.z[20, 17] == 3
    assert np.isnan(cells.z[5, 6])
    assert np.isfinite(np.diag(cells.z)).all()
    seen, plain = content("remapped_score", remapped()).lines
    frequencies = 100.0 ** (-np.arange(8) / 8)
    assert seen.y[30] == pytest.approx(np.cos(6 * frequencies).mean())
    assert seen.y[30] == pytest.approx(seen.y[7])
    assert plain.y[30] == pytest.approx(np.cos(30 * frequencies).mean())


def test_a_causal_bias_is_its_matrix_with_later_keys_blank():
    cells = content("bias_matrix", bias(causal=True), head=1)
    expected = -0.25 * np.subtract.outer(np.arange(COUNT), np.arange(COUNT))
    lower = np.tril(np.ones((COUNT, COUNT), dtype=bool))
    np.testing.assert_allclose(cells.z[lower], expected[lower])
    assert np.isnan(cells.z[~lower]).all()
    low, high = limits_of([cells])
    assert low == -high == -0.25 * (COUNT - 1)


@pytest.mark.parametrize("causal", [True, False])
def test_a_long_bias_is_averaged_over_the_keys_that_are_seen(causal):
    cells = content("bias_matrix", bias(1100, causal=causal))
    gaps = np.subtract.outer(np.arange(1100), np.arange(1100))
    whole = np.where(causal & (gaps < 0), np.nan, -0.5 * np.abs(gaps))
    assert cells.block == 3
    assert cells.z.shape == (367, 367)
    for row, column in ((0, 0), (5, 5), (200, 31), (366, 366), (366, 0)):
        block = whole[3 * row : 3 * row + 3, 3 * column : 3 * column + 3]
        assert cells.z[row, column] == pytest.approx(np.nanmean(block), abs=1e-9)
    assert np.isnan(cells.z[0, 1]) == causal


def test_a_long_bias_and_a_long_mask_never_become_a_matrix_of_all_positions():
    for name, result in (("bias_matrix", bias(8192)), ("mask_matrix", mask(8192))):
        tracemalloc.start()
        content(name, result)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 16 << 20, name


def test_a_mask_shows_the_share_of_keys_that_are_seen():
    cells = content("mask_matrix", mask())
    gaps = np.subtract.outer(np.arange(COUNT), np.arange(COUNT))
    np.testing.assert_array_equal(cells.z, (gaps >= 0) & (gaps < 4))
    assert limits_of([cells]) == (0.0, 1.0)
    long = content("mask_matrix", mask(1024))
    assert long.z[9, 9] == 0.75
    assert long.z[9, 8] == 1.0
    assert long.z[9, 7] == 0.25
    slots = FIGURES["mask_matrix"].slots
    assert slots(mask(), At(position=9, distance=3))["value"] == "0"
    assert slots(mask(), At(position=9, distance=4))["value"] == "-∞"


def test_the_row_of_a_matrix_bias_stops_at_its_query():
    line = content("bias_row", matrix_bias(), position=3, head=1).lines[0]
    np.testing.assert_allclose(line.y, 100 + 10 * 3 + np.arange(4))
    assert line.x.tolist() == [0, 1, 2, 3]


def test_weights_are_the_softmax_at_equal_content():
    weights = content("weights_row", bias(causal=True), position=9).lines[0].y
    raised = np.exp(-0.5 * np.arange(9, -1, -1))
    np.testing.assert_allclose(weights[:10], raised / raised.sum())
    assert not weights[10:].any()
    seen = content("weights_row", mask(), position=9).lines[0].y
    np.testing.assert_allclose(seen[6:10], 0.25)
    assert seen.sum() == pytest.approx(1)


def test_the_marginal_is_the_mean_weight_down_each_column():
    line = content("key_marginal", mask()).lines[0]
    weights = [
        [1 / min(m + 1, 4) if 0 <= m - n < 4 else 0 for n in range(COUNT)] for m in range(40)
    ]
    np.testing.assert_allclose(line.y, np.mean(weights, axis=0))
    assert line.y.sum() == pytest.approx(1)


def test_bias_against_distance_starts_with_the_chosen_head_and_with_distance_0_if_causal():
    lines = content("bias_profile", bias(causal=True), head=1).lines
    assert [line.name for line in lines] == ["head 1", "head 0"]
    assert lines[0].x[0] == 0
    np.testing.assert_allclose(lines[0].y, -0.25 * np.arange(COUNT))
    assert content("bias_profile", bias()).lines[0].x[0] == 1 - COUNT
    assert titles("bias_profile", bias()) == ("distance (query − key)", "bias")


def test_slopes_stand_over_the_heads_on_a_log_axis():
    figure = FIGURES["slopes"](bias())
    assert list(figure.data[0].y) == [0.5, 0.25]
    assert (figure.layout.xaxis.title.text, figure.layout.yaxis.type) == ("head", "log")


def test_terms_share_one_scale_with_their_sum_and_leave_later_keys_blank():
    result = terms()
    parts = FIGURES["terms"].parts(result)
    assert parts == ("content", "position", "all terms together")
    first, second, both = (content("terms", result, head=1, part=part) for part in parts)
    np.testing.assert_allclose(both.z, first.z + second.z)
    assert first.z[7, 2] == 14
    assert second.z[7, 2] == -5
    assert np.isnan(both.z[2, 7])
    assert first.limits == second.limits == both.limits == (-121.0, 121.0)
    assert FIGURES["terms"].slots(result, At(position=7, distance=5, head=1, part="position"))[
        "value"
    ] == str(-5)


def test_hands_point_at_cosine_and_sine_of_the_angle():
    lines = content("angle_hands", rotation(), position=7, dimension=4)
    hand = lines.lines[0]
    angle = 7 * 100.0 ** (-4 / 8)
    assert hand.name == "pair 4"
    np.testing.assert_allclose((hand.x[1], hand.y[1]), (np.cos(angle), np.sin(angle)))
    figure = FIGURES["angle_hands"](rotation())
    assert figure.layout.xaxis.scaleanchor == "y"


def test_an_angle_of_286_degrees_stays_286_and_is_not_folded_into_74():
    turned = rotation(inv_freq=[np.deg2rad(286)])
    assert float(FIGURES["angle_hands"].slots(turned, At(position=1))["turns"]) == pytest.approx(
        286 / 360, abs=1e-4
    )
    phase = content("odometer", turned).z[1, 0]
    assert phase == pytest.approx(np.deg2rad(286) - 2 * np.pi)


def test_the_odometer_shows_phases_in_a_cyclic_range():
    cells = content("odometer", rotation())
    assert limits_of([cells]) == (-np.pi, np.pi)
    angle = 33 * 100.0 ** (-2 / 8)
    assert np.exp(1j * cells.z[33, 2]) == pytest.approx(np.exp(1j * angle))
    assert content("odometer", rotation(1030)).y[1] == 3


def test_a_phase_map_follows_rows_and_columns_of_the_grid():
    cells = content("phase_map", axial(), dimension=0)
    assert cells.z.shape == (4, 6)
    assert cells.colours == "cyclic"
    assert (cells.z == cells.z[:, :1]).all()
    assert cells.z[2, 0] == pytest.approx(2 * 0.7)
    columns = content("phase_map", axial(), dimension=1)
    assert (columns.z == columns.z[:1]).all()
    assert columns.z[0, 5] == pytest.approx(5 * 0.1)
    speeds = content("axis_of_pair", axial()).lines
    assert [line.name for line in speeds] == ["row", "column"]
    assert speeds[0].y[0] == 0.7
    assert np.isnan(speeds[0].y[1])


def test_a_staircase_is_drawn_in_steps_over_query_minus_key():
    stairs = Staircase(np.array([-1.0, 0.0, 1.0, 2.0]), np.array([0, 1, 2, 2]))
    figure = FIGURES["staircase"](Result(positions=np.arange(3.0), staircase=stairs))
    assert figure.data[0].line.shape == "hv"
    assert list(figure.data[0].y) == [0, 1, 2, 2]
    assert figure.layout.xaxis.title.text == "distance (query − key)"


def test_strips_are_steps_in_the_order_of_the_tokens():
    result = Result(positions=np.arange(3.0), strips={"segment": np.array([0, 0, 1])})
    (line,) = content("strips", result).lines
    assert (line.name, line.is_step, line.y.tolist()) == ("segment", True, [0, 0, 1])


def test_layers_are_told_apart_in_words():
    result = Result(positions=np.arange(2.0), layers=("RoPE", "RoPE", "none"))
    strip = content("layer_strip", result)
    assert strip.z.tolist() == [[0, 0, 1]]
    assert strip.z_title == "0 = RoPE, 1 = none"
    assert strip.x_title == "layer"


def test_a_power_over_two_decades_is_drawn_on_two_log_axes_and_no_position_is_lost():
    power = 1 / np.arange(1.0, 201)
    result = Result(positions=np.arange(200.0), curves={"1/t": power, "flat": np.ones(200)})
    lines = content("curves", result, part="1/t")
    assert lines.log_x
    assert lines.log_y
    assert lines.x_title == "position, from 1"
    assert (lines.lines[0].x[0], lines.lines[0].x[-1]) == (1, 200)
    flat = content("curves", result, part="flat")
    assert not flat.log_x
    assert flat.lines[0].x[0] == 0
    steps = Schedule(positions=np.array([0.0, 50.0]), curves={"window": np.array([8.0, 16.0])})
    assert content("curves", steps).x_title == "training step"
    assert content("curves", steps).lines[0].x.tolist() == [0, 50]


def test_the_reach_of_a_stack_grows_by_one_window_a_layer():
    line = content("receptive_field", mask()).lines[0]
    assert line.x.tolist() == [1, 2, 3]
    assert line.y.tolist() == [4, 7, 10]


def test_named_maps_choose_the_head_and_their_colours_by_sign():
    first = np.arange(32.0).reshape(2, 4, 4)
    result = Result(positions=np.arange(4.0), maps={"gates": first, "shift": -first[0]})
    gates = content("named_maps", result, part="gates", head=1)
    assert gates.z[0, 0] == 16
    assert gates.colours == "size"
    assert content("named_maps", result, part="shift").colours == "signed"


def test_the_path_of_one_wave_is_a_circle_of_its_own_radius():
    angles = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    circle = np.stack([3 * np.cos(angles), 3 * np.sin(angles), np.zeros(60)], axis=1)
    path = content("trajectory", table(60, vectors=circle)).lines[0]
    np.testing.assert_allclose(np.hypot(path.x, path.y), 3)
    assert FIGURES["trajectory"](table()).layout.xaxis.scaleanchor == "y"


def test_a_table_as_a_map_has_positions_down_and_dimensions_across():
    cells = content("table_map", table(1030))
    assert cells.z.shape == (344, 16)
    assert cells.block == 3
    assert cells.z[1, 4] == pytest.approx(sines(np.arange(3.0, 6))[:, 4].mean())
    assert titles("table_map", table()) == ("dimension", "position")


def test_a_term_that_would_look_empty_has_a_scale_of_its_own_and_says_so():
    result = terms()
    faint = replace(result, terms={**result.terms, "position": result.terms["position"] * 1e-3})
    weak = content("terms", faint, head=1, part="position")
    assert weak.z_title == "logit, on a scale of its own"
    assert weak.limits == (-float(np.nanmax(np.abs(weak.z))), float(np.nanmax(np.abs(weak.z))))
    strong = content("terms", faint, head=1, part="content")
    assert strong.z_title == "logit"
    assert strong.limits[1] > 20 * weak.limits[1]


def test_a_table_shows_its_end_as_a_blank_zone_and_a_longer_one_does_not():
    whole = replace(table(), undefined_from=len(table().positions))
    count = len(whole.positions)
    cells = content("table_map", whole)
    assert np.isnan(cells.z[count:]).all()
    assert not np.isnan(cells.z[:count]).any()
    assert len(cells.z) > count
    assert cells.y[count] == count
    assert f"undefined from {count} on" in cells.y_title
    assert content("waves", whole).levels == [(float(count), "no row from here on")]
    part = replace(whole, undefined_from=count + 1)
    assert len(content("table_map", part).z) == count
    assert content("waves", part).levels == []


def test_a_few_cells_far_out_do_not_take_all_colour():
    z = np.full((20, 20), 0.1)
    z[0, 0] = 5.0
    one = content("table_map", replace(table(), vectors=z, positions=np.arange(20.0)))
    assert limits_of([one]) == (-0.1, 0.1)
    z[:4] = 5.0
    one = content("table_map", replace(table(), vectors=z, positions=np.arange(20.0)))
    assert limits_of([one]) == (-5.0, 5.0)
