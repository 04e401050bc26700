"""The state of a board that shows results: which encodings, their values, and the cursor."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Le

from posviz.catalog import get, link, parse
from posviz.figures.results import At
from posviz.parameters import (
    Declaration,
    Declared,
    Parameter,
    ParameterError,
)
from posviz.results import AttentionBias, AttentionTerms, PositionTable, Result, RotaryResult
from posviz.ui.controls import as_typed
from posviz.ui.slots.choice import Slots
from posviz.ui.slots.values import SlottedView, first_values, take_slots

ONE = Slots(("",))
"""The slot of a board with one encoding: its values carry no prefix."""
SEVERAL = Slots(("a", "b", "c", "d"), may_be_empty=("c", "d"))
LONGEST = 8192
MOST_NUMBERS = 1 << 24
"""Of a matrix that one person may ask of a server that a class shares: 128 MB."""


class Reading(Declared):
    """What a board adds to its encodings: how many positions, and where the cursor stands."""

    title: ClassVar[str] = "This page"

    length: Annotated[
        int,
        Ge(2),
        Le(LONGEST),
        Parameter(
            help="How many positions are shown.",
            symbol="n",
            unit="tokens",
            slider=(8, 512),
            scale="log",
        ),
    ] = 128
    position: Annotated[
        int,
        Ge(0),
        Le(LONGEST - 1),
        Parameter(help="The position, or the query, under the cursor.", slider=(0, 512), step=1),
    ] = 64
    distance: Annotated[
        int,
        Ge(0),
        Le(LONGEST - 1),
        Parameter(help="The distance under the cursor.", unit="tokens", slider=(0, 512), step=1),
    ] = 8
    dimension: Annotated[
        int,
        Ge(0),
        Le(LONGEST - 1),
        Parameter(
            help="The dimension, or the pair of a rotation, under the cursor; 0 is the fastest.",
            slider=(0, 512),
            step=1,
        ),
    ] = 8
    head: Annotated[
        int, Ge(0), Le(511), Parameter(help="The head that is shown.", slider=(0, 32), step=1)
    ] = 0


READING: Mapping[str, Declaration] = {one.name: one for one in Reading.declarations()}
CURSORS = ("position", "distance", "dimension", "head")


@functools.lru_cache(maxsize=16)
def result_of(text: str, count: int) -> Result:
    """The result of a link at about ``count`` example positions."""
    spec = parse(text)
    return spec.encode(spec.example_positions(count))


def sizes(result: Result) -> dict[str, int]:
    """How many places each cursor has in a result; a cursor that is missing has none."""
    count = int(result.positions.shape[0])
    found = {"position": count, "distance": count}
    if isinstance(result, PositionTable):
        found["dimension"] = int(result.vectors.shape[1])
    if isinstance(result, RotaryResult):
        found["dimension"] = int(result.inv_freq.shape[0])
    if isinstance(result, AttentionBias):
        found["head"] = result.heads
    if isinstance(result, AttentionTerms):
        found["head"] = int(next(iter(result.terms.values())).shape[0])
    return found


class View(SlottedView):
    """Values for all controls of a board."""

    @functools.cached_property
    def results(self) -> dict[str, Result]:
        """The result of every slot in use, all at the same number of positions."""
        return {slot: result_of(link(spec), self.count) for slot, spec in self.specs.items()}

    @property
    def count(self) -> int:
        return int(self.values["length"])

    @property
    def most(self) -> int:
        """Most positions that all encodings of the view can be asked for."""
        return min([LONGEST, *(get(encoding).most_positions for encoding in self.chosen.values())])

    @functools.cached_property
    def extents(self) -> dict[str, int]:
        """Places of each cursor in the largest of the results."""
        found: dict[str, int] = {}
        for result in self.results.values():
            for name, size in sizes(result).items():
                found[name] = max(size, found.get(name, 0))
        return found

    @property
    def at(self) -> At:
        places = {name: int(self.values[name]) for name in CURSORS}
        return At(
            position=places["position"],
            distance=places["distance"],
            dimension=places["dimension"],
            head=places["head"],
        )


def first_view(chosen: Mapping[str, str], slots: Slots) -> View:
    """The view that encodings open with, all values at their defaults."""
    values = Reading().model_dump() | first_values(slots, chosen)
    view = View(slots, values)
    # An encoding whose cost grows with the square of the length opens where it is quick.
    wished = [get(encoding).opens_with for encoding in view.chosen.values()]
    length = min([*wished, view.most // 8])
    view = replace(view, values={**values, "length": length})
    # A fast dimension, which shows something among few positions.
    fast = min(values["dimension"], view.extents.get("dimension", 0) // 16)
    return with_cursor_kept(replace(view, values={**view.values, "dimension": fast}))


def with_cursor_kept(view: View) -> View:
    """The length and the cursors moved to their last place where there are fewer now."""
    view = replace(view, values={**view.values, "length": min(view.count, view.most)})
    kept = {
        name: min(view.values[name], view.extents.get(name, 1) - 1)
        for name in CURSORS
        if name in view.extents
    }
    return replace(view, values={**view.values, **kept})


def changed(view: View, sent: Mapping[str, Any]) -> View:
    """The view with values that came from the board or an address.

    Raises ParameterError with the first sentence that says what is wrong.
    """
    values = take_slots(view.values, view.slots, sent)
    for name, declaration in READING.items():
        if name in sent:
            values[name] = as_typed(declaration, Reading.title, sent[name])
    return _checked(view, View(view.slots, values))


def _checked(before: View, view: View) -> View:
    """The view, once its specs, results and readings are known to be usable."""
    Reading(**{name: view.values[name] for name in READING})
    if view.chosen == before.chosen and view.count > view.most:
        title = min(view.specs.values(), key=lambda spec: spec.most_positions).title
        raise ParameterError(
            f"{title}: length must be at most {view.most} here, since every pair of positions is "
            f"worked out; got {view.count}."
        )
    for spec in view.specs.values():
        numbers = spec.matrix_numbers(min(view.count, view.most))
        if numbers > MOST_NUMBERS:
            raise ParameterError(
                f"{spec.title}: a matrix of all pairs of {view.count} positions, in every head, "
                f"must have at most {MOST_NUMBERS:,} numbers here; got {numbers:,}. Lower the "
                "length or the heads."
            )
    return with_cursor_kept(view)
