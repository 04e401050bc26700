"""The map of two costs: which two parameters it moves, and the panel that shows it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from posviz import figures, measures
from posviz.catalog import link
from posviz.encodings.extension import FactorExtension
from posviz.encodings.rotary import RotaryEncoding
from posviz.figures import Mark
from posviz.parameters import number_text
from posviz.ui.context_extension.view import SHARED, View, first_view, profiles_of
from posviz.ui.panel import Panel, text

RAMPS = (("beta_fast", "beta_slow"), ("high_freq_factor", "low_freq_factor"))
"""What methods call the two ends of their ramp: pairs above the first are kept."""
BASE_AND_FACTOR = ("base", "scaling_factor")
_COSTS = {"change": "change at short range", "unseen": "unseen arc"}
AXES = {"ramp": "the two ends of the ramp", "base_and_factor": "base × scaling factor"}
_MOST_KEPT = 32
"""Kept for all people of a server together; a map is some 40 KB."""


@dataclass(frozen=True)
class Pad:
    """What the map is computed from, and where the point stands on it."""

    slot: str
    label: str
    axes: str
    names: tuple[str, str]
    controls: tuple[str, str]
    """The names of the two values that the point moves."""
    spec: RotaryEncoding
    reference: RotaryEncoding
    """The model as trained, against which both costs count."""
    target_length: int
    trained_length: int
    weight: float
    own: tuple[float, float] | None
    """What the model's configuration says, where it uses this method."""
    holds_target: bool
    """Whether the target length follows one of the two values unless it is held."""

    @property
    def point(self) -> tuple[float, float]:
        x, y = (float(getattr(self.spec, name)) for name in self.names)
        return x, y

    @property
    def inputs(self) -> str:
        """What the map itself depends on: everything but the two values that it moves."""
        rest = {k: v for k, v in self.spec.model_dump().items() if k not in self.names}
        parts = (self.spec.id, self.names, rest, link(self.reference), self.target_length)
        return repr((*parts, self.trained_length))

    @property
    def key(self) -> tuple[str, ...]:
        """What the panel depends on."""
        return self.inputs, repr((self.point, self.weight, self.own, self.label, self.holds_target))


def pad_axes(view: View) -> dict[str, str]:
    """The pairs of parameters that a method of the view has, each with the first slot that does."""
    found: dict[str, str] = {}
    for slot, spec in view.specs().items():
        if ramp_of(spec) is not None:
            found.setdefault("ramp", slot)
        if isinstance(spec, FactorExtension):
            found.setdefault("base_and_factor", slot)
    return {axes: found[axes] for axes in AXES if axes in found}


def ramp_of(spec: RotaryEncoding) -> tuple[str, str] | None:
    fields = type(spec).model_fields
    return next((names for names in RAMPS if fields.keys() >= set(names)), None)


def pad_of(view: View) -> Pad | None:
    """The map of a view; None where no method has two such parameters."""
    offered = pad_axes(view)
    if not offered:
        return None
    axes = view.values["pad"] if view.values["pad"] in offered else next(iter(offered))
    slot = offered[axes]
    spec = view.spec(slot)
    names = ramp_of(spec) if axes == "ramp" else BASE_AND_FACTOR
    assert names is not None
    x, y = (name if name in SHARED else f"{slot}.{name}" for name in names)
    first = first_view(view.source, view.model, view.layer_type)
    own = _own(view, first, slot, (x, y))
    return Pad(
        slot=slot,
        label=f"{slot.upper()} · {spec.title}",
        axes=axes,
        names=names,
        controls=(x, y),
        spec=spec,
        reference=_reference(view, first) if axes == "base_and_factor" else view.unscaled,
        target_length=view.target_length,
        trained_length=view.trained_length,
        weight=view.values["weight"],
        own=own,
        holds_target="scaling_factor" in names and view.values["target"] is None,
    )


def _reference(view: View, first: View) -> RotaryEncoding:
    """The model with the base that it was trained with: on this map the base is a remedy."""
    return replace(view, values={**view.values, "base": first.values["base"]}).unscaled


def _own(
    view: View, first: View, slot: str, controls: tuple[str, str]
) -> tuple[float, float] | None:
    same = first.values[slot] == view.values[slot] or controls == BASE_AND_FACTOR
    if not same or view.model.spec(view.layer_type).family != "extension":
        return None
    x, y = (float(first.values[name]) for name in controls)
    return x, y


Made = TypeVar("Made")


class Kept(Generic[Made]):
    """What was computed lately, by the text of its inputs. What is here decides only what is
    redrawn while a control moves, never what is shown at rest."""

    def __init__(self) -> None:
        self._kept: OrderedDict[str, Made] = OrderedDict()
        self._lock = threading.Lock()

    def holds(self, key: str) -> bool:
        with self._lock:
            return key in self._kept

    def of(self, key: str, make: Callable[[], Made]) -> Made:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        made = make()
        with self._lock:
            self._kept[key] = made
            while len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)
        return made


_MAPS: Kept[measures.CostPad] = Kept()
_PROPOSALS: Kept[measures.Proposal] = Kept()


def is_at_hand(pad: Pad) -> bool:
    """Whether the map was computed lately, so that moving the point costs next to nothing."""
    return _MAPS.holds(pad.inputs)


def map_of(pad: Pad) -> measures.CostPad:
    return _MAPS.of(
        pad.inputs,
        lambda: measures.cost_pad(
            pad.spec,
            pad.names,
            length=pad.target_length,
            trained_length=pad.trained_length,
            reference=pad.reference,
        ),
    )


def proposal_of(pad: Pad) -> measures.Proposal:
    return _PROPOSALS.of(
        f"{pad.inputs} {pad.weight}", lambda: measures.propose(map_of(pad), weight=pad.weight)
    )


def cost_pad(pad: Pad) -> Panel:
    """The panel: map, iso-lines, front, defaults, proposal and point, with the costs at it."""
    measure, proposal = map_of(pad), proposal_of(pad)
    here = measure.at(pad.point)
    figure = figures.cost_pad.build(
        measure,
        weight=pad.weight,
        units=_units(pad),
        point=pad.point,
        marks=_marks(pad),
        proposal=proposal,
    )
    outside = not measure.contains(pad.point)
    notes = [f"{pad.label}, L′ = {pad.target_length:,}", _said("point", pad.point, here, outside)]
    notes += [
        f"proposal for w = {pad.weight:g}: {_named(pad, proposal.point)}, "
        f"J = {_three(proposal.objective)}; "
        f"here J = {_three(measure.objective_at(here, pad.weight))}",
        *_notes(pad, measure),
    ]
    slots = {
        "change": text(f"{here.change:.4f}"),
        "unseen": text(f"{here.unseen:.4f} turns"),
        "gain": text(f"{here.gain:.4g}"),
    }
    return Panel(
        "cost_pad",
        figures.cost_pad,
        None,
        figure,
        slots,
        notes,
        title=f"Two costs over {pad.names[0]} × {pad.names[1]}",
        pad=_handle(pad, proposal),
    )


def _handle(pad: Pad, proposal: measures.Proposal) -> dict[str, object]:
    """What the browser needs to move the point: which values, and which stay as they are then."""
    return {
        "x": pad.controls[0],
        "y": pad.controls[1],
        "trace": "current point",
        "held": {"target": pad.target_length} if pad.holds_target else {},
        "proposal": list(proposal.point),
    }


def _said(what: str, point: tuple[float, float], costs: measures.PointCosts, outside: bool) -> str:
    where = " (outside the map)" if outside else ""
    return (
        f"{what}{where}: change {costs.change:.4g}, unseen arc {costs.unseen:.4g} turns, "
        f"{costs.beyond} pairs beyond; scores × {costs.gain:.4g}, which counts in neither"
    )


def _three(value: float) -> str:
    """Three decimals; a point between cells can lie a little below 0, and -0.000 says nothing."""
    return f"{round(value, 3) + 0.0:.3f}"


def _named(pad: Pad, point: tuple[float, float]) -> str:
    return ", ".join(
        f"{name} {number_text(value)}" for name, value in zip(pad.names, point, strict=True)
    )


def _notes(pad: Pad, measure: measures.CostPad) -> list[str]:
    notes = []
    if measure.refusal:
        notes.append(f"blank cells cannot be: {measure.refusal}")
    if pad.axes == "base_and_factor":
        notes.append(f"costs against the model as trained, base {pad.reference.base:,g}")
    if pad.holds_target:
        notes.append("moving the point holds L′")
    for name, (low, high) in measure.reach.items():
        if low == high:
            notes.append(f"{_COSTS[name]}: {low:.4g} all over the map")
    if pad.axes == "ramp":
        notes += [f"{mark.label}: {_named(pad, mark.point)}" for mark in _implementations(pad)]
    return notes


def _units(pad: Pad) -> tuple[str, str]:
    units = {one.name: one.parameter.unit for one in pad.spec.declarations()}
    return units[pad.names[0]], units[pad.names[1]]


def _marks(pad: Pad) -> list[Mark]:
    """The configuration's own values, and where the named implementations stand."""
    marks = [] if pad.own is None else [Mark("this model", pad.own)]
    if pad.axes != "ramp":
        return marks
    groups = _implementations(pad)
    if len(groups) == 1 and len(profiles_of(pad.spec)) > 1:
        return [*marks, Mark("default everywhere", groups[0].point)]
    return [*marks, *groups]


def _implementations(pad: Pad) -> list[Mark]:
    """Default points, each with the names of the implementations that have it."""
    defaults = {one.name: one.default for one in pad.spec.declarations()}
    named: Mapping[str, Mapping[str, Any]] = profiles_of(pad.spec) or {"default": {}}
    groups: dict[tuple[float, float], list[str]] = {}
    for name, values in named.items():
        x, y = (float(values.get(axis, defaults[axis])) for axis in pad.names)
        point = (x, y)
        short = name.partition(" (")[0]
        if short not in groups.setdefault(point, []):
            groups[point].append(short)
    return [Mark("; ".join(names), point) for point, names in groups.items()]
