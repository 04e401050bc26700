"""Figures of what a model does: the numbers read back from them, and what a click is told."""

import numpy as np
import pytest

from posviz.figures.lab.attention_map import attention_map
from posviz.figures.lab.decay_grid import decay_grid, tile_distances
from posviz.figures.lab.distance_decay import distance_decay, logit_decay, shown
from posviz.figures.lab.entropy_by_position import entropy_by_position
from posviz.figures.lab.head_grid import head_grid
from posviz.figures.lab.head_statistics import head_statistics
from posviz.figures.lab.position_breaks import neighbour_shares, permuted_maps
from posviz.figures.lab.tiles import in_model_order, sorted_tiles

LAYERS, HEADS = 30, 9


@pytest.fixture
def maps():
    """Every tile is even, with a weight of its own: 10^-(layer/10 + head/100)."""
    layer, head = np.mgrid[:LAYERS, :HEADS]
    weights = 10.0 ** -(layer / 10 + head / 100)
    return np.broadcast_to(weights[..., None, None], (LAYERS, HEADS, 48, 48))


def by_name(figure, name):
    return next(trace for trace in figure.data if trace.name.startswith(name))


def notes(tiles):
    return [f"note {layer}.{head}" for layer, head in tiles.heads]


@pytest.mark.parametrize("kind", ["model", "sorted"])
def test_each_tile_of_the_mosaic_shows_the_head_that_a_click_on_it_names(maps, kind):
    ranked = [(layer, head) for layer in reversed(range(LAYERS)) for head in range(HEADS)]
    tiles = in_model_order(LAYERS, HEADS) if kind == "model" else sorted_tiles(ranked)
    figure = head_grid(maps, tiles, notes=notes(tiles), chosen=(7, 2))
    mosaic, clicks = by_name(figure, "weights"), by_name(figure, "heads")
    assert max(mosaic.z.shape) <= 512
    assert len(clicks.customdata) == 270
    assert len({tuple(head) for head in clicks.customdata}) == 270
    for x, y, (layer, head), note in zip(
        clicks.x, clicks.y, clicks.customdata, clicks.text, strict=True
    ):
        cell = mosaic.z[np.abs(mosaic.y - y).argmin(), np.abs(mosaic.x - x).argmin()]
        assert cell == pytest.approx(-(layer / 10 + head / 100), abs=1e-5)
        assert note == f"note {layer}.{head}"
    (frame,) = figure.layout.shapes
    at = [tuple(head) for head in clicks.customdata].index((7, 2))
    assert ((frame.x0 + frame.x1) / 2, (frame.y0 + frame.y1) / 2) == (clicks.x[at], clicks.y[at])


def test_axes_name_layers_and_heads_where_the_tiles_stand_in_the_models_order(maps):
    tiles = in_model_order(LAYERS, HEADS)
    layout = head_grid(maps, tiles, notes=notes(tiles)).layout
    assert (layout.xaxis.title.text, layout.yaxis.title.text) == ("layer", "head")
    for place, text in zip(layout.xaxis.tickvals, layout.xaxis.ticktext, strict=True):
        assert tiles.heads[int(place)] == (int(text), 0)
    ranked = sorted_tiles(list(tiles.heads))
    assert not head_grid(maps, ranked, notes=notes(ranked)).layout.xaxis.showticklabels


def test_tiles_are_parted_by_blank_cells(maps):
    tiles = in_model_order(LAYERS, HEADS)
    mosaic = by_name(head_grid(maps, tiles, notes=notes(tiles)), "weights")
    step = mosaic.z.shape[1] // LAYERS
    assert np.isnan(mosaic.z[:, step - 1 :: step]).all()
    assert np.isfinite(np.delete(mosaic.z[0], np.s_[step - 1 :: step])).all()


def test_weights_of_nothing_have_the_colour_of_the_deepest(maps):
    tiles = sorted_tiles([(0, 0)])
    figure = head_grid(np.zeros((1, 1, 8, 8)), tiles, notes=["zero"])
    assert np.nanmax(by_name(figure, "weights").z) == by_name(figure, "weights").zmin == -4


def test_every_tile_of_the_decay_grid_holds_three_lines_of_its_head():
    rng = np.random.default_rng(0)
    measured, predicted = rng.uniform(1e-3, 1, (2, 3, 2, 100))
    tiles = sorted_tiles([(2, 1), (0, 0), (1, 1), (0, 1), (1, 0), (2, 0)], columns=4)
    flat = np.geomspace(1, 1e-3, 100)
    figure = decay_grid(measured, predicted, flat, tiles, notes=notes(tiles))
    every = np.broadcast_to(flat, measured.shape)
    at = tile_distances(100)
    assert at[0] == 1
    assert at[-1] == shown(100) - 1
    for name, curves in (("measured", measured), ("predicted", predicted), ("no", every)):
        line = by_name(figure, name)
        broken = np.flatnonzero(np.isnan(line.x))
        assert len(broken) == 6
        for place, (layer, head) in enumerate(tiles.heads):
            part = slice(broken[place - 1] + 1 if place else 0, broken[place])
            column, row = tiles.corner(place)
            assert line.x[part].min() > column
            assert line.x[part].max() < column + 1
            power = -4 * (line.y[part] - row - 0.06) / 0.88
            np.testing.assert_allclose(10**power, curves[layer, head, at], rtol=1e-4)


def test_a_line_breaks_where_it_falls_out_of_its_tile():
    curve = np.where(np.arange(60) < 5, 0.1, 1e-9)[None, None]
    line = by_name(
        decay_grid(curve, curve, curve[0, 0], sorted_tiles([(0, 0)]), notes=["x"]), "measured"
    )
    assert np.isnan(line.y[tile_distances(60).searchsorted(5) :]).all()
    assert np.isfinite(line.y[0])


def test_decay_of_a_head_holds_what_was_measured_and_predicted():
    n = 64
    lines = np.random.default_rng(1).uniform(0.001, 1, (4, n - 1))
    with_first = np.full(n, 0.5)
    figure = distance_decay(*lines, with_first, label="layer 1, head 2")
    assert [trace.name for trace in figure.data][-1] == "measured, layer 1, head 2"
    for name, values in zip(
        ("measured", "predicted from mean", "illustration", "no positions"), lines, strict=True
    ):
        np.testing.assert_array_equal(by_name(figure, name).y, values[: shown(n - 1)])
    assert by_name(figure, "measured").x[:3].tolist() == [0.5, 1, 2]
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"


def test_logits_stand_with_their_spread_around_them():
    at = np.arange(20)
    figure = logit_decay(at, -0.1 * at, 0 * at + 0.5, -0.2 * at, label="layer 0, head 0")
    np.testing.assert_allclose(by_name(figure, "one σ above").y, -0.1 * at + 0.5)
    np.testing.assert_allclose(by_name(figure, "one σ below").y, -0.1 * at - 0.5)
    np.testing.assert_allclose(by_name(figure, "predicted").y, -0.2 * at)


def test_the_map_of_a_head_leaves_later_keys_blank_and_has_its_margins():
    weights = np.tri(5) / np.arange(1, 6)[:, None]
    received, entropy = np.full(5, 0.25), np.log(np.arange(1, 6))
    tokens = ["The", " dog", " bit", "\n", "."]
    figure = attention_map(weights, received, entropy, tokens=tokens, label="layer 0, head 0")
    cells = figure.data[0].z
    assert np.isnan(cells[np.triu_indices(5, 1)]).all()
    seen = np.tril_indices(5)
    np.testing.assert_allclose(10 ** cells[seen], weights[seen], rtol=1e-6)
    assert by_name(figure, "layer 0, head 0: received").yaxis == "y2"
    side = by_name(figure, "layer 0, head 0: entropy")
    np.testing.assert_allclose(side.x, by_name(figure, "ln of the keys").x)
    names = ["0 The", "1 dog", "2 bit", "3 ·", "4 ."]
    assert list(figure.data[0].x) == list(figure.data[0].y) == list(side.y) == names
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "category"
    both_ways = attention_map(
        np.full((5, 5), 0.2), received, entropy, tokens=tokens, label="x", is_causal=False
    )
    assert np.isfinite(both_ways.data[0].z).all()
    np.testing.assert_allclose(by_name(both_ways, "ln").x, np.log(5))


def test_entropy_stands_beside_the_logarithm_of_the_keys():
    entropy = np.random.default_rng(2).uniform(0, 1, (3, 2, 40))
    figure = entropy_by_position(entropy, 2, 1)
    np.testing.assert_array_equal(by_name(figure, "layer 2, head 1").y, entropy[2, 1])
    np.testing.assert_allclose(by_name(figure, "ln").y, np.log(np.arange(1, 41)))
    below = by_name(figure, "90 %").y
    assert (entropy.reshape(6, 40) <= below).mean() >= 0.8


def test_dots_are_sorted_and_name_their_heads():
    values = np.random.default_rng(3).uniform(0, 1, (4, 3))
    figure = head_statistics(values, words="share", chosen=(2, 1))
    dots, picked = figure.data
    assert (np.diff(dots.y) <= 0).all()
    for y, (layer, head) in zip(dots.y, dots.customdata, strict=True):
        assert y == values[layer, head]
    assert picked.y.tolist() == [values[2, 1]]
    assert figure.layout.yaxis.title.text == "share"
    across = head_statistics(values, words="share", across="layer").data[0]
    assert [layer for layer, _ in across.customdata] == across.x.tolist()


def test_permuted_maps_share_one_scale_and_stand_side_by_side():
    drawn = np.random.default_rng(4).uniform(0.001, 1, (2, 1, 3, 6, 6))
    figure = permuted_maps(*drawn, np.arange(6.0), head=(0, 2), order="reversed")
    for trace, weights in zip(figure.data, drawn, strict=True):
        np.testing.assert_allclose(10**trace.z, weights[0, 2])
        assert (trace.zmin, trace.zmax) == (-4, 0)
    assert figure.layout.xaxis.domain[1] < figure.layout.xaxis2.domain[0]
    assert figure.layout.xaxis2.title.text == "key, reversed ids"


def test_neighbour_shares_have_no_marks_by_id_where_ids_tell_no_neighbours():
    true, permuted, by_ids = np.random.default_rng(5).uniform(0, 1, (3, 2, 4))
    figure = neighbour_shares(true, permuted, by_ids, chosen=(1, 3))
    first, second, third = figure.data
    for place, (layer, head) in enumerate(first.customdata):
        assert first.y[place] == true[layer, head]
        assert second.y[place] == permuted[layer, head]
        assert third.y[place] == by_ids[layer, head]
    assert list(first.customdata[int(figure.layout.shapes[0].x0)]) == [1, 3]
    assert len(neighbour_shares(true, permuted, np.full((2, 4), np.nan)).data) == 2
