"""The palette can be read on the page's ground, in both themes."""

import tomllib
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from posviz.figures import theme

CONFIG = Path(__file__).parents[2] / ".streamlit" / "config.toml"
DARK = tomllib.loads(CONFIG.read_text())["theme"]["dark"]["backgroundColor"]
GROUNDS = {"light": "#FFFFFF", "dark": DARK}


def luminance(colour):
    """Relative luminance as WCAG 2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_black_on_white_has_the_contrast_21():
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_every_series_stands_out_from_the_ground(mode):
    # 3 is what WCAG 2 asks of lines in a figure, 4.5 of text in the same colour.
    worst = min(contrast(ink[mode], GROUNDS[mode]) for ink in theme.SERIES)
    assert worst >= 4.5


def test_six_series_have_six_dashes_and_six_colours_in_each_theme():
    lines = [theme.line(slot) for slot in range(6)]
    assert len({line["dash"] for line in lines}) == 6
    for mode in ("light", "dark"):
        assert all(a["color"][mode] != b["color"][mode] for a, b in combinations(lines, 2))


SCALES = {**theme.COLOURS, "cost": theme.COST}
STEPS = 200


def luminances(scale, mode):
    """Relative luminance along a scale, between the stops as plotly and the board mix them."""
    stops = theme.in_mode(scale, mode)
    places = [stop for stop, _ in stops]
    channels = [[int(colour[at : at + 2], 16) for _, colour in stops] for at in (1, 3, 5)]
    along = np.linspace(0, 1, STEPS + 1)
    mixed = np.array([np.interp(along, places, values) for values in channels]).round().astype(int)
    return np.array([luminance("#" + "".join(f"{part:02X}" for part in one)) for one in mixed.T])


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("name", ["size", "cost"])
def test_more_is_ever_farther_from_the_ground(name, mode):
    found = luminances(SCALES[name], mode)
    away = np.diff(found) * (-1 if mode == "light" else 1)
    assert away.min() >= 0
    # From one twentieth of the scale to the next the eye sees a step.
    assert (away.reshape(20, -1).sum(axis=1) > 0.002).all()


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_scale_of_sizes_begins_near_the_ground_and_ends_far_from_it(mode):
    first, *_, last = [colour for _, colour in theme.in_mode(theme.SIZE, mode)]
    assert contrast(first, GROUNDS[mode]) < 1.2
    assert contrast(last, GROUNDS[mode]) > 7


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_signed_scale_leaves_the_ground_on_either_side_of_zero(mode):
    found = luminances(theme.DIVERGING, mode) * (1 if mode == "light" else -1)
    middle = STEPS // 2
    assert np.diff(found[: middle + 1]).min() >= 0
    assert np.diff(found[middle:]).max() <= 0
    ends = [colour for _, colour in theme.in_mode(theme.DIVERGING, mode)]
    assert contrast(ends[2], GROUNDS[mode]) < 1.2
    assert contrast(ends[0], ends[2]) > 4.5
    assert contrast(ends[-1], ends[2]) > 4.5


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_cyclic_scale_goes_one_way_up_to_its_middle_and_one_way_back(mode):
    found = luminances(theme.CYCLIC, mode)
    middle = STEPS // 2
    assert np.diff(found[: middle + 1]).min() >= 0
    assert np.diff(found[middle:]).max() <= 0
    assert found[0] == found[-1]


# Machado, Oliveira and Fernandes (2009), severity 1, on linear light.
BLINDNESS = {
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
}


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("kind", BLINDNESS)
def test_below_zero_and_above_zero_are_told_apart_without_red_or_green(kind, mode):
    stops = theme.in_mode(theme.DIVERGING, mode)

    def seen(colour):
        parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
        return np.clip(np.array(BLINDNESS[kind]) @ parts**2.2, 0, 1) ** (1 / 2.2)

    for below, above in ((0, 4), (1, 3)):
        # Blue less the mean of red and green: what the two forms leave of hue.
        low, high = (seen(stops[at][1]) for at in (below, above))
        assert (high[2] - high[:2].mean()) - (low[2] - low[:2].mean()) > 0.25


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_words_around_a_figure_can_be_read(mode):
    assert contrast(theme.WORDS[mode], GROUNDS[mode]) >= 4.5


def test_no_other_scale_is_in_use_than_those_checked_here():
    checked = [theme.SIZE, theme.COST, theme.DIVERGING, theme.CYCLIC]
    scales = [
        value
        for value in vars(theme).values()
        if isinstance(value, list) and value and isinstance(value[0], list)
    ]
    assert all(any(scale is one for one in checked) for scale in scales)
    assert {*theme.COLOURS} == {"signed", "size", "cyclic"}
