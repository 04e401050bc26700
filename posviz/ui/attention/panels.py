"""From a view to the panels of the board: which figure, from which measure, keyed by its inputs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from posviz.catalog import link
from posviz.figures import Series, attention
from posviz.figures.attention.decay import ScoreCurve
from posviz.measures import ContextCurves
from posviz.ui.attention import curves
from posviz.ui.attention.lead_panels import lead_panels
from posviz.ui.attention.view import Shown, View
from posviz.ui.exchange import Panels, key_of
from posviz.ui.panel import Panel, read_at

Make = Callable[[View], Panel]


def panels(view: View) -> Panels:
    """Every panel of the view: first those that all encodings share, then those of one."""
    at = view.reading
    content = curves.content_key(view.content)
    links = [(item.label, link(item.spec)) for item in view.shown]
    zoomed = {name: view.zooms.get(name) for name in ("decay", "weights")}
    rows = (links, at.length, at.trained, at.head, at.distance)
    by_length = (links, longest(view), at.length, at.trained, content, at.head)
    question = (at.question, at.match, at.sigma, at.seed, at.correlation)
    typed = (at.typed_query, at.typed_key)
    found: dict[str, tuple[object, Make]] = {
        "decay": ((rows, question, typed, zoomed["decay"]), decay),
        "weights": ((rows, content, zoomed["weights"]), weights),
        "entropy": (by_length, entropy),
        "reach": (by_length, reach),
        "needle": (by_length, needle),
        "first_token": (by_length, first_token),
        "resolution": (by_length, resolution),
        "receptive": ((links, at.length, at.layers, content, at.head), receptive),
    }
    made: dict[str, tuple[str, Callable[[], Panel]]] = {
        name: (key_of((name, key)), functools.partial(make, view))
        for name, (key, make) in found.items()
    }
    return {**made, **lead_panels(view)}


def longest(view: View) -> int:
    """How far curves against context length go."""
    return max(view.reading.length, view.reading.trained, curves.CURVES_TO)


def decay(view: View) -> Panel:
    at = view.reading
    series: list[Series[ScoreCurve]] = []
    notes: list[str] = []
    for item in view.shown:
        found = _scores(view, item, notes)
        if found is not None:
            series.append(Series(item.label, item.color, found))
    if not series:
        empty = np.zeros(1)
        series = [Series("nothing to draw", None, ScoreCurve(empty + 1, empty * np.nan))]
    first = series[0].measure
    figure = attention.decay.build(series, length=at.length, trained=at.trained, match=_size(view))
    slots = {
        "score": read_at("distance", first.distances, first.scores),
        "distance": read_at("distance", first.distances, first.distances),
    }
    if at.question == "independent":
        notes.insert(0, "dotted: one σ on both sides; thin: one draw")
    return Panel(
        "decay",
        attention.decay,
        "distance",
        figure,
        slots,
        [*notes, *_about(view), *shorter(view, at.length)],
        lead=series[0].label if len(series) > 1 else "",
        title=f"Score against distance: {_QUESTIONS[at.question]}",
        zooms=True,
    )


def _size(view: View) -> float:
    """How large the logits of the question are; the axis goes a few times as deep."""
    at = view.reading
    return {"equal": at.match, "independent": 2 * at.sigma, "given": 4.0}[at.question]


_QUESTIONS = {
    "equal": "query and key are equal",
    "independent": "query and key are independent",
    "given": "one query and one key",
}


def _scores(view: View, item: Shown, notes: list[str]) -> ScoreCurve | None:
    """The curve of one encoding for the question asked; what there is to say goes to notes."""
    at, text = view.reading, link(item.spec)
    length, within = item.within(at.length), view.zooms.get("decay")
    if at.question == "independent":
        drawn, said = curves.independent_scores(
            text, length, at.sigma, at.seed, at.head, at.distance
        )
        notes.append(f"{item.label}: {said}")
        return drawn
    if at.question == "given":
        pair = (at.correlation, at.seed, at.typed_query, at.typed_key)
        found = curves.given_scores(text, length, pair, at.head, at.distance, within)
        if isinstance(found, ScoreCurve):
            return found
        notes.append(found)
        return None
    curve, turning = curves.equal_scores(text, length, at.match, at.head, at.distance, within)
    said = "; ".join(filter(None, (turning, curves.beyond(text, length, at.trained))))
    notes += [f"{item.label}: {said}"] if said else []
    return curve


def _about(view: View) -> list[str]:
    """What must be known of the encodings to read their curves."""
    notes = []
    for item in view.shown:
        own = getattr(item.spec, "original_max_position_embeddings", None)
        if own is not None and own != view.reading.trained:
            notes.append(f"{item.label}: its own L is {own:,}, not the one that is marked")
        if made := curves.how_made(link(item.spec)):
            notes.append(f"{item.label}: {made}")
    return notes


def weights(view: View) -> Panel:
    at, content = view.reading, curves.content_key(view.content)
    series, notes = [], []
    for item in view.shown:
        curve, half = curves.weights(
            link(item.spec),
            item.within(at.length),
            content,
            at.head,
            at.distance,
            view.zooms.get("weights"),
        )
        series.append(Series(item.label, item.color, curve))
        falls = f"half-life {half:,.5g} tokens" if np.isfinite(half) else "never falls by half"
        # Of drawn keys it would be the half-life of a draw.
        notes += [] if view.content.is_drawn else [f"{item.label}: {falls}"]
    figure = attention.weights.build(series, length=at.length, trained=at.trained)
    x, y = series[0].measure
    slots = {"weight": read_at("distance", x, y), "distance": read_at("distance", x, x)}
    return Panel(
        "weights",
        attention.weights,
        "distance",
        figure,
        slots,
        [*notes, *shorter(view, at.length)],
        lead=_lead(view),
        zooms=True,
    )


def _lead(view: View) -> str:
    """Whose numbers stand in the formulas, where there are several encodings."""
    return view.shown[0].label if len(view.shown) > 1 else ""


def shorter(view: View, length: int) -> list[str]:
    """A note on the encodings that cannot give a context of this length, by where they end."""
    ends: dict[int, list[str]] = {}
    for item in view.shown:
        if item.within(length) < length:
            ends.setdefault(item.within(length), []).append(item.label)
    return [
        f"drawn to {end:,} tokens, the longest context that is worked out: {' and '.join(labels)}"
        for end, labels in sorted(ends.items())
    ]


def _by_length(view: View) -> list[Series[Any]]:
    return [Series(item.label, item.color, _curves_of(view, item)) for item in view.shown]


def _curves_of(view: View, item: Shown) -> ContextCurves:
    at, content, text = view.reading, curves.content_key(view.content), link(item.spec)
    whole = curves.by_length(text, item.within(longest(view)), content, at.head)
    if at.length in whole.lengths or at.length > item.within(at.length):
        return whole
    return curves.joined(whole, curves.at_length(text, at.length, content, at.head))


def _length_panel(
    view: View, name: str, words: Any, slots: Mapping[str, str], notes: list[str]
) -> Panel:
    series = _by_length(view)
    first = series[0].measure
    numbers = {
        slot: read_at("length", first.lengths, getattr(first, attribute))
        for slot, attribute in slots.items()
    }
    numbers["length"] = read_at("length", first.lengths, first.lengths)
    return Panel(
        name,
        words,
        "length",
        words.build(series, trained=view.reading.trained),
        numbers,
        [*notes, *shorter(view, longest(view))],
        lead=_lead(view),
    )


def entropy(view: View) -> Panel:
    panel = _length_panel(view, "entropy", attention.entropy, {"entropy": "entropy"}, [])
    first = _by_length(view)[0].measure
    tokens = read_at("length", first.lengths, np.exp(first.entropy))
    notes = [*_content_notes(view), *panel.notes]
    return Panel(
        panel.id,
        panel.words,
        panel.cursor,
        panel.figure,
        {**panel.slots, "tokens": tokens},
        notes,
        lead=panel.lead,
    )


def _content_notes(view: View) -> list[str]:
    content = view.content
    if content.content == "gaussian" and content.sigma > 0:
        half = content.sigma**2 / 2
        return [f"one draw with seed {content.seed}; σ²/2 = {half:.4g} before any factor"]
    return []


def reach(view: View) -> Panel:
    notes = ["dotted: half of the weight"]
    return _length_panel(view, "reach", attention.reach, {"reach": "reach"}, notes)


def needle(view: View) -> Panel:
    content = view.content
    turned = "turned by the rotation" if content.needle_turns else "not turned"
    notes = [f"g = {content.match:g} at depth {content.depth:g}, {turned}"]
    notes += [f"{item.label}: {_half(measure)}" for item, measure in _measured(view)]
    slots = {"needle": "needle"}
    return _length_panel(view, "needle", attention.needle_share, slots, notes)


def _measured(view: View) -> list[tuple[Shown, ContextCurves]]:
    return [(item, _curves_of(view, item)) for item in view.shown]


def _half(measure: ContextCurves) -> str:
    """Where the needle falls below half of the weight, between two lengths on a log axis."""
    below = measure.needle < 0.5
    if not below.any():
        return f"at least half to {measure.lengths[-1]:,.0f}"
    place = int(np.argmax(below))
    if place == 0:
        return f"below half from {measure.lengths[0]:,.0f} on"
    around = slice(place - 1, place + 1)
    (a, b), (high, low) = measure.lengths[around], measure.needle[around]
    at = float(f"{a * (b / a) ** ((high - 0.5) / (high - low)):.3g}")
    return f"below half from about {at:,.0f} on"


def first_token(view: View) -> Panel:
    slots = {"first": "first_weight", "concentration": "concentration"}
    return _length_panel(view, "first_token", attention.first_token, slots, ["dotted: Σw²"])


def resolution(view: View) -> Panel:
    content = curves.content_key(view.content)
    series = [
        Series(
            item.label,
            item.color,
            curves.resolution(
                link(item.spec), item.within(longest(view)), content, view.reading.head
            ),
        )
        for item in view.shown
    ]
    x, y = series[0].measure
    return Panel(
        "resolution",
        attention.resolution,
        "length",
        attention.resolution.build(series, trained=view.reading.trained),
        {
            "resolution": read_at("length", x, y),
            "length": read_at("length", x, x),
        },
        [*_neighbours(view), *shorter(view, longest(view))],
        lead=_lead(view),
    )


def _neighbours(view: View) -> list[str]:
    said = [
        (item, curves.neighbours(link(item.spec), item.within(view.reading.length)))
        for item in view.shown
    ]
    return [f"{item.label}: {text}" for item, text in said if text]


def receptive(view: View) -> Panel:
    at, content = view.reading, curves.content_key(view.content)
    series = [
        Series(
            item.label,
            item.color,
            curves.stack(link(item.spec), item.within(at.length), at.layers, content, at.head),
        )
        for item in view.shown
    ]
    first = series[0].measure
    slots = {
        "reach": read_at("layers", first.layers, first.reach),
        "layers": read_at("layers", first.layers, first.layers),
    }
    contexts = {
        curves.stacked_context(link(item.spec), item.within(at.length), at.layers)
        for item in view.shown
    }
    told = " or ".join(f"{one:,}" for one in sorted(contexts))
    return Panel(
        "receptive",
        attention.receptive,
        "layers",
        attention.receptive.build(series),
        slots,
        [
            f"weights of one layer: those of a context of {told} tokens, in all layers alike",
            "dotted: half of the weight",
        ],
        lead=_lead(view),
    )
