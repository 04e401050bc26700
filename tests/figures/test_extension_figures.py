"""The lab's figures of extension: data read back, axes, window, band."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from posviz.figures import theme
from posviz.figures.lab.loss_by_position import loss_by_position
from posviz.figures.lab.loss_gap import loss_gap
from posviz.figures.lab.passkey_grid import narrowest, passkey_grid
from posviz.figures.spec import Series


@dataclass(frozen=True)
class Line:
    positions: tuple[float, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Cells:
    lengths: tuple[int, ...] = (2048, 8192, 12288)
    depths: tuple[float, ...] = (0.25, 0.75)
    exact: tuple[tuple[float, ...], ...] = ((1.0, 0.0), (0.0, 0.0), (0.0, float("nan")))
    right: tuple[tuple[float, ...], ...] = ((1.0, 0.8), (0.6, 0.4), (0.0, float("nan")))
    absent_exact: tuple[tuple[float, ...], ...] = ((0.2, 0.0), (0.2, 0.2), (0.0, float("nan")))
    loss: tuple[tuple[float, ...], ...] = ((0.1, 0.2), (1.0, 2.0), (9.0, float("nan")))
    trained_window: int = 8192


LEVEL = Line((1.0, 6000.0, 12000.0), (3.0, 3.1, 3.0), (2.9, 3.0, 2.9), (3.1, 3.2, 3.1), (9, 18, 9))
BROKEN = Line((1.0, 6000.0, 12000.0), (3.0, 3.1, 9.0), (2.9, 3.0, 8.9), (3.1, 3.2, 9.1), (9, 18, 9))
BOTH: list[Series[Any]] = [Series("RoPE", None, BROKEN), Series("YaRN", 0, LEVEL)]


def test_each_method_has_its_line_and_its_band() -> None:
    spec = loss_by_position.build(BOTH, window=8192, length=12288)
    bands, lines = spec.data[:2], spec.data[2:]
    assert [trace["name"] for trace in lines] == ["RoPE", "YaRN"]
    assert lines[1]["y"].tolist() == [3.0, 3.1, 3.0]
    assert lines[1]["customdata"].tolist() == [9, 18, 9]
    assert lines[1]["line"] == theme.line(0)
    assert bands[1]["y"].tolist() == [2.9, 3.0, 2.9, 3.1, 3.2, 3.1]
    assert bands[1]["x"].tolist() == [1, 6000, 12000, 12000, 6000, 1]
    assert bands[1]["fillcolor"]["light"] == "rgba(0,114,178,0.18)"


def test_the_window_is_marked_where_the_text_goes_beyond_it() -> None:
    layout = loss_by_position.build(BOTH, window=8192, length=12288).layout
    assert [shape["x0"] for shape in layout["shapes"]] == [8192]
    assert layout["annotations"][0]["text"] == "L = 8,192"
    assert loss_by_position.build(BOTH, window=8192, length=4096).layout["shapes"] == []
    assert layout["xaxis"]["title"]["text"] == "position (tokens)"
    assert layout["yaxis"]["title"]["text"] == "loss (nats per token)"
    assert layout["xaxis"]["range"] == [0, 12288]


def test_a_method_that_breaks_does_not_flatten_the_others() -> None:
    low, high = loss_by_position.build(BOTH, window=8192, length=12288).layout["yaxis"]["range"]
    assert low == pytest.approx(2.9, abs=0.2)
    assert high == pytest.approx(3.2 + 2.5, abs=0.2)
    alone = loss_by_position.build(BOTH[:1], window=8192, length=12288).layout["yaxis"]["range"]
    assert alone[1] > 9.1
    given = loss_by_position.build(BOTH, window=8192, length=12288, ceiling=10.0)
    assert given.layout["yaxis"]["range"][1] > 10


def test_a_run_that_has_not_begun_draws_empty_axes() -> None:
    nothing = Series("RoPE", None, Line((), (), (), (), ()))
    spec = loss_by_position.build([nothing], window=8192, length=12288)
    assert spec.data == []
    assert loss_by_position([nothing], window=8192, length=12288).layout.xaxis.range == (0, 12288)


def test_a_grid_shows_lengths_across_and_depths_downwards() -> None:
    spec = passkey_grid.build([Series("RoPE", None, Cells())])
    (cells,) = spec.data
    assert cells["x"] == ["2,048", "8,192", "12,288"]
    assert cells["y"] == ["0.25", "0.75", "no such name"]
    assert np.array_equal(cells["z"][:2], np.array(Cells.exact).T, equal_nan=True)
    assert cells["text"][0] == ["1 (1)", "0 (0.6)", "0 (0)"]
    assert cells["text"][1] == ["0 (0.8)", "0 (0.4)", ""]
    # The control: the mean over the keys of each length.
    assert cells["text"][2] == ["0.1", "0.2", ""]
    assert cells["z"][2][:2] == pytest.approx([0.1, 0.2])
    assert cells["customdata"][0][:, 0].tolist() == [1.0, 0.6, 0.0]
    assert cells["customdata"][0][:, 1].tolist() == [0.1, 1.0, 9.0]
    assert (cells["zmin"], cells["zmax"]) == (0, 1)
    assert spec.layout["yaxis"]["autorange"] == "reversed"
    # Between the second length, which is the window, and the third.
    assert spec.layout["shapes"][0]["x0"] == 1.5


def test_methods_stand_side_by_side_on_one_scale() -> None:
    spec = passkey_grid.build([Series(name, None, Cells()) for name in ("a", "b", "c")])
    assert [trace["xaxis"] for trace in spec.data] == ["x", "x2", "x3"]
    assert {(trace["zmin"], trace["zmax"]) for trace in spec.data} == {(0, 1)}
    assert [note["text"] for note in spec.layout["annotations"]] == ["a", "b", "c"]
    assert spec.layout["xaxis2"]["domain"][0] > spec.layout["xaxis"]["domain"][1]
    assert spec.layout["yaxis3"]["domain"][1] < spec.layout["yaxis"]["domain"][0]
    figure = passkey_grid([Series("a", None, Cells())])
    assert figure.layout.xaxis.title.text == "tokens in all"


def test_lengths_within_the_window_have_no_line() -> None:
    inside = Cells(trained_window=32768)
    assert passkey_grid.build([Series("a", None, inside)]).layout["shapes"] == []
    assert passkey_grid.build([]).data == []


def test_the_plain_models_level_is_drawn_where_it_is_known() -> None:
    layout = loss_by_position.build(BOTH, window=8192, length=12288, plain_within=3.04).layout
    assert [shape.get("y0") for shape in layout["shapes"]][1] == 3.04
    assert layout["annotations"][1]["text"] == "level line: plain within L, 3.040"


def test_differences_are_drawn_around_none() -> None:
    better = Line((1.0, 6000.0), (0.1, -0.4), (0.0, -0.5), (0.2, -0.3), (9, 18))
    worse = Line((1.0, 6000.0), (0.2, 7.0), (0.1, 6.0), (0.3, 8.0), (9, 18))
    spec = loss_gap.build(
        [Series("YaRN", 1, better), Series("PI", 2, worse)], window=8192, length=12288
    )
    assert [trace["name"] for trace in spec.data[2:]] == ["YaRN", "PI"]
    assert spec.data[2]["y"].tolist() == [0.1, -0.4]
    assert spec.data[2]["line"] == theme.line(1)
    assert [note["text"] for note in spec.layout["annotations"]] == ["plain", "L = 8,192"]
    low, high = spec.layout["yaxis"]["range"]
    assert -0.7 < low < -0.5
    assert 1 < high < 1.2  # one that breaks does not flatten the other
    alone = loss_gap.build([Series("PI", 2, worse)], window=8192, length=12288)
    assert alone.layout["yaxis"]["range"][1] > 1
    nothing = loss_gap.build([], window=8192, length=4096)
    assert nothing.data == []
    assert len(nothing.layout["shapes"]) == 1


def test_a_grid_asks_for_room_for_the_numbers_in_its_cells() -> None:
    one, two = narrowest([Cells()]), narrowest([Cells(), Cells()])
    drawn = passkey_grid.build([Series(name, None, Cells()) for name in ("a", "b")]).layout
    margin, cells = drawn["margin"], len(Cells().lengths)
    across = [drawn["xaxis"]["domain"], drawn["xaxis2"]["domain"]]
    for start, end in across:
        # 10 characters of a font of 10 pixels, about 5.5 pixels each.
        assert (two - margin["l"] - margin["r"]) * (end - start) / cells >= 55
    assert one < two == narrowest([Cells()] * 3)
