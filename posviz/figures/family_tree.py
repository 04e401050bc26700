"""All encodings by year and family."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise
from typing import Any, Final, NamedTuple

from posviz.figures import theme
from posviz.figures.spec import FigureSpec, axis, figure, layout

WIDTH: Final = 1080
"""Pixels that the picture needs: in a narrower one its labels would run into each other."""
_LEFT, _RIGHT = 84, 12
_ROW = 18
"""Pixels from one label to the next one below it."""
_LETTER, _MARK = 6.2, 18
"""Pixels of a letter of a label at most on average, and of its mark with the gaps around it."""
_LONGEST = 34
"""Letters of a label; a longer title ends in an ellipsis and stands in the hover text."""


class Entry(NamedTuple):
    """One encoding: where it stands, and what is said of it."""

    family: str
    year: int
    title: str
    source: str
    learned: bool


@figure(
    title="Encodings by year and family",
    formula=r"\text{year} \times \text{family}",
    help="Each mark is an encoding, at the year of its first source, in the band of its family. "
    "Families stand in the order of their first encoding.",
    limits="Who built on whom is not drawn; the same idea often appeared in several places at "
    "once.",
)
def family_tree(entries: Iterable[Entry]) -> FigureSpec:
    """A mark and a label for every encoding, in as many rows as keep the labels apart."""
    known = sorted(entries, key=lambda entry: (entry.year, entry.title.lower()))
    families = list(dict.fromkeys(entry.family for entry in known))
    scale = _pixels_a_year(known)
    placed: list[tuple[Entry, int]] = []
    ticks: list[float] = []
    edges = [0]
    for family in families:
        members = [entry for entry in known if entry.family == family]
        rows = _rows(members, scale)
        placed += [(one, edges[-1] + row) for one, row in zip(members, rows, strict=True)]
        edges.append(edges[-1] + max(rows) + 1)
        ticks.append((edges[-2] + edges[-1] - 1) / 2)
    years = _years(known)
    across = axis(
        "year",
        range=[years[0] - 0.25, years[0] - 0.25 + (WIDTH - _LEFT - _RIGHT) / scale],
        tickvals=years,
        fixedrange=True,
    )
    down = axis(
        "",
        range=[edges[-1] - 0.5, -0.5],
        tickvals=ticks,
        ticktext=families,
        showgrid=False,
        zeroline=False,
        fixedrange=True,
    )
    return FigureSpec(
        [_marks(placed, learned=False), _marks(placed, learned=True)],
        layout(
            across,
            down,
            shapes=_bands(edges),
            height=_ROW * edges[-1] + 90,
            margin={"l": _LEFT, "r": _RIGHT, "t": 34, "b": 48},
            dragmode=False,
            showlegend=True,
            legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom", "itemclick": False},
        ),
    )


def _label(entry: Entry) -> str:
    title = entry.title
    return title if len(title) <= _LONGEST else title[: _LONGEST - 1].rstrip() + "…"


def _pixels(entry: Entry) -> float:
    return _MARK + _LETTER * len(_label(entry))


def _years(known: Sequence[Entry]) -> list[int]:
    return list(range(known[0].year, known[-1].year + 1)) if known else [0]


def _pixels_a_year(known: Sequence[Entry]) -> float:
    """The largest scale at which every label ends inside the picture."""
    room = WIDTH - _LEFT - _RIGHT
    scales = [(room - _pixels(one)) / (one.year - known[0].year + 0.25) for one in known]
    return min([room, *scales])


def _rows(members: Sequence[Entry], scale: float) -> list[int]:
    """For each encoding, by year, the first row in which no label before it reaches it."""
    ends: list[float] = []
    found = []
    for one in members:
        row = next((row for row, end in enumerate(ends) if end <= one.year), len(ends))
        if row == len(ends):
            ends.append(0.0)
        ends[row] = one.year + _pixels(one) / scale
        found.append(row)
    return found


def _marks(placed: Sequence[tuple[Entry, int]], *, learned: bool) -> dict[str, Any]:
    """Filled marks for numbers that follow from a formula, open ones for learned numbers."""
    shown = [(one, row) for one, row in placed if one.learned == learned]
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": "learned numbers" if learned else "designed numbers",
        "x": [one.year for one, _ in shown],
        "y": [row for _, row in shown],
        "text": [escape(_label(one)) for one, _ in shown],
        "textposition": "middle right",
        "textfont": {"size": 11, "color": theme.REFERENCE},
        "hovertext": [f"{escape(one.title)}<br>{escape(one.source)}" for one, _ in shown],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "cliponaxis": False,
        "marker": {
            "size": 8,
            "symbol": "circle-open" if learned else "circle",
            "line": {"width": 2 if learned else 0},
            "color": theme.SERIES[1 if learned else 0],
        },
    }


def _bands(edges: Sequence[int]) -> list[dict[str, Any]]:
    """Every second family on a ground of its own."""
    return [
        {
            "type": "rect",
            "xref": "paper",
            "x0": 0,
            "x1": 1,
            "y0": top - 0.5,
            "y1": bottom - 0.5,
            "line": {"width": 0},
            "fillcolor": {"light": "rgba(60,65,73,0.05)", "dark": "rgba(213,217,224,0.07)"},
            "layer": "below",
        }
        for top, bottom in list(pairwise(edges))[::2]
    ]
