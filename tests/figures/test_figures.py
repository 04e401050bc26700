"""Figures hold the numbers of the measures, under axes that name their unit."""

import numpy as np
import pytest

import posviz
from posviz import figures, measures
from posviz.figures import Series, theme

TRAINED, TARGET = 4096, 16384
LINKS = {"unscaled RoPE": "rope", "A · YaRN": "yarn?scaling_factor=4", "B · NTK": "ntk_aware"}


def series_of(measure):
    return [
        Series(label, None if index == 0 else index - 1, measure(posviz.parse(link)))
        for index, (label, link) in enumerate(LINKS.items())
    ]


def spectra():
    return series_of(lambda s: measures.spectrum(s, length=TARGET, trained_length=TRAINED))


def test_wavelengths_are_two_pi_over_inv_freq_and_not_the_reverse():
    figure = figures.wavelengths(spectra(), trained_length=TRAINED, target_length=TARGET)
    plain = figure.data[0]
    assert plain.y[0] == pytest.approx(6.283185307)
    assert plain.y[63] == pytest.approx(54410.14313)
    assert list(plain.x) == list(range(64))
    assert figure.layout.yaxis.type == "log"
    assert figure.layout.yaxis.title.text == "tokens per turn"
    assert figure.layout.xaxis.title.text == "pair (0 is the fastest)"


def test_bands_shade_the_21_kept_25_blended_18_divided_pairs_of_yarn_on_llama_2():
    figure = figures.wavelengths(spectra(), trained_length=TRAINED, target_length=TARGET)
    rects = [(s.x0, s.x1, s.fillcolor) for s in figure.layout.shapes if s.type == "rect"]
    colours = [theme.BANDS[name]["light"] for name in ("kept", "blended", "divided")]
    assert rects == [
        (-0.5, 20.5, colours[0]),
        (20.5, 45.5, colours[1]),
        (45.5, 63.5, colours[2]),
    ]


def test_divisors_of_yarn_run_from_1_to_s():
    figure = figures.divisors(spectra())
    assert figure.data[1].y[0] == 1
    assert figure.data[1].y[63] == pytest.approx(4)
    assert figure.data[1].name == "A · YaRN"


def test_turns_show_training_first_and_then_every_method_at_the_target():
    figure = figures.turns(spectra(), trained_length=TRAINED, target_length=TARGET)
    assert figure.data[0].y[0] == pytest.approx(4096 / (2 * np.pi))
    assert figure.data[1].y[0] == pytest.approx(16384 / (2 * np.pi), rel=1e-4)
    assert [t.name for t in figure.data[1:]] == list(LINKS)
    unfinished = next(s for s in figure.layout.shapes if s.type == "rect")
    assert (unfinished.x0, unfinished.x1) == (45.5, 63.5)


def test_score_decay_marks_the_first_negative_distance():
    series = series_of(lambda s: measures.score_decay(s, length=TARGET))
    figure = figures.score_decay(series, trained_length=TRAINED, target_length=TARGET)
    marks = [t for t in figure.data if t.mode == "markers"]
    assert marks[0].x[0] == 1707
    assert marks[0].name == "unscaled RoPE: first negative at 1,707"
    assert marks[0].y[0] < 0
    assert figure.layout.xaxis.type == "log"


def test_thinned_curve_keeps_the_true_distance_of_every_point_it_shows():
    measure = measures.score_decay(posviz.parse("rope"), length=TARGET)
    series = [Series("unscaled RoPE", None, measure)]
    trace = figures.score_decay(series, trained_length=TRAINED, target_length=TARGET).data[0]
    assert len(trace.x) <= 720
    np.testing.assert_array_equal(trace.y, measure.scores[trace.x])
    assert trace.y.min() == measure.scores[1:].min()


def test_short_range_cost_of_the_baseline_itself_is_zero():
    series = series_of(lambda s: measures.short_range_cost(s, length=TARGET))
    figure = figures.short_range_cost(series)
    assert list(figure.data[0].x) == list(range(1, 65))
    assert np.all(figure.data[0].y == 0)
    assert figure.data[1].y[0] > 0.2


def test_needle_starts_at_the_set_weight_in_the_trained_window():
    lengths = np.array([1024, 4096, 16384])
    series = series_of(lambda s: measures.needle_weight(s, lengths=lengths, trained_length=TRAINED))
    figure = figures.needle(series, trained_length=TRAINED, target_length=TARGET)
    assert figure.data[0].y[1] == pytest.approx(0.9)
    assert figure.data[0].y[2] == pytest.approx(0.69224, abs=1e-4)


def test_clock_hand_points_where_the_angle_says():
    series = series_of(
        lambda s: measures.clock(s, pair=0, position=1, length=TARGET, trained_length=TRAINED)
    )
    figure = figures.clock(series)
    hand = next(t for t in figure.data if t.name == "unscaled RoPE")
    assert list(hand.x) == pytest.approx([0, np.cos(1)])
    assert list(hand.y) == pytest.approx([0, np.sin(1)])


def test_profile_difference_marks_its_largest_pair():
    paper = posviz.parse("yarn?ramp=turns")
    code = posviz.parse("yarn")
    difference = measures.profile_difference(paper, code, length=TARGET)
    figure = figures.profile_difference(difference, label="paper - code", slot=0)
    assert difference.largest_pair == 38
    assert figure.layout.annotations[0].text == "pair 38"
    assert np.argmax(np.abs(figure.data[0].y)) == 38


def test_every_slot_differs_from_every_other_by_dash_and_not_by_colour_alone():
    styles = [theme.line(slot)["dash"] for slot in range(4)]
    assert len(set(styles)) == 4


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_inks_are_resolved_for_the_page_they_stand_on(mode):
    figure = figures.divisors.build(spectra()).figure(mode)
    assert figure.data[1].line.color == theme.SERIES[0][mode]
