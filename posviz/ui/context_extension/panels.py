"""From a view to the panels of the board: which figure, from which measure, keyed by its inputs."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from posviz import figures, measures
from posviz.catalog import link, parse
from posviz.encodings.rotary import RotaryEncoding
from posviz.figures import Series
from posviz.ui.context_extension.pad import Pad, cost_pad, pad_of
from posviz.ui.context_extension.view import Profiles, View
from posviz.ui.panel import Panel, read_at, text

UNSCALED = "unscaled RoPE"
NEEDLE_LENGTHS = 33
_LONGEST_KEPT = 1 << 18
"""Sixteen kept curves of this length are 64 MB for all people of a server together."""


@dataclass(frozen=True)
class Method:
    """One line of every panel."""

    label: str
    slot: int | None
    spec: RotaryEncoding


@dataclass(frozen=True)
class Scene:
    """Everything that the panels are computed from."""

    methods: tuple[Method, ...]
    """The unscaled baseline first."""
    trained_length: int
    target_length: int
    pair: int
    distance: int
    position: int
    needle: float
    profiles: Profiles | None
    pad: Pad | None

    @property
    def lead(self) -> int:
        """Index of the method whose numbers stand in the formulas."""
        return min(1, len(self.methods) - 1)

    @functools.cached_property
    def spectra(self) -> list[Series[measures.Spectrum]]:
        """Three panels read them; a scene lives for one reply."""
        return self.series(
            lambda spec: measures.spectrum(
                spec, length=self.target_length, trained_length=self.trained_length
            )
        )

    def series(self, measure: Callable[[RotaryEncoding], Any]) -> list[Series[Any]]:
        return [Series(item.label, item.slot, measure(item.spec)) for item in self.methods]


def named(panel: Panel, at: Scene) -> Panel:
    """The panel with the method that its formula speaks of, where that is not plain."""
    own = panel.id in ("profiles", "score_map", "cost_pad")
    return panel if own or len(at.methods) <= 2 else replace(panel, lead=at.methods[at.lead].label)


def scene(view: View) -> Scene:
    """The methods of a view; raises ParameterError when one of them cannot be made."""
    methods = [Method(UNSCALED, None, view.unscaled)]
    methods += [
        Method(f"{slot.upper()} · {spec.title}", "abcd".index(slot), spec)
        for slot, spec in view.specs().items()
    ]
    return Scene(
        methods=tuple(methods),
        trained_length=view.trained_length,
        target_length=view.target_length,
        pair=view.values["pair"],
        distance=view.values["distance"],
        position=view.values["position"],
        needle=view.values["needle"],
        profiles=view.profiles(),
        pad=pad_of(view),
    )


def by_pair(values: Any) -> dict[str, Any]:
    return {"index": "pair", "values": np.asarray(values, dtype=float)}


def wavelengths(at: Scene) -> Panel:
    series = at.spectra
    lead = series[at.lead].measure
    figure = figures.wavelengths.build(
        series, trained_length=at.trained_length, target_length=at.target_length
    )
    notes = [f"{item.label}: {_bands(item.measure)}" for item in series[1:]]
    slots = {
        "inv_freq": by_pair(lead.inv_freq),
        "wavelength": by_pair(lead.wavelengths),
        "pair": by_pair(lead.pairs),
    }
    return Panel("wavelengths", figures.wavelengths, "pair", figure, slots, notes)


def _bands(measure: measures.Spectrum) -> str:
    """How many pairs are kept, blended and divided, where the method has such bands."""
    if figures.has_bands(measure):
        return f"{measure.kept} kept, {measure.blended} blended, {measure.divided} divided"
    low, high = measure.divisor.min(), measure.divisor.max()
    return f"every pair has a divisor of its own, {_times(low)} to {_times(high)}"


def _times(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def divisors(at: Scene) -> Panel:
    series = at.spectra
    lead = series[at.lead].measure
    slots = {
        "trained": by_pair(lead.trained_inv_freq),
        "inv_freq": by_pair(lead.inv_freq),
        "divisor": by_pair(lead.divisor),
        "kept": by_pair(lead.kept_share),
        "pair": by_pair(lead.pairs),
    }
    return Panel("divisors", figures.divisors, "pair", figures.divisors.build(series), slots, [])


def turns(at: Scene) -> Panel:
    series = at.spectra
    lead = series[at.lead].measure
    figure = figures.turns.build(
        series, trained_length=at.trained_length, target_length=at.target_length
    )
    notes = [f"{lead.unfinished_count} of {len(lead.pairs)} pairs never finish a turn within L"]
    notes += [_beyond(item) for item in series]
    slots = {
        "trained_turns": by_pair(lead.turns_trained),
        "target_turns": by_pair(lead.turns_target),
        "pair": by_pair(lead.pairs),
    }
    return Panel("turns", figures.turns, "pair", figure, slots, notes)


def _beyond(item: Series[measures.Spectrum]) -> str:
    count = item.measure.beyond_count
    if not count:
        return f"{item.label}: none beyond its trained arc"
    return f"{item.label}: {count} beyond, up to ×{_times(item.measure.beyond.max())} the arc"


def decay_of(spec: RotaryEncoding, length: int) -> measures.ScoreDecay:
    """The curve of one method; a control that leaves the method as it is costs it nothing."""
    if length > _LONGEST_KEPT:
        return measures.score_decay(spec, length=length)
    return _kept_decay(link(spec), length)


@functools.lru_cache(maxsize=16)
def _kept_decay(text: str, length: int) -> measures.ScoreDecay:
    spec = parse(text)
    assert isinstance(spec, RotaryEncoding)
    return measures.score_decay(spec, length=length)


def score_decay(at: Scene) -> Panel:
    series = at.series(lambda spec: decay_of(spec, at.target_length))
    figure = figures.score_decay.build(
        series,
        trained_length=at.trained_length,
        target_length=at.target_length,
        cursor=at.distance,
    )
    notes = [
        f"{item.label}: "
        + (
            "never negative"
            if item.measure.first_negative is None
            else f"first negative at {item.measure.first_negative:,}"
        )
        for item in series
    ]
    lead = figure.data[at.lead]
    slots = {
        "score": read_at("distance", lead["x"], lead["y"]),
        "distance": read_at("distance", lead["x"], lead["x"]),
    }
    return Panel("score_decay", figures.score_decay, "distance", figure, slots, notes)


def score_map(at: Scene) -> Panel:
    lead = at.methods[at.lead]
    decay = decay_of(lead.spec, at.target_length)
    measure = measures.score_map(lead.spec, length=at.target_length, decay=decay)
    width = int(measure.edges[1] - measure.edges[0])
    how = f"mean over {width:,} keys" if measure.averaged else "score of the middle key"
    notes = [lead.label, f"one cell is {width:,} × {width:,} tokens: {how}, last query"]
    figure = figures.score_map.build(measure, label=lead.label)
    return Panel("score_map", figures.score_map, None, figure, {}, notes)


def short_range_cost(at: Scene) -> Panel:
    series = at.series(lambda spec: measures.short_range_cost(spec, length=at.target_length))
    lead = series[at.lead].measure
    notes = [
        f"{item.label}: at most {float(np.abs(item.measure.change).max()):.3g}"
        for item in series[1:]
    ]
    slots = {
        "change": read_at("distance", lead.distances, lead.change),
        "distance": read_at("distance", lead.distances, lead.distances),
    }
    figure = figures.short_range_cost.build(series[1:] or series)
    return Panel("short_range_cost", figures.short_range_cost, "distance", figure, slots, notes)


def needle(at: Scene) -> Panel:
    lengths = needle_lengths(at.trained_length, at.target_length)
    series = at.series(
        lambda spec: measures.needle_weight(
            spec, lengths=lengths, trained_length=at.trained_length, weight_at_trained=at.needle
        )
    )
    heat = [measures.temperature(item.spec, length=at.target_length) for item in at.methods]
    notes = [
        f"{item.label}: m = {one.m:.6g}, m² = {one.m_squared:.6g}, T = {one.temperature:.6g}"
        + (f", all factors G = {one.gain:.6g}" if one.gain != one.m_squared else "")
        + f"; weight at L′ {float(item.measure.weights[-1]):.3g}"
        for item, one in zip(series, heat, strict=True)
    ]
    slots = {
        "gain": text(f"{heat[at.lead].gain:.6g}"),
        "temperature": text(f"{heat[at.lead].temperature:.6g}"),
        "margin": text(f"{float(series[at.lead].measure.margin):.4f}"),
    }
    figure = figures.needle.build(
        series, trained_length=at.trained_length, target_length=at.target_length
    )
    return Panel("needle", figures.needle, None, figure, slots, notes)


def needle_margin(view: View) -> float:
    """The logit by which the needle of this page stands out among the keys of its window."""
    return measures.needle_weight(
        view.unscaled,
        lengths=[view.trained_length],
        trained_length=view.trained_length,
        weight_at_trained=view.values["needle"],
    ).margin


def needle_lengths(trained_length: int, target_length: int) -> np.ndarray:
    """Whole lengths from 1/16 of the trained window to L′, evenly spaced on a log axis."""
    first = max(2, trained_length // 16)
    last = max(target_length, trained_length, first + 1)
    spaced = np.geomspace(first, last, NEEDLE_LENGTHS).round()
    return np.unique(np.r_[spaced, min(max(trained_length, first), last)]).astype(int)


def clock(at: Scene) -> Panel:
    series = at.series(
        lambda spec: measures.clock(
            spec,
            pair=at.pair,
            position=at.position,
            length=at.target_length,
            trained_length=at.trained_length,
        )
    )
    lead = series[at.lead].measure
    slots = {
        "position": text(f"{lead.distance:,.6g}"),
        "inv_freq": text(f"{lead.inv_freq:.6g}"),
        "angle": text(f"{lead.angle:.4f}"),
        "turns": text(f"{float(lead.turns):.4g}"),
        "pair": text(str(at.pair)),
    }
    notes = [f"pair {at.pair} at position {at.position:,}"]
    notes += [f"{item.label}: outside the trained arc" for item in series if item.measure.outside]
    return Panel("clock", figures.clock, None, figures.clock.build(series), slots, notes)


def profile_difference(at: Scene) -> Panel:
    assert at.profiles is not None
    (name_a, spec_a), (name_b, spec_b) = at.profiles.first, at.profiles.second
    difference = measures.profile_difference(spec_a, spec_b, length=at.target_length)
    figure = figures.profile_difference.build(difference, label="1 against 2", slot=0)
    notes = [
        f"{at.profiles.method}. 1: {name_a}. 2: {name_b}",
        (
            f"largest relative error {difference.largest:.4%} at pair {difference.largest_pair}"
            if difference.largest
            else "equal frequencies at this length"
        ),
        _in_both("m", difference.magnitude_a, difference.magnitude_b),
        _in_both("the logits' factor G", difference.gain_a, difference.gain_b),
    ]
    slots = {"difference": by_pair(difference.signed), "pair": by_pair(difference.pairs)}
    return Panel("profiles", figures.profile_difference, "pair", figure, slots, notes)


def _in_both(name: str, first: float, second: float) -> str:
    if first == second:
        return f"{name} is {first:.6g} in 1 and in 2"
    return f"{name} is {first:.6g} in 1 and {second:.6g} in 2"


def two_costs(at: Scene) -> Panel:
    assert at.pad is not None
    return cost_pad(at.pad)


def board_panels(at: Scene) -> dict[str, tuple[str, Callable[[Scene], Panel]]]:
    """Panel id to the key of its inputs and the function that computes it.

    Two equal keys stand for equal pictures, so a panel whose key the browser has is not computed.
    """
    links = [f"{item.label}={link(item.spec)}" for item in at.methods]
    lengths = [str(at.trained_length), str(at.target_length)]
    spectral = _key(links, lengths)
    panels: dict[str, tuple[str, Callable[[Scene], Panel]]] = {
        "wavelengths": (spectral, wavelengths),
        "divisors": (spectral, divisors),
        "turns": (spectral, turns),
        "score_decay": (_key(links, lengths, [str(at.distance)]), score_decay),
        "short_range_cost": (spectral, short_range_cost),
        "needle": (_key(links, lengths, [str(at.needle)]), needle),
        "score_map": (_key(links[at.lead : at.lead + 1], lengths), score_map),
        "clock": (_key(links, lengths, [str(at.pair), str(at.position)]), clock),
    }
    if at.pad is not None:
        panels["cost_pad"] = (_key(at.pad.key), two_costs)
    if at.profiles is not None:
        (name_a, spec_a), (name_b, spec_b) = at.profiles.first, at.profiles.second
        pair = [name_a, link(spec_a), name_b, link(spec_b)]
        panels["profiles"] = (_key(pair, lengths), profile_difference)
    return panels


def _key(*parts: Sequence[str]) -> str:
    text = "\n".join(line for part in parts for line in part)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
