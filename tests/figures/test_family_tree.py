"""The picture of all encodings by year and family."""

from __future__ import annotations

from itertools import combinations

import pytest

from posviz import figures, overview
from posviz.figures import theme
from posviz.figures.family_tree import WIDTH, Entry

FEW = (
    Entry("rotary", 2021, "RoPE", "Su et al. 2021", False),
    Entry("bias", 2019, "T5 bias", "Raffel et al. 2019", True),
    Entry("bias", 2021, "ALiBi", "Press et al. 2021", False),
    Entry("bias", 2021, "TISA", "Wennberg & Henter 2021", True),
)
LETTER, HEIGHT = 5.5, 14
"""Pixels of a letter and of a line, as a browser draws text of size 11."""


def everything():
    return [
        Entry(row.family, row.year, row.title, row.source, row.is_learned)
        for row in overview.rows()
    ]


def points(entries):
    data = figures.family_tree.build(entries).data
    return {
        text: (x, y)
        for trace in data
        for text, x, y in zip(trace["text"], trace["x"], trace["y"], strict=True)
    }


def boxes(entries):
    """Left, right and middle in pixels of every label, in the narrowest picture that is drawn."""
    layout = figures.family_tree.build(entries).layout
    low, high = layout["xaxis"]["range"]
    bottom, top = layout["yaxis"]["range"]
    margin = layout["margin"]
    across = (WIDTH - margin["l"] - margin["r"]) / (high - low)
    down = (layout["height"] - margin["t"] - margin["b"]) / (bottom - top)
    for text, (x, y) in points(entries).items():
        left = margin["l"] + (x - low) * across
        yield text, left - 5, left + 7 + LETTER * len(text), (y - top) * down


def test_an_encoding_stands_at_its_year_in_the_band_of_its_family():
    at = points(FEW)
    assert {text: x for text, (x, _) in at.items()} == {
        "T5 bias": 2019,
        "ALiBi": 2021,
        "TISA": 2021,
        "RoPE": 2021,
    }
    assert at["ALiBi"][1] != at["TISA"][1]
    assert max(at["ALiBi"][1], at["TISA"][1]) < at["RoPE"][1]
    axis = figures.family_tree.build(FEW).layout["yaxis"]
    assert axis["ticktext"] == ["bias", "rotary"]  # the family that began first stands first
    assert axis["tickvals"][1] == at["RoPE"][1]


def test_no_label_of_the_catalog_runs_into_another_or_out_of_the_picture():
    found = list(boxes(everything()))
    assert len(found) == len(everything())
    for one, other in combinations(found, 2):
        apart = one[2] <= other[1] or other[2] <= one[1] or abs(one[3] - other[3]) >= HEIGHT
        assert apart, (one, other)
    assert all(right <= WIDTH for _, _, right, _ in found)


def test_labels_that_are_too_long_for_their_gap_take_further_rows():
    crowd = [Entry("bias", 2000 + year, f"{year} {'x' * 30}", "s", False) for year in range(25)]
    assert len({y for _, y in points(crowd).values()}) > 2
    for one, other in combinations(boxes(crowd), 2):
        assert one[2] <= other[1] or other[2] <= one[1] or abs(one[3] - other[3]) >= HEIGHT


def test_learned_and_designed_differ_by_shape_and_not_by_colour_alone():
    designed, learned = figures.family_tree.build(FEW).data
    assert (list(designed["text"]), list(learned["text"])) == (
        ["ALiBi", "RoPE"],
        ["T5 bias", "TISA"],
    )
    assert designed["marker"]["symbol"] != learned["marker"]["symbol"]
    assert (designed["name"], learned["name"]) == ("designed numbers", "learned numbers")


def test_a_long_title_is_cut_in_the_picture_and_whole_under_the_pointer():
    title = "An encoding with a name that no picture has room for"
    (trace, _) = figures.family_tree.build([FEW[0]._replace(title=title)]).data
    assert trace["text"] == ["An encoding with a name that no p…"]
    assert trace["hovertext"] == [f"{title}<br>Su et al. 2021"]


def test_titles_are_text_and_not_markup():
    (trace, _) = figures.family_tree.build([FEW[0]._replace(title="a<b>c")]).data
    assert trace["text"] == ["a&lt;b&gt;c"]
    assert trace["hovertext"][0].startswith("a&lt;b&gt;c<br>")


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_labels_take_the_ink_of_the_page(mode):
    figure = figures.family_tree.build(FEW).figure(mode)
    assert figure.data[0].textfont.color == theme.REFERENCE[mode]
    assert figure.layout.xaxis.title.text == "year"


def test_no_entries_give_an_empty_picture():
    assert points([]) == {}
