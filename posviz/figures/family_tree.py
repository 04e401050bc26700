"""All encodings by year and family."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from posviz.figures import theme
from posviz.figures.spec import FigureSpec, axis, figure, layout

Entry = tuple[str, int, str, str]
"""Family, year, title, source."""

_LINE = 17
"""Pixels that one label takes."""
_LETTERS_A_YEAR = 15
"""How much of a label fits between two years of the widest picture."""


def _levels(labels: list[tuple[int, str]]) -> list[int]:
    """For each label, by year, the first row in which no label before it runs into it."""
    free: list[float] = []
    found = []
    for year, title in labels:
        level = next((row for row, end in enumerate(free) if end <= year), len(free))
        if level == len(free):
            free.append(0.0)
        free[level] = year + (len(title) + 3) / _LETTERS_A_YEAR
        found.append(level)
    return found


@figure(
    title="Encodings by year and family",
    formula=r"\text{year} \times \text{family}",
    help="Each mark is an encoding, at the year of its first source, in the band of its family.",
    limits="Who built on whom is not drawn; the same idea often appeared in several places at "
    "once.",
)
def family_tree(entries: Iterable[Entry]) -> FigureSpec:
    """A mark and a label for every encoding, in as many rows as keep the labels apart."""
    known = list(entries)
    families = list(dict.fromkeys(family for family, *_ in known))
    x: list[float] = []
    y: list[float] = []
    text: list[str] = []
    hover: list[str] = []
    ticks: list[float] = []
    edges: list[float] = []
    top = 0.0
    for family in families:
        members = sorted(entry for entry in known if entry[0] == family)
        levels = _levels([(year, title) for _, year, title, _ in members])
        for (_, year, title, source), level in zip(members, levels, strict=True):
            x.append(float(year))
            y.append(top + level + 1)
            text.append(title)
            hover.append(f"{title}<br>{source}")
        tall = max(levels) + 1
        ticks.append(top + (tall + 1) / 2)
        top += tall + 1
        edges.append(top)
    trace: dict[str, Any] = {
        "type": "scatter",
        "mode": "markers+text",
        "name": "encodings",
        "x": x,
        "y": y,
        "text": text,
        "textposition": "middle right",
        "textfont": {"size": 11},
        "hovertext": hover,
        "hovertemplate": "%{hovertext}<extra></extra>",
        "cliponaxis": False,
        "marker": {"size": 7, "color": theme.SERIES[0]},
    }
    borders = [
        {
            "type": "line",
            "xref": "paper",
            "x0": 0,
            "x1": 1,
            "y0": edge,
            "y1": edge,
            "line": {"color": theme.GHOST, "width": 0.5},
        }
        for edge in edges[:-1]
    ]
    # Labels stand right of their marks, so the right edge leaves room for the longest.
    last = max(at + len(label) / _LETTERS_A_YEAR for at, label in zip(x, text, strict=True))
    return FigureSpec(
        [trace],
        layout(
            axis("year", range=[min(x) - 0.3, last + 0.3], dtick=1, tickformat="d"),
            axis("", range=[top, 0], tickvals=ticks, ticktext=families, showgrid=False),
            shapes=borders,
            height=int(_LINE * top) + 70,
            margin={"l": 90, "r": 10, "t": 10, "b": 44},
        ),
    )
