"""Figures of attention hold the numbers of their measures, on axes that say what they are."""

import math
import re

import numpy as np
import pytest

import posviz
from posviz import figures, measures
from posviz.figures import FigureBuilder, Series, attention, theme
from posviz.figures.attention.bounds import Bounds
from posviz.figures.attention.decay import ScoreCurve
from posviz.figures.attention.head_weights import shown_heads
from posviz.figures.attention.receptive import Stack
from posviz.figures.attention.thinned import BUCKETS, thinned
from posviz.figures.results import result_figures
from posviz.measures import Content
from posviz.ui.attention import curves
from posviz.ui.mathml import mathml

ROPE, ALIBI = posviz.parse("rope"), posviz.parse("alibi")
PAIRS = 1e4 ** (-np.arange(0, 128, 2) / 128)
LENGTHS = measures.context_lengths(4096)
FIGURES = {name: getattr(attention, name) for name in attention.__all__}
BY_LENGTH = {
    "entropy": "entropy",
    "reach": "reach",
    "needle_share": "needle",
    "first_token": "first_weight",
}


def cosines(distances, frequencies=PAIRS):
    return np.cos(np.asarray(distances)[:, None] * frequencies).mean(axis=1)


def by_length(spec, content=None):
    return measures.context_curves(spec, LENGTHS, content=content or Content())


def two(measure):
    """The same measure of RoPE and of ALiBi as two series."""
    return [Series("A · RoPE", 0, measure(ROPE)), Series("C · ALiBi", 2, measure(ALIBI))]


def row(spec, length=2048):
    return thinned(measures.weight_profile(spec, length).weights)


def scored(spec, length=2048, match=10.0):
    scores = np.asarray(measures.equal_scores(spec, length=length, match=match))
    return ScoreCurve(*thinned(scores))


def window(spec=ALIBI, place=100, size=32):
    return measures.weight_window(spec, place, window=size)


def every_figure():
    """Each figure of attention once, of plain measures."""
    at = np.unique(np.geomspace(1, 2047, 60).round())
    bound = np.asarray(measures.decay_bound(at, PAIRS))
    search = measures.valid_bases(2048, head_dim=128, low=300, high=3e5, count=60)
    counts = np.array([1.0, 2.0, 4.0])
    field = measures.receptive_field(ALIBI, 256, layers=[1, 2, 4])
    stages = [
        (stage, one.distances, one.score_errors)
        for stage in ("positions", "angles")
        for one in [measures.precision_lens(PAIRS, length=2048, stage=stage, dtype="bfloat16")]
    ]
    found = {
        "decay": attention.decay.build(two(scored), length=2048, trained=1024, match=10.0),
        "weights": attention.weights.build(two(row), length=2048, trained=1024),
        "resolution": attention.resolution.build(
            [Series("one", 0, (LENGTHS.astype(float), 1.0 / LENGTHS**2))], trained=1024
        ),
        "head_weights": attention.head_weights.build(
            measures.head_profiles(ALIBI, 2048), label="ALiBi", slot=2
        ),
        "weight_matrix": attention.weight_matrix.build(window(), label="ALiBi"),
        "key_share": attention.key_share.build(window(), label="ALiBi", slot=2),
        "query_entropy": attention.query_entropy.build(window(), label="ALiBi", slot=2),
        "bases": attention.bases.build(search, current=1e4),
        "bounds": attention.bounds.build(Bounds(at, np.abs(cosines(at)), bound, 2 * bound)),
        "receptive": attention.receptive.build(
            [Series("one", 0, Stack(counts, np.asarray(field.reach), np.asarray(field.half_reach)))]
        ),
        "precision": attention.precision.build(stages, length=2048, unit="score"),
    }
    for name in BY_LENGTH:
        found[name] = FIGURES[name].build(two(by_length), trained=1024)
    return found


DRAWN = every_figure()
TITLES = {
    "decay": ("distance (tokens)", "score (logit)"),
    "weights": ("distance (tokens)", "weight"),
    "entropy": ("context length (tokens)", "entropy (nats)"),
    "reach": ("context length (tokens)", "tokens"),
    "needle_share": ("context length (tokens)", "weight of the needle"),
    "first_token": ("context length (tokens)", "share"),
    "resolution": ("context length (tokens)", "resolution"),
    "head_weights": ("distance", "weight"),
    "weight_matrix": ("key position", "query position"),
    "key_share": ("key position", "mean weight"),
    "query_entropy": ("query position", "entropy (nats)"),
    "bases": ("base", "distance (tokens)"),
    "receptive": ("layers", "tokens"),
    "bounds": ("distance (tokens)", None),
    "precision": ("distance (tokens)", "error of the score"),
}


def axes_of(figure):
    return {name: one for name, one in figure.layout.items() if name[1:].startswith("axis")}


def title_of(figure, name):
    """Of several small plots only those at the edge carry a title."""
    texts = [axis["title"]["text"] for key, axis in axes_of(figure).items() if key.startswith(name)]
    return next(text for text in texts if text)


def line(figure, name):
    (found,) = [trace for trace in figure.data if trace["name"] == name]
    return found


# Words, axes, formulas.


def test_every_figure_of_attention_is_looked_at():
    assert set(DRAWN) == set(FIGURES) == set(TITLES)


@pytest.mark.parametrize("name", FIGURES)
def test_words_are_whole_sentences(name):
    words = FIGURES[name]
    assert words.title
    for text in (words.help, words.limits):
        assert text.endswith(".")
        assert len(text) > 60
        assert "  " not in text


@pytest.mark.parametrize("name", DRAWN)
def test_axes_say_what_they_are_and_have_finite_ranges(name):
    figure = DRAWN[name]
    x, y = TITLES[name]
    assert title_of(figure, "xaxis") == x
    assert title_of(figure, "yaxis") == y or y is None
    for key, axis in axes_of(figure).items():
        low, high = axis["range"]
        assert math.isfinite(low), key
        assert math.isfinite(high), key
        assert low != high, key
    assert figure.figure().data
    assert len(figure.data) >= 1


def formulas():
    for place in (figures, attention):
        for name in place.__all__:
            if isinstance(one := getattr(place, name), FigureBuilder):
                yield f"{place.__name__}.{name}", one.formula
    for one in result_figures():
        yield f"results.{one.id}", one.formula
    for one in posviz.catalog():
        yield f"encoding {one.id}", one.formula


FORMULAS = dict(formulas())


def test_formulas_of_all_figures_and_encodings_are_found():
    assert len(FORMULAS) > 90
    assert {"posviz.figures.attention.bases", "results.odometer"} <= set(FORMULAS)


@pytest.mark.parametrize("name", FORMULAS)
def test_no_command_of_latex_is_left_in_a_formula(name):
    drawn = re.sub("<[^>]*>", "", mathml(FORMULAS[name]))
    assert "\\" not in drawn
    assert not re.search("[⟨⟩]", drawn)
    # A command whose backslash is lost shows as its bare name; those of the field stay.
    assert not re.search(
        r"(?i)bigl|bigr|lvert|rvert|operatorname|mathrm|text\b|quad|left|right", drawn
    )


# Curves against context length.


@pytest.mark.parametrize("name", BY_LENGTH)
def test_curves_against_length_are_those_of_the_measure(name):
    for label, spec in (("A · RoPE", ROPE), ("C · ALiBi", ALIBI)):
        trace, expected = line(DRAWN[name], label), by_length(spec)
        np.testing.assert_array_equal(trace["x"], LENGTHS)
        drawn = np.nan_to_num(trace["y"], nan=0.0)
        np.testing.assert_array_equal(drawn, getattr(expected, BY_LENGTH[name]))
    shapes = DRAWN[name].layout["shapes"]
    assert [shape["x0"] for shape in shapes] == [1024]


def test_equal_keys_have_the_entropy_of_the_dotted_line():
    figure = attention.entropy.build(
        [Series("NoPE", 0, by_length(posviz.parse("nope")))], trained=9
    )
    curve, ghost = figure.data
    np.testing.assert_allclose(curve["y"], ghost["y"], rtol=1e-13)
    np.testing.assert_allclose(ghost["y"], np.log(LENGTHS))
    assert ghost["line"]["color"] == theme.GHOST
    assert ghost["line"]["dash"] == "dot"


def test_halves_and_concentration_are_thin_lines_of_the_same_colour_beside_theirs():
    for name, extra, attribute in (
        ("reach", "A · RoPE: half of the weight", "half_reach"),
        ("first_token", "A · RoPE: Σw²", "concentration"),
    ):
        main, thin = line(DRAWN[name], "A · RoPE"), line(DRAWN[name], extra)
        np.testing.assert_array_equal(thin["y"], getattr(by_length(ROPE), attribute))
        assert thin["line"]["color"] == main["line"]["color"]
        assert thin["line"]["width"] < main["line"]["width"]
        assert not thin["showlegend"]


def test_a_first_token_beyond_a_window_is_a_gap_and_not_a_point_below_the_axis():
    curve = by_length(posviz.parse("sliding_window?window=100"))
    figure = attention.first_token.build([Series("one", 0, curve)], trained=1024)
    y = figure.data[0]["y"]
    assert np.isnan(y[LENGTHS > 100]).all()
    np.testing.assert_allclose(y[LENGTHS <= 100], 1 / LENGTHS[LENGTHS <= 100], rtol=1e-12)


def test_curves_that_are_all_zero_still_have_an_axis():
    steep = by_length(posviz.parse("alibi?slope_scale=1000"))
    for name in BY_LENGTH:
        figure = FIGURES[name].build([Series("one", 0, steep)], trained=1024)
        assert all(math.isfinite(end) for end in figure.layout["yaxis"]["range"]), name
    flat = attention.resolution.build(
        [Series("one", 0, (LENGTHS.astype(float), np.zeros(len(LENGTHS))))], trained=1024
    )
    low, high = flat.layout["yaxis"]["range"]
    assert low < 0 < high


# Score and weights against distance.


def test_the_score_of_equal_queries_and_keys_is_the_mean_cosine_and_not_monotone():
    trace = line(DRAWN["decay"], "A · RoPE")
    np.testing.assert_allclose(trace["y"], 10 * cosines(trace["x"]), atol=1e-9)
    assert trace["x"][0] == 1
    assert trace["x"][-1] == 2047
    assert (np.diff(trace["y"]) > 0).any()


def test_weights_fall_by_their_slope_on_two_log_axes():
    figure = DRAWN["weights"]
    assert (figure.layout["xaxis"]["type"], figure.layout["yaxis"]["type"]) == ("log", "log")
    trace = line(figure, "C · ALiBi")
    shown = np.isfinite(trace["y"]) & (trace["y"] > 1e-280)
    expected = (1 - math.exp(-0.5)) * np.exp(-trace["x"][shown] / 2.0)
    np.testing.assert_allclose(trace["y"][shown], expected, rtol=1e-9)
    # Weights that nobody can tell from 0 do not stretch the axis.
    low, high = figure.layout["yaxis"]["range"]
    assert low >= -10
    assert high <= math.log10(1.5) + 1e-9


def test_a_steep_bias_does_not_flatten_the_other_curves():
    for slope in (1, 1000):
        steep = posviz.parse(f"alibi?slope_scale={slope}")
        series = [Series("RoPE", 0, scored(ROPE)), Series("ALiBi", 1, scored(steep))]
        figure = attention.decay.build(series, length=2048, trained=1024, match=10.0)
        low, high = figure.layout["yaxis"]["range"]
        rope = figure.data[0]["y"]
        assert low <= rope.min() < rope.max() <= high
        assert rope.max() - rope.min() > 0.15 * (high - low)
        # What lies below the axis is still there for the reader who zooms.
        assert figure.data[1]["y"].min() == pytest.approx(10 - slope * 2047 / 2)


def test_a_shallow_curve_is_not_cut():
    figure = attention.decay.build(
        [Series("ALiBi", 0, scored(posviz.parse("alibi?slope_scale=0.001")))],
        length=2048,
        trained=1024,
        match=10.0,
    )
    low, _ = figure.layout["yaxis"]["range"]
    assert low < figure.data[0]["y"].min()


def independent(link, sigma=2.0, longest=2047):
    """Mean, band and one draw, as the page gives them to the figure."""
    at = np.unique(np.geomspace(1, longest, 50).round())
    found = measures.independent_scores(
        posviz.parse(link), at, length=longest + 1, sigma=sigma, draws=50, examples=1
    )
    band = (at, found.mean - found.spread, found.mean + found.spread)
    return ScoreCurve(at, found.mean, band=band, examples=[(at, one) for one in found.examples])


@pytest.mark.parametrize("link", ["rope", "yarn?scaling_factor=4", "xpos", "nope", "linear"])
def test_independent_queries_and_keys_are_drawn_as_a_mean_of_0_with_a_band(link):
    figure = attention.decay.build(
        [Series("one", 0, independent(link))], length=2048, trained=1024, match=2.0
    )
    (main,) = [trace for trace in figure.data if trace["name"] == "one"]
    assert (main["y"] == 0).all()
    below, above = (line(figure, f"one: one σ {side}") for side in ("below", "above"))
    np.testing.assert_allclose(below["y"], -above["y"])
    assert (above["y"] > 0).all()
    if link in ("rope", "nope", "linear"):
        np.testing.assert_allclose(above["y"], 2.0)
    # A single random query and key is a thin line that says what it is, never "the decay".
    others = [trace for trace in figure.data if trace["name"] != "one"]
    assert len(others) >= 3
    for trace in others:
        assert trace["showlegend"] is False
        assert re.search("one σ|draw", trace["name"])
        assert trace["line"]["width"] < main["line"]["width"]
    for trace in figure.data:
        assert not re.search("(?i)decay", trace["name"])


def test_the_band_of_xpos_narrows_with_distance_and_that_of_a_bias_stands_around_it():
    narrowing = independent("xpos", 1.0, 8191).band
    assert narrowing[2][-1] < 0.9 * narrowing[2][0]
    biased = independent("alibi", 1.0, 63)
    np.testing.assert_allclose(biased.scores, -biased.distances / 2)
    np.testing.assert_allclose(biased.band[2] - biased.scores, 1.0)


def test_ntk_is_a_larger_base_and_not_an_invented_factor():
    # b' = b·s^(D/(D-2)); the score of the paper's method, read back from the picture.
    drawn, _ = curves.equal_scores("ntk_aware?scaling_factor=8", 4096, 1.0, 0, 100, None)
    base = 1e4 * 8 ** (128 / 126)
    expected = cosines(drawn.distances, base ** (-np.arange(0, 128, 2) / 128))
    np.testing.assert_allclose(drawn.scores, expected, atol=1e-9)


def test_yarn_keeps_fast_pairs_divides_slow_ones_and_sharpens():
    # Peng et al.: kept above L/λ = 32 turns, divided by s below 1 turn, blended between; logits
    # times (0.1 ln s + 1)².
    spec = posviz.parse("yarn?scaling_factor=8&original_max_position_embeddings=4096")
    turns = 4096 * PAIRS / (2 * math.pi)
    found = np.asarray(spec.frequencies(4096))
    fast, slow = turns > 34, turns < 0.9
    expected = np.where(fast, PAIRS, np.where(slow, PAIRS / 8, found))
    assert fast.sum() > 10
    assert slow.sum() > 10
    drawn, _ = curves.equal_scores(
        "yarn?scaling_factor=8&original_max_position_embeddings=4096", 4096, 1.0, 0, 100, None
    )
    gain = (0.1 * math.log(8) + 1) ** 2
    np.testing.assert_allclose(drawn.scores, gain * cosines(drawn.distances, expected), atol=1e-9)


# Thinning.


def test_thinning_keeps_extremes_ends_and_the_point_under_the_cursor():
    rng = np.random.default_rng(0)
    values = rng.standard_normal(1 << 17)
    values[70_001], values[90_002] = 50.0, -60.0
    x, y = thinned(values, keep=77_777)
    assert len(x) <= 2 * BUCKETS + 3
    assert (np.diff(x) > 0).all()
    np.testing.assert_array_equal(y, values[x])
    assert {1, 70_001, 90_002, 77_777, (1 << 17) - 1} <= set(x.tolist())
    assert (y.max(), y.min()) == (50.0, -60.0)
    assert 77_777 not in thinned(values)[0]


def test_a_range_that_is_looked_at_has_as_many_points_as_a_whole_curve():
    values = np.random.default_rng(0).standard_normal(1 << 17)
    whole, _ = thinned(values)
    x, y = thinned(values, within=(50_000.4, 60_000.6), keep=3)
    np.testing.assert_array_equal(y, values[x])
    assert (np.diff(x) > 0).all()
    inside = [int(((one >= 50_000) & (one <= 60_000)).sum()) for one in (whole, x)]
    assert inside[1] > BUCKETS > 10 * inside[0] / 2
    np.testing.assert_array_equal(x[x < 49_000], np.union1d(whole[whole < 49_000], [3]))
    # One point on each side, so that the line reaches the edge of the picture.
    assert 49_999 in x
    assert 60_002 in x
    few, _ = thinned(values, within=(1000, 1100))
    assert set(range(1000, 1101)) <= set(few.tolist())


@pytest.mark.parametrize("count", [1, 2, 3, 8])
def test_short_curves_stay_whole(count):
    values = np.arange(float(count))
    x, y = thinned(values, within=(0.1, 2.5), keep=1)
    np.testing.assert_array_equal(x, np.arange(1, count))
    np.testing.assert_array_equal(y, values[1:])


# Heads.


def domains(figure):
    """Left, right, bottom and top of every small plot."""
    names = [trace["xaxis"][1:] for trace in figure.data]
    return [
        (*figure.layout[f"xaxis{name}"]["domain"], *figure.layout[f"yaxis{name}"]["domain"])
        for name in names
    ]


@pytest.mark.parametrize("heads", [2, 3, 4, 5, 12, 16, 40])
def test_plots_of_heads_lie_beside_each_other_and_share_their_axes(heads):
    profiles = measures.head_profiles(posviz.parse(f"alibi?heads={heads}"), 512)
    figure = attention.head_weights.build(profiles, label="ALiBi", slot=0)
    assert len(figure.data) == min(heads, 16)
    boxes = domains(figure)
    for place, one in enumerate(boxes):
        assert 0 <= one[0] < one[1] <= 1
        assert 0 <= one[2] < one[3] <= 1
        for other in boxes[:place]:
            apart = (
                one[1] <= other[0] or other[1] <= one[0] or one[3] <= other[2] or other[3] <= one[2]
            )
            assert apart
    # Read row by row from the upper left.
    assert boxes[0][3] == pytest.approx(1.0)
    assert boxes[0][0] == 0
    for letter in "xy":
        ranges = {
            tuple(axis["range"])
            for name, axis in axes_of(figure).items()
            if name.startswith(f"{letter}axis")
        }
        assert len(ranges) == 1
    shown = [
        int(re.search(r"head (\d+)", note["text"])[1]) for note in figure.layout["annotations"]
    ]
    assert shown == shown_heads(heads)
    assert [trace["name"] for trace in figure.data] == [f"head {head}" for head in shown]
    assert (shown[0], shown[-1]) == (0, heads - 1)
    assert sorted(set(shown)) == shown


def test_every_head_has_the_slope_of_the_paper():
    # Eight heads: 1/2, 1/4, … 1/256, neither one slope for all nor 0-based.
    figure = DRAWN["head_weights"]
    for head, trace in enumerate(figure.data):
        x, y = np.asarray(trace["x"], dtype=float), trace["y"]
        far = (x >= 1) & np.isfinite(y) & (y > 1e-300)
        slope = -np.diff(np.log(y[far])) / np.diff(x[far])
        np.testing.assert_allclose(slope, 2.0 ** -(head + 1), rtol=1e-6)


def test_a_head_is_named_with_its_half_life_and_its_entropy():
    text = DRAWN["head_weights"].layout["annotations"][3]["text"]
    ratio = math.exp(-1 / 16)
    entropy = -math.log(1 - ratio) + ratio / (1 - ratio) / 16
    assert text.split("<br>")[0] == "head 3"
    assert f"{entropy:.2f} nats" in text
    assert "½ at 12" in text  # 16 ln 2 = 11.09, the first whole distance


# Matrix.


def test_the_matrix_is_blank_for_the_future_and_holds_powers_of_ten():
    (trace,) = DRAWN["weight_matrix"].data
    measure = window()
    z = np.asarray(trace["z"])
    rows, columns = np.nonzero(np.isfinite(z))
    assert (np.asarray(trace["y"])[rows] >= np.asarray(trace["x"])[columns]).all()
    assert np.isnan(z[np.triu_indices(32, 1)]).all()
    assert len(rows) == 32 * 33 // 2
    lower = np.tril_indices(32)
    expected = np.maximum(np.log10(measure.weights[lower]), -6)
    np.testing.assert_allclose(z[lower], expected)
    assert trace["zmin"] == -6
    assert trace["zmax"] == pytest.approx(math.log10(1 - math.exp(-0.5)), abs=1e-3)
    assert trace["colorscale"] == theme.SIZE
    # Queries go down, as in every matrix of attention.
    start, end = DRAWN["weight_matrix"].layout["yaxis"]["range"]
    assert start > end


def test_margins_are_column_means_and_row_entropies():
    measure = window()
    share = DRAWN["key_share"].data[0]
    np.testing.assert_array_equal(share["x"], measure.keys)
    np.testing.assert_allclose(share["y"], np.nanmean(measure.weights, axis=0))
    curve, ghost = DRAWN["query_entropy"].data
    np.testing.assert_array_equal(curve["x"], measure.queries)
    np.testing.assert_array_equal(curve["y"], measure.entropy)
    np.testing.assert_allclose(ghost["y"], np.log(measure.queries + 1))


def test_a_window_where_nothing_is_left_still_has_axes():
    steep = measures.weight_window(posviz.parse("alibi?slope_scale=1000"), 40, window=16)
    for figure in (
        attention.weight_matrix.build(steep, label="steep"),
        attention.key_share.build(steep, label="steep", slot=0),
        attention.query_entropy.build(steep, label="steep", slot=0),
    ):
        for axis in axes_of(figure).values():
            assert all(math.isfinite(end) for end in axis["range"])
    one = measures.weight_window(ROPE, 0, window=1)
    for figure in (
        attention.weight_matrix.build(one, label="one"),
        attention.key_share.build(one, label="one", slot=0),
        attention.query_entropy.build(one, label="one", slot=0),
    ):
        for axis in axes_of(figure).values():
            assert axis["range"][0] != axis["range"][1]


# One encoding.


def test_bases_that_hold_are_marked_on_the_level_of_the_context():
    search = measures.valid_bases(2048, head_dim=128, low=300, high=3e5, count=60)
    figure = DRAWN["bases"]
    curve = line(figure, "first negative distance")
    np.testing.assert_array_equal(curve["x"], search.bases)
    failing = ~search.valid
    np.testing.assert_array_equal(curve["y"][failing], search.first_negative[failing])
    marks = line(figure, "holds through the context")
    np.testing.assert_array_equal(marks["x"], search.bases[search.valid])
    assert (marks["y"] == 2048).all()
    assert marks["mode"] == "markers"
    assert 0 < len(marks["x"]) < 60


def test_no_base_and_every_base_that_holds_are_drawn_too():
    for low, high, holding in ((10, 100, 0), (3e6, 4e6, 5)):
        search = measures.valid_bases(512, head_dim=128, low=low, high=high, count=5)
        assert search.valid.sum() == holding
        figure = attention.bases.build(search, current=1e4)
        for axis in axes_of(figure).values():
            assert all(math.isfinite(end) for end in axis["range"])
            assert axis["range"][0] < axis["range"][1]


def test_bounds_are_never_below_the_sum():
    traces = DRAWN["bounds"].data
    x = traces[0]["x"]
    np.testing.assert_allclose(traces[0]["y"], np.abs(cosines(x)), atol=1e-12)
    # Abel summation by hand: (1/P)·Σ_j |Σ_{i<j} e^(iδf_i)|.
    waves = np.cumsum(np.exp(1j * x[:, None] * PAIRS), axis=1)
    np.testing.assert_allclose(traces[1]["y"], np.abs(waves).mean(axis=1), rtol=1e-9)
    np.testing.assert_allclose(traces[2]["y"], 2 * traces[1]["y"])
    # With every h equal only the last step, to 0, is left: |S_P|/P is at most the mean of |S_j|·P.
    assert (traces[0]["y"] <= len(PAIRS) * traces[1]["y"]).all()


def test_receptive_fields_hold_the_reach_of_each_depth():
    main, half = DRAWN["receptive"].data
    field = measures.receptive_field(ALIBI, 256, layers=[1, 2, 4])
    assert main["x"].tolist() == [1, 2, 4]
    np.testing.assert_array_equal(main["y"], field.reach)
    np.testing.assert_array_equal(half["y"], field.half_reach)
    assert half["line"]["width"] < main["line"]["width"]
    single = Stack(np.array([1.0]), np.array([1.0]), np.array([1.0]))
    for axis in axes_of(attention.receptive.build([Series("one", 0, single)])).values():
        assert axis["range"][0] < axis["range"][1]


def test_the_precision_lens_draws_sizes_of_errors_and_leaves_out_what_is_exact():
    lens = measures.precision_lens(PAIRS, length=2048, stage="positions", dtype="bfloat16")
    trace = line(DRAWN["precision"], "positions")
    far = lens.distances >= 1
    size = np.abs(lens.score_errors[far])
    drawn = np.isfinite(trace["y"])
    np.testing.assert_array_equal(trace["y"][drawn], size[drawn])
    assert (size[~drawn] < 1e-12).all()
    exact = [("positions", np.arange(64.0), np.zeros(64))]
    figure = attention.precision.build(exact, length=64, unit="logit")
    assert all(math.isfinite(end) for end in figure.layout["yaxis"]["range"])
