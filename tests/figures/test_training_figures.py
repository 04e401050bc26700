"""Figures of tiny trainings: ghosts, levels, axes that stay, bars per test and per method."""

import math

import numpy as np
import pytest

from posviz.figures import Series
from posviz.figures.lab.extension_ranking import extension_ranking
from posviz.figures.lab.length_curves import length_curves
from posviz.figures.lab.memory import PATTERNS, memory
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
    assert levels(begun) == {"chance": 2.77}
    assert levels(later) == {"chance": 2.77, "floor 0.565": 0.565}


def test_without_any_curve_the_axes_and_levels_are_there():
    for figure in (length_curves, position_curves):
        spec = figure.build([], **TEST)
        assert spec.data == []
        assert spec.layout["yaxis"]["range"][1] > TEST["chance"]
    assert training_curves.build([], steps=10, chance=2.77).layout["yaxis"]["range"][1] > 2.77


def test_memory_has_a_bar_per_test_and_a_pattern_that_repeats_the_colour():
    tests = ["as trained, 64", "longer, 256"]
    series = [Series("RoPE", 1, (1.0, 0.75)), Series("ALiBi", 2, (1.0, math.nan))]
    spec = memory.build(series, tests=tests, chance=0.5)
    assert [bars["x"] for bars in spec.data] == [tests, tests]
    np.testing.assert_array_equal(spec.data[1]["y"], [1.0, math.nan])
    shapes = [bars["marker"]["pattern"]["shape"] for bars in spec.data]
    assert shapes == [PATTERNS[1], PATTERNS[2]]
    assert len(set(PATTERNS)) == 6
    assert levels(spec) == {"guessing": 0.5}
    assert spec.layout["xaxis"]["ticktext"] == ["as<br>trained,<br>64", "longer,<br>256"]


def test_the_ranking_keeps_the_order_that_is_given_and_has_a_bar_per_factor():
    losses = {"YaRN": (0.6, 0.7), "none": (0.8, 1.9), "PI": (0.9, 2.1)}
    spec = extension_ranking.build(losses, factors=(2.0, 8.0), trained=64, floor=0.565, chance=2.77)
    assert [bars["name"] for bars in spec.data] == ["s = 2, 128 tokens", "s = 8, 512 tokens"]
    assert [list(bars["x"]) for bars in spec.data] == [["YaRN", "none", "PI"]] * 2
    assert list(spec.data[1]["y"]) == [0.7, 1.9, 2.1]
    assert spec.layout["xaxis"]["categoryarray"] == ["YaRN", "none", "PI"]
    assert levels(spec) == {"best possible": 0.565, "guessing": 2.77}


@pytest.mark.parametrize(
    "spec",
    [
        length_curves.build(LINE, ghosts=STORED, **TEST),
        position_curves.build(LINE, **{**TEST, "metric": "accuracy", "best": 1.0, "chance": 0.5}),
        training_curves.build(LINE, steps=128, chance=2.77, ghosts=STORED),
        memory.build([Series("A", 0, (1.0,))], tests=["as trained, 64"], chance=0.5),
        extension_ranking.build({"PI": (1.0,)}, factors=(2.0,), trained=64, floor=0, chance=2),
    ],
)
def test_plotly_takes_every_figure_in_both_modes(spec):
    assert len(spec.figure("light").data) == len(spec.figure("dark").data) == len(spec.data)
