"""The state of a board that shows results: which encodings, their values, and the cursor."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

from annotated_types import Ge, Le
from pydantic import BaseModel, ConfigDict, ValidationError

from posviz.catalog import catalog, get, link, parse
from posviz.encodings.base import Encoding
from posviz.figures.results import At
from posviz.parameters import (
    Declaration,
    Parameter,
    ParameterError,
    closest,
    declarations,
    parameter_error,
)
from posviz.results import AttentionBias, AttentionTerms, PositionTable, Result, RotaryResult
from posviz.ui.controls import PROFILE, as_typed

OFF = "off"
CUSTOM = "custom"
ENCODING = "encoding"
ONE = ("",)
"""Slots of a board with one encoding: its values carry no prefix."""
SEVERAL = ("a", "b", "c", "d")
LONGEST = 8192
MOST_NUMBERS = 1 << 24
"""Of a matrix that one person may ask of a server that a class shares: 128 MB."""


class Reading(BaseModel):
    """What a board adds to its encodings: how many positions, and where the cursor stands."""

    model_config = ConfigDict(frozen=True, strict=True, allow_inf_nan=False)
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


READING: Mapping[str, Declaration] = {one.name: one for one in declarations(Reading)}
CURSORS = ("position", "distance", "dimension", "head")


def choice_key(slot: str) -> str:
    """Name of the value that says which encoding stands in a slot."""
    return slot or ENCODING


def own_key(slot: str, name: str) -> str:
    """Name of the value of a slot's own parameter."""
    return f"{slot}.{name}" if slot else name


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


@dataclass(frozen=True)
class View:
    """Values for all controls of a board; every value has the type of its declaration."""

    slots: tuple[str, ...]
    values: Mapping[str, Any]

    @property
    def chosen(self) -> dict[str, str]:
        """Slot to encoding id, for the slots that are in use."""
        named = {slot: self.values[choice_key(slot)] for slot in self.slots}
        return {slot: encoding for slot, encoding in named.items() if encoding != OFF}

    @functools.cached_property
    def specs(self) -> dict[str, Encoding]:
        """The spec of every slot in use; raises ParameterError for one that cannot be made."""
        return {slot: self._spec(slot, encoding) for slot, encoding in self.chosen.items()}

    def _spec(self, slot: str, encoding_id: str) -> Encoding:
        encoding = get(encoding_id)
        names = [declaration.name for declaration in encoding.declarations()]
        return encoding(**{name: self.values[own_key(slot, name)] for name in names})

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


def own_values(slot: str, encoding_id: str) -> dict[str, Any]:
    """A slot's choice with the defaults of its parameters."""
    values: dict[str, Any] = {choice_key(slot): encoding_id}
    if encoding_id != OFF:
        values.update({own_key(slot, d.name): d.default for d in get(encoding_id).declarations()})
    return values


def first_view(chosen: Mapping[str, str], slots: tuple[str, ...]) -> View:
    """The view that encodings open with, all values at their defaults."""
    values: dict[str, Any] = Reading().model_dump()
    for slot in slots:
        values.update(own_values(slot, chosen.get(slot, OFF)))
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
    values = dict(view.values)
    for slot in view.slots:
        _take_choice(values, slot, sent)
    by_profile: dict[str, Any] = {}
    for slot, encoding_id in View(view.slots, values).chosen.items():
        encoding = get(encoding_id)
        for declaration in encoding.declarations():
            name = own_key(slot, declaration.name)
            if name in sent and not _belonged_to_another(view, slot, encoding_id, declaration):
                values[name] = as_typed(declaration, encoding.title, sent[name])
        by_profile.update(_of_profile(view, values, slot, sent.get(own_key(slot, PROFILE))))
    values.update(by_profile)
    for name, declaration in READING.items():
        if name in sent:
            values[name] = as_typed(declaration, Reading.title, sent[name])
    return _checked(view, View(view.slots, values))


def _take_choice(values: dict[str, Any], slot: str, sent: Mapping[str, Any]) -> None:
    """Put another encoding in a slot; what it shares by name and kind with the old one stays."""
    key = choice_key(slot)
    new = sent.get(key, values[key])
    if new == values[key]:
        return
    if new == OFF and slot:
        values[key] = OFF
        return
    known = [encoding.id for encoding in catalog()]
    if new not in known:
        raise ParameterError(f"There is no encoding {new!r}; {closest(str(new), known)}.")
    kept = {name: value for name, value in values.items() if name in own_values(slot, values[key])}
    old = {} if values[key] == OFF else {d.name: d for d in get(values[key]).declarations()}
    values.update(own_values(slot, new))
    for declaration in get(new).declarations():
        if old.get(declaration.name) == declaration:
            name = own_key(slot, declaration.name)
            values[name] = kept[name]


def _belonged_to_another(view: View, slot: str, encoding_id: str, declaration: Declaration) -> bool:
    """Whether a value that was sent was set for a parameter that the old encoding had, not this."""
    before = view.values[choice_key(slot)]
    if before in (encoding_id, OFF):
        return False
    return declaration not in get(before).declarations()


def _of_profile(view: View, values: Mapping[str, Any], slot: str, name: Any) -> dict[str, Any]:
    """The values that choosing a named implementation sets."""
    encoding = get(values[choice_key(slot)])
    if name not in encoding.profiles:
        return {}
    before = view.specs.get(slot)
    if before is not None and before.id == encoding.id and profile_of(before) == name:
        return {}
    return {own_key(slot, key): value for key, value in encoding.profiles[name].items()}


def profile_of(spec: Encoding) -> str:
    """The first named implementation that computes as the spec does, or CUSTOM."""
    for name, values in spec.profiles.items():
        if all(getattr(spec, key) == value for key, value in values.items()):
            return name
    return CUSTOM


def _checked(before: View, view: View) -> View:
    """The view, once its specs, results and readings are known to be usable."""
    try:
        Reading(**{name: view.values[name] for name in READING})
    except ValidationError as error:
        raise parameter_error(Reading, Reading.title, error) from None
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
