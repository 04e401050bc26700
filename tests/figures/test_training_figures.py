"""Figures of tiny trainings: ghosts, levels, axes that stay, bars per test and per method."""

import math

import numpy as np
import pytest

from posviz.figures import Series, theme
from posviz.figures.lab.extension_ranking import extension_positions, extension_ranking
from posviz.figures.lab.length_curves import length_curves
from posviz.figures.lab.memory import PATTERNS, Recall, memory
from posviz.figures.lab.position_curves import position_curves
from posviz.figures.lab.training_curves import training_curves

LINE = [Series("RoPE", 1, ((32, 64, 128), (0.6, 0.6, 2.0)))]
STORED = [Series("RoPE, stored", 1, ((32, 64, 128), (0.5, 0.5, 1.0)))]
TEST = {"trained": 64, "longest": 128, "metric": "loss", "best": 0.5, "chance": 2.77}


def levels(spec):
    """Words of a reference line to its value."""
    found = {}
    for shape, label in zip(spec.layout["shapes"], spec.layout["annotations"], strict=True):
        found[label["text"]] = shape["y0"] if shape["y0"] == shape["y1"] else shape["x0"]
    return found


@pytest.mark.parametrize("figure", [length_curves, position_curves], ids=lambda one: one.title)
def test_a_ghost_has_the_colour_of_its_line_is_fainter_and_lies_below_it(figure):
    ghost, line = figure.build(LINE, ghosts=STORED, **TEST).data
    assert (ghost["name"], line["name"]) == ("RoPE, stored", "RoPE")
    assert ghost["line"]["color"] == line["line"]["color"]
    assert ghost["line"]["width"] < line["line"]["width"]
    assert ghost["opacity"] < 0.5
    assert "opacity" not in line


@pytest.mark.parametrize("figure", [length_curves, position_curves], ids=lambda one: one.title)
def test_the_length_of_training_the_best_and_guessing_are_marked(figure):
    assert levels(figure.build(LINE, **TEST)) == {
        "L = 64": 64,
        "best possible": 0.5,
        "guessing": 2.77,
    }


def test_length_is_drawn_on_a_log_axis_with_a_tick_at_each_doubling():
    axis = length_curves.build(LINE, **{**TEST, "longest": 512}).layout["xaxis"]
    assert axis["type"] == "log"
    assert axis["ticktext"] == ["32", "64", "128", "256", "512"]
    assert 10 ** axis["range"][0] < 32
    assert 10 ** axis["range"][1] > 512


def test_the_axes_of_a_training_do_not_jump_while_it_runs():
    begun = training_curves.build([Series("A", 0, ((0, 8), (2.8, 2.0)))], steps=400, chance=2.77)
    later = training_curves.build(
        [Series("A", 0, ((0, 8, 16), (2.8, 2.0, 1.0)))], steps=400, chance=2.77, floor=0.565
    )
    for name in ("xaxis", "yaxis"):
        assert begun.layout[name]["range"] == later.layout[name]["range"]
    assert begun.layout["xaxis"]["range"] == [0, 400]
    assert levels(begun) == {"guessing": 2.77}
    assert levels(later) == {"guessing": 2.77, "best possible 0.565": 0.565}


def test_without_any_curve_the_axes_and_levels_are_there():
    for figure in (length_curves, position_curves):
        spec = figure.build([], **TEST)
        assert spec.data == []
        assert spec.layout["yaxis"]["range"][1] > TEST["chance"]
    assert training_curves.build([], steps=10, chance=2.77).layout["yaxis"]["range"][1] > 2.77


def test_memory_has_a_bar_per_test_and_a_pattern_that_repeats_the_colour():
    tests = ["as trained, 64", "longer, 256"]
    series = [
        Series("RoPE", 1, Recall((1.0, 0.75))),
        Series(
            "ALiBi", 2, Recall((1.0, math.nan), (1200, math.nan), (0.99, math.nan), (1.0, math.nan))
        ),
    ]
    spec = memory.build(series, tests=tests, chance=0.5)
    assert [bars["x"] for bars in spec.data] == [tests, tests]
    np.testing.assert_array_equal(spec.data[1]["y"], [1.0, math.nan])
    plain, counted = spec.data
    assert "error_y" not in plain
    np.testing.assert_allclose(counted["error_y"]["arrayminus"], [0.01, math.nan])
    np.testing.assert_array_equal(counted["error_y"]["array"], [0.0, math.nan])
    assert counted["customdata"] == ["0.990 to 1.000<br>1,200 answers", ""]
    assert "%{customdata}" in counted["hovertemplate"]
    shapes = [bars["marker"]["pattern"]["shape"] for bars in spec.data]
    assert shapes == [PATTERNS[1], PATTERNS[2]]
    assert len(set(PATTERNS)) == 6
    assert levels(spec) == {"guessing": 0.5}
    assert spec.layout["xaxis"]["ticktext"] == ["as<br>trained,<br>64", "longer,<br>256"]


def test_the_ranking_keeps_the_order_that_is_given_and_has_a_bar_per_factor():
    losses = {"YaRN": (0.6, 0.7), "none": (0.8, 1.9), "PI": (0.9, 2.1)}
    spec = extension_ranking.build(losses, factors=(2.0, 8.0), trained=64, floor=0.565, chance=2.77)
    names = ["s = 2, all 128 tokens", "s = 8, all 512 tokens"]
    assert [bars["name"] for bars in spec.data] == names
    assert [list(bars["x"]) for bars in spec.data] == [["YaRN", "none", "PI"]] * 2
    assert list(spec.data[1]["y"]) == [0.7, 1.9, 2.1]
    assert spec.layout["xaxis"]["categoryarray"] == ["YaRN", "none", "PI"]
    assert levels(spec) == {"best possible": 0.565, "guessing": 2.77}


def test_the_other_count_has_its_own_bars_in_the_same_order_of_methods():
    losses = {"YaRN": (0.6, 0.7), "none": (0.8, 1.9), "PI": (0.9, 2.1)}
    end = {"none": 3.5, "PI": 3.0, "YaRN": 0.8}
    known = {"factors": (2.0, 8.0), "trained": 64, "floor": 0.565, "chance": 2.77}
    spec = extension_ranking.build(losses, at_end=end, **known)
    last = spec.data[-1]
    assert last["name"] == "s = 8, last 64 tokens alone"
    assert list(last["x"]) == ["YaRN", "none", "PI"]
    assert list(last["y"]) == [0.8, 3.5, 3.0]
    assert spec.layout["yaxis"]["range"][1] > 3.5
    assert spec.layout["showlegend"] is True


def test_every_method_has_its_line_against_position():
    lines = [
        Series("PI", 1, ((3.5, 260.5), (1.0, 2.0))),
        Series("YaRN", 4, ((3.5, 260.5), (0.6, 3.0))),
    ]
    spec = extension_positions.build(lines, trained=64, longest=512, floor=0.565, chance=2.77)
    assert [line["name"] for line in spec.data] == ["PI", "YaRN"]
    assert spec.layout["xaxis"]["range"] == [0, 512]
    assert spec.layout["yaxis"]["range"][1] > 3.0
    assert levels(spec) == {"L = 64": 64, "best possible": 0.565, "guessing": 2.77}


@pytest.mark.parametrize(
    "spec",
    [
        length_curves.build(LINE, ghosts=STORED, **TEST),
        position_curves.build(LINE, **{**TEST, "metric": "accuracy", "best": 1.0, "chance": 0.5}),
        training_curves.build(LINE, steps=128, chance=2.77, ghosts=STORED),
        memory.build(
            [Series("A", 0, Recall((1.0,), (9,), (0.7,), (1.0,)))],
            tests=["as trained, 64"],
            chance=0.5,
        ),
        extension_ranking.build({"PI": (1.0,)}, factors=(2.0,), trained=64, floor=0, chance=2),
        extension_positions.build(LINE, trained=64, longest=128, floor=0, chance=2),
    ],
)
def test_plotly_takes_every_figure_in_both_modes(spec):
    assert len(spec.figure("light").data) == len(spec.figure("dark").data) == len(spec.data)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_curves_pass_behind_the_labels_of_levels(mode):
    for figure in (length_curves, position_curves):
        for label in figure.build(LINE, **TEST).figure(mode).layout.annotations:
            assert label.bgcolor == theme.GROUND[mode]


@pytest.mark.parametrize("figure", [length_curves, position_curves], ids=lambda one: one.title)
def test_guessing_is_named_at_the_left_where_curves_have_not_risen_to_it(figure):
    labels = {one["text"]: one for one in figure.build(LINE, **TEST).layout["annotations"]}
    assert (labels["guessing"]["x"], labels["guessing"]["xanchor"]) == (0, "left")
    assert (labels["best possible"]["x"], labels["best possible"]["xanchor"]) == (1, "right")
