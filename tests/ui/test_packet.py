"""Packets are read back here by an independent reader of the layout that packet.py states."""

import json
import struct
import tomllib
import zlib
from importlib.resources import files

import numpy as np
import plotly.graph_objects as go
import pytest
from plotly.offline import get_plotlyjs_version

from posviz.ui.live import pack

ASSETS = files("posviz.ui.live") / "assets"


def read(packet):
    (length,) = struct.unpack_from("<I", packet)
    header = json.loads(packet[4 : 4 + length])
    return header, packet[4 + length + (-(length) % 4) :]


def array(entry, blocks):
    name = "f32" if "f32" in entry else "i32"
    offset, count = entry[name]
    return np.frombuffer(blocks, {"f32": "<f4", "i32": "<i4"}[name], count, offset)


@pytest.mark.parametrize("title", ["", "a", "ab", "abc", "λ", "long " * 100])
def test_arrays_are_aligned_and_come_back_whatever_the_headers_length(title):
    x, y = np.arange(64), np.linspace(0, 1, 800)
    header, blocks = read(pack({"title": title, "x": x, "deep": [{"y": y}]}))
    assert header["x"]["i32"][0] % 4 == 0
    np.testing.assert_array_equal(array(header["x"], blocks), x)
    np.testing.assert_array_equal(array(header["deep"][0]["y"], blocks), y.astype(np.float32))


def test_nan_and_infinity_survive_in_arrays():
    header, blocks = read(pack({"y": np.array([1.0, np.nan, np.inf, -np.inf])}))
    np.testing.assert_array_equal(array(header["y"], blocks), [1, np.nan, np.inf, -np.inf])


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.float64("nan")])
def test_nan_outside_an_array_is_refused(value):
    with pytest.raises(ValueError, match="Out of range float"):
        pack({"value": value})


def test_a_value_that_json_cannot_hold_is_refused():
    with pytest.raises(TypeError, match="a packet cannot hold set"):
        pack({"value": {1, 2}})


def test_numpy_scalars_become_plain_numbers():
    header, _ = read(pack({"a": np.float64(0.5), "b": np.int64(7), "c": np.bool_(True)}))
    assert header == {"a": 0.5, "b": 7, "c": True}
    assert header["c"] is True


def test_whole_numbers_beyond_int32_are_sent_as_float32():
    header, blocks = read(pack({"x": np.array([2**40, 1])}))
    assert array(header["x"], blocks).tolist() == [2.0**40, 1.0]


def test_arrays_of_text_become_lists():
    header, _ = read(pack({"text": np.array(["a", "b"])}))
    assert header == {"text": ["a", "b"]}


def test_a_matrix_keeps_its_shape():
    header, blocks = read(pack({"z": np.arange(6.0).reshape(2, 3)}))
    assert header["z"]["shape"] == [2, 3]
    np.testing.assert_array_equal(array(header["z"], blocks), np.arange(6.0))


def test_a_plotly_figure_loses_no_number():
    y = np.geomspace(1, 1000, 50)
    figure = go.Figure(go.Scatter(x=np.arange(50), y=y), layout={"template": None})
    header, blocks = read(pack({"figure": figure.to_plotly_json()}))
    (trace,) = header["figure"]["data"]
    np.testing.assert_array_equal(array(trace["x"], blocks), np.arange(50))
    np.testing.assert_array_equal(array(trace["y"], blocks), y.astype(np.float32))


def test_the_same_array_travels_once():
    x = np.linspace(0, 1, 500)
    header, blocks = read(pack({"a": x, "b": x.copy()}))
    assert header["a"] == header["b"]
    assert len(blocks) == 2000


def test_what_the_browser_holds_is_sent_as_a_reference():
    content = {"x": np.linspace(0, 1, 500), "help": "A long text. " * 40, "short": "text"}
    first, _ = read(pack(content))
    known = [first["x"]["id"], first["help"]["id"]]
    assert first["help"]["s"] == content["help"]
    second, blocks = read(pack(content, known=known))
    assert second == {"x": {"ref": known[0]}, "help": {"ref": known[1]}, "short": "text"}
    assert blocks == b""


def test_arrays_that_differ_in_type_or_shape_alone_have_other_ids():
    zeros = np.zeros(24)
    header, _ = read(pack({"a": zeros, "b": zeros.astype(int), "c": zeros.reshape(4, 6)}))
    assert len({header[name]["id"] for name in "abc"}) == 3


def heat(z, low=-1.0, high=1.0, **more):
    rows, columns = np.shape(z)
    x, y = np.arange(columns), np.arange(rows)
    return {"type": "heatmap", "x": x, "y": y, "z": z, "zmin": low, "zmax": high, **more}


def cells(entry, blocks):
    offset, size, rows, columns = entry["heat"]
    levels = zlib.decompress(blocks[offset : offset + size])
    return np.frombuffer(levels, np.uint8).reshape(rows, columns)


def test_a_heat_maps_values_are_rounded_to_255_levels_and_blank_is_zero():
    z = [[-1, -1 + 0.49 * 2 / 254, -1 + 0.51 * 2 / 254], [0, 1, np.nan], [-7, np.inf, -np.inf]]
    trace, blocks = read(pack(heat(z, name="map")))
    assert cells(trace["z"], blocks).tolist() == [[1, 1, 2], [128, 255, 0], [1, 255, 1]]
    assert trace["z"]["heat"][2:] == [3, 3]
    assert (trace["name"], trace["zmin"], trace["zmax"]) == ("map", -1, 1)


def test_a_level_gives_a_value_back_to_half_a_step():
    z = np.random.default_rng(3).uniform(2, 5, (40, 30))
    trace, blocks = read(pack(heat(z, 2, 5)))
    back = 2 + (cells(trace["z"], blocks).astype(float) - 1) * 3 / 254
    assert np.abs(back - z).max() <= 1.5 / 254 + 1e-12


def test_arrays_behind_a_heat_map_stay_aligned():
    z = np.random.default_rng(5).uniform(-1, 1, (7, 5))
    y = np.linspace(0, 1, 30)
    header, blocks = read(pack({"map": heat(z), "y": y}))
    assert header["y"]["f32"][0] % 4 == 0
    np.testing.assert_array_equal(array(header["y"], blocks), y.astype(np.float32))


def test_plotlys_own_form_of_a_heat_map_gives_the_same_bytes():
    z = np.linspace(-1, 1, 12).reshape(3, 4)
    figure = go.Figure(go.Heatmap(heat(z)), layout={"template": None}).to_plotly_json()
    sent, blocks = read(pack(figure))
    plain, plain_blocks = read(pack(heat(z)))
    levels = cells(sent["data"][0]["z"], blocks)
    np.testing.assert_array_equal(levels, cells(plain["z"], plain_blocks))


def test_a_heat_map_that_the_browser_holds_is_sent_as_a_reference():
    z = np.linspace(-1, 1, 10_000).reshape(100, 100)
    first, _ = read(pack(heat(z)))
    again, _ = read(pack(heat(z), known=[first["z"]["id"]]))
    assert again["z"] == {"ref": first["z"]["id"]}
    other, blocks = read(pack(heat(z, high=2.0), known=[first["z"]["id"]]))
    assert cells(other["z"], blocks).max() == 170
    turned, _ = read(pack(heat(z.reshape(50, 200)), known=[first["z"]["id"]]))
    assert turned["z"]["id"] != first["z"]["id"]


def test_a_heat_map_without_a_range_of_values_or_with_other_axes_is_refused():
    with pytest.raises(ValueError, match=r"a finite zmin below zmax, got 1\.0 and 1\.0"):
        pack(heat([[0.0]], 1.0, 1.0))
    with pytest.raises(ValueError, match=r"a finite zmin below zmax, got -1\.0 and nan"):
        pack(heat([[0.0]], high=float("nan")))
    with pytest.raises(ValueError, match="needs x and zmax"):
        pack({"type": "heatmap", "y": [0], "z": [[0.0]], "zmin": 0.0})
    with pytest.raises(ValueError, match=r"z of shape \(2, 3\), got \(3, 2\)"):
        pack({**heat(np.zeros((2, 3))), "z": np.zeros((3, 2))})


def test_the_vendored_plotly_is_the_one_that_pythons_plotly_was_made_for():
    head = (ASSETS / "plotly-cartesian.min.js").read_text()[:200]
    assert f"plotly.js (cartesian - minified) v{get_plotlyjs_version()}\n" in head


def test_the_licence_of_the_vendored_plotly_is_kept():
    text = (ASSETS / "plotly-cartesian.LICENSE.txt").read_text()
    assert "MIT License" in text
    assert "Plotly Technologies Inc." in text


def test_streamlits_manifest_names_the_folder_of_the_assets():
    manifest = tomllib.loads((files("posviz") / "pyproject.toml").read_text())
    (component,) = manifest["tool"]["streamlit"]["component"]["components"]
    assert manifest["project"]["name"] == "posviz"
    assert component["name"] == "live_board"
    assert (files("posviz") / component["asset_dir"] / "board.js").is_file()
