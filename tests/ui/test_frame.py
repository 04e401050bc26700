"""The style that every page brings: it reaches the browser, and its fills carry white text."""

import re

import pytest

from posviz.ui import frame


def rules():
    """Selector to declarations."""
    inside = frame._TIGHTER.removeprefix("<style>").removesuffix("</style>")
    return dict(re.findall(r"([^{}]+)\{([^{}]+)\}", inside))


def luminance(colour):
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_nothing_in_the_style_looks_like_a_tag():
    # Streamlit's sanitizer drops a whole style element with "<" before a letter in it.
    inside = frame._TIGHTER.removeprefix("<style>").removesuffix("</style>")
    assert "<" not in inside


@pytest.mark.parametrize("part", ["stBaseButton-primary", "data-tag", "stCheckbox"])
def test_white_can_be_read_on_what_is_filled(part):
    fills = [
        fill
        for selector, body in rules().items()
        if part in selector
        for fill in re.findall(r"background-color: (#\w{6})", body)
    ]
    assert fills
    assert all(1.05 / (luminance(fill) + 0.05) >= 4.5 for fill in fills)


@pytest.mark.parametrize("what", [".katex-display", "st-key-box-", "overflow-x"])
def test_what_scrolls_sideways_fades_where_there_is_more(what):
    assert any(what in selector and "mask-image" in body for selector, body in rules().items())
