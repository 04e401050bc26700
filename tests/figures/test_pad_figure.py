"""The figure of two costs holds the numbers of the measure, and marks the points by name."""

import numpy as np
import pytest

import posviz
from posviz import figures, measures
from posviz.figures import Mark


@pytest.fixture(scope="module")
def pad():
    spec = posviz.parse("yarn")
    names = ("beta_fast", "beta_slow")
    return measures.cost_pad(spec, names, length=65536, trained_length=4096, cells=12)


def drawn(pad, **more):
    figure = figures.cost_pad(pad, weight=0.3, units=("turns", "turns"), **more)
    return figure, {trace.name: trace for trace in figure.data}


def test_map_is_the_weighted_cost_and_lines_are_the_two_costs(pad):
    figure, traces = drawn(pad)
    heat = traces["J, weighted cost"]
    np.testing.assert_array_equal(heat.z, pad.objective(0.3))
    np.testing.assert_array_equal(heat.x, pad.x)
    np.testing.assert_array_equal(heat.y, pad.y)
    change, unseen = traces["a, change at short range"], traces["u, unseen arc"]
    np.testing.assert_array_equal(change.z, pad.change)
    np.testing.assert_array_equal(unseen.z, pad.unseen)
    assert change.line.dash != unseen.line.dash
    assert figure.layout.xaxis.title.text == "beta_fast (turns)"
    assert figure.layout.yaxis.title.text == "beta_slow (turns)"
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")


def test_iso_lines_lie_at_round_costs_inside_the_map(pad):
    _, traces = drawn(pad)
    for name, cost in (("a, change at short range", pad.change), ("u, unseen arc", pad.unseen)):
        lines = traces[name].contours
        levels = np.arange(lines.start, lines.end, lines.size)
        low, high = np.nanmin(cost), np.nanmax(cost)
        assert 4 <= levels.size <= 10
        assert low < levels.min()
        assert levels.max() < high
        digits = lines.size / 10 ** np.floor(np.log10(lines.size))
        assert digits == pytest.approx(round(digits))
        assert round(digits) in (1, 2, 5)


def test_front_point_and_proposal_stand_where_they_were_found(pad):
    proposal = measures.propose(pad, weight=0.3)
    _, traces = drawn(pad, point=(20.0, 2.0), proposal=proposal)
    front = traces["Pareto front"]
    shown = {(float(x), float(y)) for x, y in zip(front.x, front.y, strict=True)}
    rows, columns = np.nonzero(pad.front)
    assert shown == set(zip(pad.x[columns].tolist(), pad.y[rows].tolist(), strict=True))
    star = traces["proposal, w = 0.3"]
    assert (star.x[0], star.y[0]) == proposal.point
    assert star.text[0] == "proposal, w = 0.3"
    assert star.hovertemplate.startswith(f"proposal: J = {proposal.objective:.3f}")
    point = traces["current point"]
    assert (point.x[0], point.y[0]) == (20, 2)
    assert len({traces[name].marker.symbol for name in (star.name, point.name, front.name)}) == 3


def test_defaults_at_one_place_share_a_label_and_those_outside_are_left_out(pad):
    marks = [Mark("one", (32.0, 1.0)), Mark("two", (32.0, 1.001)), Mark("far", (500.0, 1.0))]
    marks.append(Mark("2023 repository", (16.0, 2.0)))
    _, traces = drawn(pad, marks=marks, point=(500.0, 1.0))
    assert traces["one; two"].text[0] == "one<br>two"
    assert (traces["one; two"].x[0], traces["one; two"].y[0]) == (32, 1)
    assert "2023 repository" in traces
    assert "far" not in traces
    assert "current point" not in traces


def test_cost_that_is_the_same_everywhere_has_no_lines():
    spec = posviz.parse("linear")
    flat = measures.cost_pad(
        spec,
        ("base", "scaling_factor"),
        length=4096,
        trained_length=4096,
        cells=5,
    )
    assert not flat.unseen.any()
    _, traces = drawn(flat)
    assert "u, unseen arc" not in traces
    assert "a, change at short range" in traces


def test_ticks_are_numbers_that_people_read():
    spec = posviz.parse("linear")
    pad = measures.cost_pad(spec, ("base", "scaling_factor"), length=65536, trained_length=4096)
    figure = figures.cost_pad(pad, weight=0.5)
    assert list(figure.layout.xaxis.ticktext) == ["1k", "10k", "100k", "1M", "10M", "100M"]
    assert list(figure.layout.yaxis.ticktext) == ["1", "2", "5", "10", "20", "50"]
