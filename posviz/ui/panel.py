"""One panel of a live board: a figure, its words, and what the cursor reads from it."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from posviz.figures import FigureSpec
from posviz.ui.mathml import mathml


class Words(Protocol):
    """What explains a figure; figures of every kind have these."""

    @property
    def title(self) -> str: ...
    @property
    def formula(self) -> str: ...
    @property
    def help(self) -> str: ...
    @property
    def limits(self) -> str: ...


@dataclass(frozen=True)
class Panel:
    """A figure with what the cursor reads from it."""

    id: str
    words: Words
    cursor: str | None
    figure: FigureSpec
    slots: Mapping[str, Any]
    notes: Sequence[str]
    lead: str = ""
    """Whose numbers stand in the formula, where there are several methods."""
    title: str = ""
    """Instead of the figure's own title, where one figure gives several panels."""
    is_wide: bool = False
    """Whether it takes the whole width of the board."""
    zooms: bool = False
    """Whether the page is told of a zoom into x and then gives finer points for it."""
    pad: Mapping[str, Any] | None = None
    """Which two values a point on the panel moves, where it has one that can be dragged."""

    @property
    def formula(self) -> str:
        named = rf"\text{{{self.lead}:}}\;" if self.lead else ""
        return named + self.words.formula

    def packed(self, key: str) -> dict[str, Any]:
        """The panel as the board reads it."""
        return {
            "id": self.id,
            "key": key,
            "title": self.title or self.words.title,
            "figure": {"data": self.figure.data, "layout": self.figure.layout},
            "cursor": self.cursor,
            "formula": {"mathml": mathml(self.formula), "slots": dict(self.slots)},
            "help": self.words.help,
            "limits": self.words.limits,
            "notes": list(self.notes),
            "zooms": self.zooms,
            "span": 2 if self.is_wide else 1,
            **({} if self.pad is None else {"pad": dict(self.pad)}),
        }


def text(value: str) -> dict[str, Any]:
    """A slot of a formula that holds these words."""
    return {"text": value}


def read_at(cursor: str, x: Any, values: Any) -> dict[str, Any]:
    """A slot of a formula that holds the value at the x nearest to a cursor."""
    return {"index": cursor, "x": np.asarray(x), "values": np.asarray(values, dtype=float)}


def _write_map(writer: Any, trace: Mapping[str, Any], axes: list[str]) -> None:
    """A map as a table: columns across, rows down, blank where there is no value."""
    writer.writerow([f"{axes[1]} \\ {axes[0]}", *(x.item() for x in np.asarray(trace["x"]))])
    for y, row in zip(np.asarray(trace["y"]), np.asarray(trace["z"]), strict=True):
        writer.writerow([y.item(), *("" if np.isnan(z) else z.item() for z in row)])


def _axis_title(layout: Mapping[str, Any], name: str) -> str:
    """The title of an axis; of several small plots only those at the edge carry one."""
    titles = [one["title"]["text"] for key, one in layout.items() if key.startswith(name)]
    return next(filter(None, titles), "")


def as_csv(panel: Panel) -> str:
    """The numbers that a panel draws, in full precision, one row per point."""
    axes = [_axis_title(panel.figure.layout, name) for name in ("xaxis", "yaxis")]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    maps = [trace for trace in panel.figure.data if "z" in trace]
    for trace in maps:
        if len(maps) > 1:
            writer.writerow([trace["name"]])
        _write_map(writer, trace, axes)
    if maps:
        return out.getvalue()
    writer.writerow(["series", axes[0] or "x", axes[1] or "y"])
    for trace in panel.figure.data:
        for x, y in zip(np.asarray(trace["x"]), np.asarray(trace["y"]), strict=True):
            writer.writerow([trace["name"], x.item(), y.item()])
    return out.getvalue()
