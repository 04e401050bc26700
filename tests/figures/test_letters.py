"""Letters of native charts: ink that can be read, titles that clear the ticks."""

import numpy as np
import pytest

from posviz.figures import Series, theme
from posviz.figures.lab.head_grid import head_grid
from posviz.figures.lab.length_curves import length_curves
from posviz.figures.lab.position_breaks import permuted_maps
from posviz.figures.lab.tiles import in_model_order
from posviz.figures.spec import FigureSpec

MAPS = np.full((1, 2, 3, 3), 1 / 3)


def maps():
    return permuted_maps.build(MAPS, MAPS, np.arange(3), head=(0, 1), order="shuffled")


def heads():
    return head_grid.build(MAPS, in_model_order(1, 2), notes=["a", "b"])


def lengths():
    line = [Series("RoPE", 1, ((32, 64, 128), (0.6, 0.6, 2.0)))]
    return length_curves.build(line, trained=64, longest=128, metric="loss", best=0.5, chance=2.77)


@pytest.mark.parametrize("build", [maps, heads, lengths])
@pytest.mark.parametrize("mode", ["light", "dark"])
def test_ticks_titles_and_the_legend_have_ink_of_the_page(build, mode):
    ink = theme.WORDS[mode]
    layout = build().figure(mode).layout
    axes = [layout[name] for name in layout if name.startswith(("xaxis", "yaxis"))]
    assert len(axes) >= 2
    assert {one.tickfont.color for one in axes} == {ink}
    assert {one.title.font.color for one in axes} == {ink}
    assert layout.legend.font.color == ink
    assert (layout.hoverlabel.font.color, layout.hoverlabel.bgcolor) == (ink, theme.GROUND[mode])


@pytest.mark.parametrize("build", [maps, heads])
def test_the_numbers_of_a_colour_bar_have_ink_of_the_page(build):
    bars = [one.colorbar for one in build().figure("light").data if one.type == "heatmap"]
    assert bars
    assert {(one.tickfont.color, one.title.font.color) for one in bars} == {
        (theme.WORDS["light"], theme.WORDS["light"])
    }


@pytest.mark.parametrize("build", [maps, heads, lengths])
def test_below_an_x_axis_there_is_room_for_labels_and_a_title_apart_from_each_other(build):
    layout = build().figure().layout
    for name in (name for name in layout if name.startswith("xaxis")):
        one = layout[name]
        assert one.title.standoff >= 6
        label, title = 14, 14  # lines of 12 pixels
        needed = layout.margin.pad + one.ticklen + label + one.title.standoff + title
        assert needed <= layout.margin.b


def test_what_a_figure_says_of_its_letters_stays():
    layout = {
        "xaxis": {"title": {"text": "x", "standoff": 20}, "tickfont": {"color": "#123456"}},
        "annotations": [{"text": "a", "font": {"color": "#654321"}}, {"text": "b"}],
    }
    found = FigureSpec([], layout).figure("dark").layout
    assert found.xaxis.title.standoff == 20
    assert found.xaxis.tickfont.color == "#123456"
    assert [one.font.color for one in found.annotations] == ["#654321", theme.WORDS["dark"]]
