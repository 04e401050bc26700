"""The palette can be read on the page's ground, in both themes."""

import tomllib
from itertools import combinations
from pathlib import Path

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
