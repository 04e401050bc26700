"""The state of the page: a model, values for every control, and the specs that they make."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, Lt

from posviz.catalog import catalog, get
from posviz.configs import Model
from posviz.encodings.extension import FactorExtension
from posviz.encodings.ramps import turns
from posviz.encodings.rotary import RotaryEncoding
from posviz.parameters import (
    Declaration,
    Declared,
    Parameter,
    ParameterError,
    closest,
    shortened,
)
from posviz.ui.controls import PROFILE, as_typed

SLOTS = ("a", "b", "c", "d")
OFF = "off"
SHARED = ("base", "head_dim", "original_max_position_embeddings", "scaling_factor")
"""Parameters that all methods on the page share: they describe the model and the aim."""
HIDDEN = ("partial_rotary_factor", "layout")
"""Parameters that follow the model and have no control: layout changes none of these pictures."""
CUSTOM = "custom"
NO_PROFILES = {"profile_a": "", "profile_b": ""}
"""Names of the two implementations compared; empty means the page's own choice."""
FACTOR_WHERE_THE_MODEL_HAS_NONE = 4.0
LONGEST_TARGET = 1 << 22
MOST_COSINES = 1 << 28
"""Work per curve that one person may ask of a server that a class shares."""


class Reading(Declared):
    """What the page adds to the methods: how far to look, and where the cursor stands."""

    title: ClassVar[str] = "Context extension"

    target: Annotated[
        int | None,
        Ge(2),
        Le(LONGEST_TARGET),
        Parameter(
            help="The context length L′ to look at; left out, it is L times the factor.",
            symbol="L'",
            unit="tokens",
            slider=(1024, 1 << 20),
            scale="log",
        ),
    ] = None
    pair: Annotated[
        int, Ge(0), Lt(4096), Parameter(help="The pair under the cursor; 0 is the fastest.")
    ] = 32
    distance: Annotated[
        int,
        Ge(1),
        Le(LONGEST_TARGET),
        Parameter(help="The distance under the cursor.", unit="tokens", scale="log"),
    ] = 1000
    position: Annotated[
        int,
        Ge(0),
        Le(LONGEST_TARGET),
        Parameter(
            help="Where the clock hands stand; play moves it.",
            symbol="p",
            unit="tokens",
            slider=(0, 4096),
            step=1,
        ),
    ] = 256
    needle: Annotated[
        float,
        Gt(0),
        Lt(1),
        Parameter(
            help="Weight that the needle has in the trained window without any factor.",
            slider=(0.05, 0.99),
            step=0.01,
        ),
    ] = 0.9
    pad: Annotated[
        Literal["ramp", "base_and_factor"],
        Parameter(help="Which two parameters the map of two costs moves."),
    ] = "ramp"
    weight: Annotated[
        float,
        Ge(0),
        Le(1),
        Parameter(
            help="What the change at short range counts in the proposal; the unseen arc counts the "
            "rest, 1 - w. The factor on the scores counts in neither.",
            symbol="w",
            slider=(0, 1),
            step=0.01,
        ),
    ] = 0.5


SHARED_DECLARATIONS = {
    declaration.name: declaration
    for declaration in FactorExtension.declarations()
    if declaration.name in SHARED
}
READING = {declaration.name: declaration for declaration in Reading.declarations()}


@dataclass(frozen=True)
class Profiles:
    """Two implementations of one method, each with the spec that gives it."""

    method: str
    names: tuple[str, ...]
    first: tuple[str, RotaryEncoding]
    second: tuple[str, RotaryEncoding]

    @property
    def chosen(self) -> tuple[str, str]:
        return self.first[0], self.second[0]


def profiles_of(spec: RotaryEncoding) -> Mapping[str, Mapping[str, Any]]:
    """Named implementations of the spec's method; none where all agree."""
    return getattr(spec, "profiles", {})


def profile_of(spec: RotaryEncoding) -> str:
    """The first named implementation that computes as the spec does, or CUSTOM."""
    for name, values in profiles_of(spec).items():
        if spec.with_values(**values) == spec:
            return name
    return CUSTOM


def _other(spec: Any, names: list[str], first: str) -> str:
    """The first implementation whose frequencies differ, so that there is a curve to show."""
    length = 2 * spec.original_max_position_embeddings
    reference = spec.with_values(**spec.profiles[first]).frequencies(length)
    for name in names:
        other = spec.with_values(**spec.profiles[name]).frequencies(length)
        if name != first and not bool((other == reference).all()):
            return name
    return next(name for name in names if name != first)


@dataclass(frozen=True)
class View:
    """A model with values for all controls; every value has the type of its declaration."""

    source: str
    """Where the model came from: ``model=<preset id>`` or ``config=<packed text>``."""
    model: Model
    layer_type: str
    values: Mapping[str, Any]
    compared: str = ""
    """Where the second configuration came from, in the same form; empty where there is none."""
    runtime: str = ""
    """The runtime that the report is about; empty for all of them."""
    wanted: int | None = None
    """The context length that the report is about, in tokens."""

    def beside(self, other: View) -> View:
        """This view with what stands beside the board of another: second configuration, report."""
        return replace(self, compared=other.compared, runtime=other.runtime, wanted=other.wanted)

    @property
    def methods(self) -> dict[str, str]:
        """Slot to encoding id, for the slots that are in use."""
        return {slot: self.values[slot] for slot in SLOTS if self.values[slot] != OFF}

    def spec(self, slot: str) -> RotaryEncoding:
        return self._specs[slot]

    def specs(self) -> dict[str, RotaryEncoding]:
        """The spec of every slot in use; raises ParameterError for one that cannot be made."""
        return dict(self._specs)

    @functools.cached_property
    def _specs(self) -> dict[str, RotaryEncoding]:
        # A view lives for one reply, in which every part of the page asks for the same few specs.
        return {
            slot: build(chosen, self.values, prefix=f"{slot}.")
            for slot, chosen in self.methods.items()
        }

    @functools.cached_property
    def unscaled(self) -> RotaryEncoding:
        """The model before any extension, following the base and dimension controls."""
        own = self.model.spec(self.layer_type)
        if own.family != "rotary":
            return build("rope", self.values)
        kept = {name: value for name, value in own.model_dump().items() if name not in SHARED}
        return build(own.id, {**self.values, **kept})

    @property
    def trained_length(self) -> int:
        return int(self.values["original_max_position_embeddings"])

    @property
    def target_length(self) -> int:
        """L′: as set, or the trained window times the factor, within what the page can show."""
        chosen = self.values["target"]
        if chosen is not None:
            return int(chosen)
        extended: int = round(self.trained_length * self.values["scaling_factor"])
        return extended

    def profiles(self) -> Profiles | None:
        return self._profiles

    @functools.cached_property
    def _profiles(self) -> Profiles | None:
        """Two named implementations of the first method that has several, as chosen."""
        for slot in self.methods:
            spec = self.spec(slot)
            named = profiles_of(spec)
            if len(named) > 1:
                names = list(named)
                first = self.values["profile_a"]
                first = first if first in named else names[0]
                second = self.values["profile_b"]
                second = second if second in named else _other(spec, names, first)
                return Profiles(
                    f"{slot.upper()} · {spec.title}",
                    tuple(names),
                    (first, spec.with_values(**named[first])),
                    (second, spec.with_values(**named[second])),
                )
        return None

    def with_value(self, name: str, value: Any) -> View:
        return replace(self, values={**self.values, name: value})


def build(encoding_id: str, values: Mapping[str, Any], *, prefix: str = "") -> RotaryEncoding:
    """A spec from the page's values: shared ones by name, its own ones under the slot's prefix."""
    encoding = get(encoding_id)
    chosen = {}
    for declaration in encoding.declarations():
        name = declaration.name
        key = name if name in SHARED + HIDDEN else prefix + name
        if key in values:
            chosen[name] = values[key]
    spec = encoding(**chosen)
    assert isinstance(spec, RotaryEncoding)
    return spec


def own_declarations(encoding_id: str) -> list[Declaration]:
    """The parameters of a method that it does not share with the others on the page."""
    return [
        declaration
        for declaration in get(encoding_id).declarations()
        if declaration.name not in SHARED + HIDDEN
    ]


def methods_on_offer() -> dict[str, str]:
    """Encoding id to title, for everything that can stand in a slot."""
    return {
        encoding.id: encoding.title
        for encoding in catalog()
        if issubclass(encoding, RotaryEncoding)
    }


def first_view(source: str, model: Model, layer_type: str | None = None) -> View:
    """The view that a model opens with: its own method, or YaRN where it has none."""
    layer = layer_type or rotating_layers(model)[0]
    own = model.spec(layer)
    given = own.model_dump()
    extended = own.family == "extension"
    shared = {
        "base": given["base"],
        "head_dim": given["head_dim"],
        "original_max_position_embeddings": given.get("original_max_position_embeddings")
        or _trained_window(model),
        "scaling_factor": given.get("scaling_factor") or _implied_factor(model, extended),
        **{name: given[name] for name in HIDDEN},
    }
    values: dict[str, Any] = {**Reading().model_dump(), **shared, **NO_PROFILES}
    values.update(dict.fromkeys(SLOTS, OFF))
    values.update(method_values("a", own.id if extended else "yarn", shared))
    if extended:
        values.update({f"a.{d.name}": given[d.name] for d in own_declarations(own.id)})
    pairs = int(given["head_dim"] * given["partial_rotary_factor"]) // 2
    values["pair"] = pairs // 2
    if extended and not getattr(own, "factor_is_length_ratio", True):
        values["target"] = model.window
    view = View(source, model, layer, values)
    largest = min(LONGEST_TARGET, MOST_COSINES // max(1, pairs))
    # Such a length can be named, but not drawn for a class at once; the control says what is shown.
    if view.target_length > largest:
        view = view.with_value("target", largest)
    return _with_telling_cursor(view)


def _with_telling_cursor(view: View) -> View:
    """The cursor where there is something to see: a pair that never finished a turn in training,
    and a position in the middle of the new context."""
    view = view.with_value("position", min(view.target_length // 2, LONGEST_TARGET))
    unfinished = np.flatnonzero(
        turns(np.asarray(view.unscaled.trained_frequencies()), view.trained_length) < 1
    )
    rotating = view.unscaled.rotating_pairs
    telling = [int(pair) for pair in unfinished if pair < rotating]
    return view.with_value("pair", telling[len(telling) // 4]) if telling else view


def _trained_window(model: Model) -> int:
    """The window of a model whose method does not name it; never an invented one."""
    window = model.trained_window or model.window
    if window is None:
        raise ParameterError(
            f"{Reading.title}: the configuration names no window: add max_position_embeddings."
        )
    return window


def _implied_factor(model: Model, extended: bool) -> float:
    """The factor of a model that names none: by its two windows where it is extended already."""
    if extended and model.window and model.trained_window and model.window > model.trained_window:
        return model.window / model.trained_window
    return FACTOR_WHERE_THE_MODEL_HAS_NONE


def method_values(slot: str, encoding_id: str, known: Mapping[str, Any]) -> dict[str, Any]:
    """A slot's encoding and what its own parameters start from, next to the shared ones."""
    if encoding_id == OFF:
        return {slot: OFF}
    shared = {name: known[name] for name in SHARED + HIDDEN}
    fitting = get(encoding_id).starting_values(**shared)
    own = {d.name: fitting.get(d.name, d.default) for d in own_declarations(encoding_id)}
    return {slot: encoding_id, **{f"{slot}.{name}": value for name, value in own.items()}}


def rotating_layers(model: Model) -> tuple[str, ...]:
    """Layer types that can be drawn, the one that the model is asked for by default first."""
    first = model.layer().name
    others = [layer.name for layer in model.layers if layer.spec is not None]
    return (first, *(name for name in others if name != first))


def declaration_of(name: str, values: Mapping[str, Any]) -> tuple[Declaration, str] | None:
    """The declaration behind a value's name, and who owns it for messages."""
    if name in READING:
        return READING[name], Reading.title
    slot, dot, own = name.partition(".")
    if dot and slot in SLOTS and values.get(slot, OFF) != OFF:
        encoding = get(values[slot])
        for declaration in own_declarations(encoding.id):
            if declaration.name == own:
                return declaration, f"{slot.upper()} · {encoding.title}"
    if name in SHARED_DECLARATIONS:
        return SHARED_DECLARATIONS[name], Reading.title
    return None


def changed(view: View, sent: Mapping[str, Any]) -> tuple[View, list[ParameterError]]:
    """The view with the values that came from the board or an address.

    Shared values come first, since a method starts from them; then the methods, since they decide
    which parameters exist. A value that cannot be used is reported and the one before it stays.
    """
    errors: list[ParameterError] = []
    values = dict(view.values)
    _take(values, {name: sent[name] for name in SHARED if name in sent}, errors)
    _take_methods(values, sent, errors)
    set_by_profile: dict[str, Any] = {}
    for slot in SLOTS:
        set_by_profile.update(_of_profile(slot, values, sent.get(f"{slot}.{PROFILE}")))
    values.update(set_by_profile)
    taken = {*SHARED, *SLOTS, *set_by_profile}
    _take(values, {name: raw for name, raw in sent.items() if name not in taken}, errors)
    return _known_profiles(replace(view, values=values), errors), errors


def _known_profiles(view: View, errors: list[ParameterError]) -> View:
    """The view without implementations that its method does not have; each is reported."""
    asked = {name: view.values[name] for name in NO_PROFILES if view.values[name]}
    if not asked:
        return view
    # Without a choice of its own a view can name all implementations, or none.
    free = replace(view, values={**view.values, **NO_PROFILES})
    profiles = free.profiles()
    names = profiles.names if profiles is not None else ()
    for name, chosen in asked.items():
        if chosen not in names:
            hint = closest(chosen, list(names)) if names else "this method has none"
            errors.append(
                ParameterError(
                    f"{Reading.title}: there is no implementation {shortened(chosen)}; {hint}."
                )
            )
            view = view.with_value(name, "")
    return view


def _take_methods(
    values: dict[str, Any], sent: Mapping[str, Any], errors: list[ParameterError]
) -> None:
    offered = methods_on_offer()
    for slot in SLOTS:
        chosen = sent.get(slot, values[slot])
        if chosen == values[slot]:
            continue
        if chosen != OFF and chosen not in offered:
            hint = closest(str(chosen), list(offered))
            errors.append(
                ParameterError(
                    f"Slot {slot.upper()}: there is no method {shortened(chosen)}; {hint}."
                )
            )
            continue
        for name in [name for name in values if name.startswith(f"{slot}.")]:
            del values[name]
        values.update(method_values(slot, str(chosen), values))
        values.update(NO_PROFILES)


def _take(values: dict[str, Any], sent: Mapping[str, Any], errors: list[ParameterError]) -> None:
    """Put typed values in place; names that belong to nothing here are left to the caller."""
    for name, raw in sent.items():
        if name in NO_PROFILES:
            values[name] = str(raw)
            continue
        found = declaration_of(name, values)
        if found is None:
            continue
        try:
            values[name] = as_typed(found[0], found[1], raw)
        except ParameterError as error:
            errors.append(error)


def _of_profile(slot: str, values: Mapping[str, Any], name: Any) -> dict[str, Any]:
    """The values that choosing a named implementation sets."""
    if values[slot] == OFF or name is None:
        return {}
    spec = build(values[slot], values, prefix=f"{slot}.")
    named = profiles_of(spec)
    if name not in named or name == profile_of(spec):
        return {}
    return {f"{slot}.{key}": value for key, value in named[name].items()}


def checked(view: View) -> View:
    """The view itself, once every spec and every reading has been found usable.

    Raises ParameterError with the first sentence that says what is wrong.
    """
    Reading(**{name: view.values[name] for name in READING})
    specs = [view.unscaled, *view.specs().values()]
    pairs = min(spec.pairs for spec in specs)
    if view.values["pair"] >= pairs:
        raise ParameterError(
            f"{Reading.title}: pair must be below the number of pairs, {pairs}; "
            f"got {view.values['pair']}."
        )
    if view.trained_length < 2:
        raise ParameterError(
            f"{Reading.title}: original_max_position_embeddings must be at least 2 to be drawn; "
            f"got {view.trained_length}."
        )
    if view.target_length < 2:
        raise ParameterError(
            f"{Reading.title}: the target length must be at least 2; got {view.target_length}."
        )
    if view.target_length > LONGEST_TARGET:
        raise ParameterError(
            f"{Reading.title}: the target length must be at most {LONGEST_TARGET:,}; got "
            f"{view.target_length:,}. Lower the scaling factor or the trained window, or set the "
            "target length by hand."
        )
    if pairs * view.target_length > MOST_COSINES:
        raise ParameterError(
            f"{Reading.title}: pairs times target length must be at most {MOST_COSINES:,}; got "
            f"{pairs:,} × {view.target_length:,}. Lower head_dim or the target length."
        )
    return view


def cursor_kept(view: View) -> View:
    """The cursor on the last pair when the pairs have become fewer."""
    pairs = min(spec.pairs for spec in (view.unscaled, *view.specs().values()))
    return view if view.values["pair"] < pairs else view.with_value("pair", pairs - 1)
