"""From a view to the panels of the board: every figure that accepts a result, keyed by inputs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posviz.catalog import link
from posviz.encodings.base import Encoding
from posviz.figures.results import (
    At,
    Line,
    Lines,
    Map,
    ResultFigure,
    accepting,
    draw_lines,
    draw_map,
    drawn,
    limits_of,
)
from posviz.results import Result
from posviz.ui.exchange import Panels, key_of
from posviz.ui.panel import Panel, read_at, text
from posviz.ui.results_board.view import View
from posviz.ui.slots.choice import slot_title

Content = Lines | Map


@dataclass(frozen=True)
class Shown:
    """One result with its place on the board."""

    slot: str
    spec: Encoding
    result: Result

    @property
    def label(self) -> str:
        return slot_title(self.slot, self.spec.title)

    @property
    def color(self) -> int:
        """Place in the palette."""
        return "abcd".index(self.slot) if self.slot else 0


def shown(view: View) -> list[Shown]:
    """Everything that stands on the board."""
    return [Shown(slot, spec, view.results[slot]) for slot, spec in view.specs.items()]


def parts_of(figure: ResultFigure, result: Result) -> Sequence[str]:
    """The parts of a result that a figure draws one by one; one without a name as a rule."""
    return figure.parts(result) if figure.parts is not None else ("",)


def panel_id(figure: ResultFigure, part: str) -> str:
    """Letters, digits and underscores only: it names files and elements."""
    tail = "".join(letter if letter.isalnum() else "_" for letter in part)
    return f"{figure.id}__{tail}" if part else figure.id


def looked_at(figure: ResultFigure, at: At, part: str) -> At:
    """The cursor as a figure sees it: what it does not use stays at its default."""
    used = {name: getattr(at, name) for name in figure.uses}
    return replace(At(), **used, part=part)


def slots_of(content: Content, cursor: str | None, named: Mapping[str, str]) -> dict[str, Any]:
    """What the formula's places hold: numbers along the cursor, and words."""
    slots = {name: text(value) for name, value in named.items()}
    if isinstance(content, Lines) and content.lines:
        first = content.lines[0]
        x, y = np.asarray(first.x, dtype=float), np.asarray(first.y, dtype=float)
        if cursor is not None:
            slots["x"] = read_at(cursor, x, x)
            slots["y"] = read_at(cursor, x, y)
    return slots


def map_notes(content: Content, limits: tuple[float, float] | None = None) -> list[str]:
    """What a reader must know of a map whose cells are means, or beyond its colours."""
    if not isinstance(content, Map):
        return []
    notes = []
    if content.block > 1:
        size = content.block
        notes.append(
            f"each cell is the mean of up to {size} × {size} numbers: 512 cells a side at most"
        )
    ends = limits or limits_of([content])
    largest = float(np.nanmax(np.abs(content.z), initial=0.0))
    if content.colours == "signed" and largest > ends[1] * (1 + 1e-9):
        notes.append(f"the colours end at ±{ends[1]:.3g}; the largest cell is {largest:.3g}")
    return notes


def one_panels(view: View) -> Panels:
    """The panels of a single result; its first figure comes first."""
    (item,) = shown(view)
    figures = accepting(item.result)
    ordered = sorted(figures, key=lambda figure: figure.id != item.spec.picture)
    panels: dict[str, tuple[str, Callable[[], Panel]]] = {}
    for figure in ordered:
        for part in parts_of(figure, item.result):
            at = looked_at(figure, view.at, part)
            key = key_of((figure.id, link(item.spec), view.count, at))
            panels[panel_id(figure, part)] = (key, functools.partial(_one, figure, item, at))
    return panels


def _one(figure: ResultFigure, item: Shown, at: At) -> Panel:
    content = figure.content(item.result, at)
    slots = slots_of(content, figure.cursor, figure.slots(item.result, at))
    return Panel(
        panel_id(figure, at.part),
        figure,
        figure.cursor,
        drawn(content),
        slots,
        map_notes(content),
        title=_titled(figure, at.part),
    )


def _titled(figure: ResultFigure, part: str) -> str:
    return f"{figure.title}: {part}" if part else figure.title


def several_panels(view: View) -> Panels:
    """Panels of several results on the same axes: lines together, maps side by side in one range,
    then the difference of the first two."""
    items = shown(view)
    wanted: dict[str, tuple[ResultFigure, str]] = {}
    for item in items:
        for figure in accepting(item.result):
            for part in parts_of(figure, item.result):
                wanted[panel_id(figure, part)] = (figure, part)
    ordered = sorted(wanted.values(), key=lambda pair: (pair[0].order, pair[0].id))
    panels: dict[str, tuple[str, Callable[[], Panel]]] = {}
    for figure, part in ordered:
        at = looked_at(figure, view.at, part)
        able = [
            item
            for item in items
            if figure.accepts(item.result) and part in parts_of(figure, item.result)
        ]
        key = key_of((figure.id, at, view.count, [(one.slot, link(one.spec)) for one in able]))
        panels.update(_compared(figure, at, able, key))
    return panels


def _compared(
    figure: ResultFigure, at: At, items: Sequence[Shown], key: str
) -> dict[str, tuple[str, Callable[[], Panel]]]:
    name = panel_id(figure, at.part)
    contents = _Contents(figure, at, items)
    if not figure.is_map:
        return {name: (key, functools.partial(_together, figure, at, items, contents))}
    found: dict[str, tuple[str, Callable[[], Panel]]] = {
        f"{name}__{item.slot}": (key, functools.partial(_beside, figure, at, item, contents))
        for item in items
    }
    if len(items) > 1:
        found[f"{name}__difference"] = (
            key,
            functools.partial(_difference, figure, at, items[:2], contents),
        )
    return found


class _Contents:
    """The contents of one figure for several results, worked out once per reply."""

    def __init__(self, figure: ResultFigure, at: At, items: Sequence[Shown]) -> None:
        self._figure, self._at, self._items = figure, at, items

    @functools.cached_property
    def all(self) -> dict[str, Content]:
        return {item.slot: self._figure.content(item.result, self._at) for item in self._items}

    @property
    def maps(self) -> dict[str, Map]:
        return {slot: one for slot, one in self.all.items() if isinstance(one, Map)}


def _together(figure: ResultFigure, at: At, items: Sequence[Shown], contents: _Contents) -> Panel:
    series: list[tuple[str, int | None, Line]] = []
    axes: Lines | None = None
    notes = []
    for item in items:
        content = contents.all[item.slot]
        assert isinstance(content, Lines)
        axes = axes or content
        series.append((item.label, item.color, content.lines[0]))
        if len(content.lines) > 1:
            notes.append(f"{item.label}: {content.lines[0].name}")
    assert axes is not None
    first = items[0]
    slots = slots_of(contents.all[first.slot], figure.cursor, figure.slots(first.result, at))
    return Panel(
        panel_id(figure, at.part),
        figure,
        figure.cursor,
        draw_lines(series, replace(axes, y_range=_shared_range(contents))),
        slots,
        notes,
        lead=first.label if len(items) > 1 else "",
        title=_titled(figure, at.part),
    )


def _shared_range(contents: _Contents) -> tuple[float, float] | None:
    given = [one.y_range for one in contents.all.values() if isinstance(one, Lines)]
    known = [one for one in given if one is not None]
    if len(known) < len(given):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _beside(figure: ResultFigure, at: At, item: Shown, contents: _Contents) -> Panel:
    content = contents.maps[item.slot]
    limits = limits_of(list(contents.maps.values()))
    return Panel(
        f"{panel_id(figure, at.part)}__{item.slot}",
        figure,
        figure.cursor,
        draw_map(content, limits, item.label),
        slots_of(content, figure.cursor, figure.slots(item.result, at)),
        map_notes(content, limits),
        lead=item.label,
        title=f"{_titled(figure, at.part)} · {item.label}",
    )


def _difference(figure: ResultFigure, at: At, items: Sequence[Shown], contents: _Contents) -> Panel:
    first, second = (contents.maps[item.slot] for item in items)
    same = np.shape(first.z) == np.shape(second.z)
    rows, columns = (min(a, b) for a, b in zip(np.shape(first.z), np.shape(second.z), strict=True))
    gap = np.asarray(first.z)[:rows, :columns] - np.asarray(second.z)[:rows, :columns]
    content = replace(
        first,
        x=np.asarray(first.x)[:columns],
        y=np.asarray(first.y)[:rows],
        z=gap,
        colours="signed",
        z_title=f"{first.z_title}, difference",
    )
    finite = gap[np.isfinite(gap)]
    largest = float(np.abs(finite).max()) if finite.size else 0.0
    notes = [f"largest difference {largest:.4g}"]
    notes += [] if same else ["the two have different sizes: only what both have is subtracted"]
    names = [item.slot.upper() for item in items]
    return Panel(
        f"{panel_id(figure, at.part)}__difference",
        figure,
        figure.cursor,
        draw_map(content, limits_of([content]), f"{names[0]} − {names[1]}"),
        slots_of(content, figure.cursor, figure.slots(items[0].result, at)),
        notes,
        lead=items[0].label,
        title=f"{_titled(figure, at.part)} · {names[0]} − {names[1]}",
    )
