"""Panels of one encoding: its heads, a window of its matrix, its bases, and the precision lens."""

from __future__ import annotations

import functools
from collections.abc import Callable

from posviz.catalog import link
from posviz.encodings.rotary import RotaryEncoding
from posviz.figures import attention
from posviz.measures import WeightWindow
from posviz.ui.attention import curves, lead_curves
from posviz.ui.attention.lengths import heads_of
from posviz.ui.attention.view import View
from posviz.ui.exchange import Panels, key_of
from posviz.ui.panel import Panel, read_at


def lead_panels(view: View) -> Panels:
    """The panels that the chosen encoding has."""
    at, item = view.reading, view.lead
    content = curves.content_key(view.content)
    text, length = link(item.spec), item.within(view.reading.length)
    found: dict[str, tuple[object, Callable[[View], Panel]]] = {}
    if heads_of(text) > 1:
        found["heads"] = ((text, length, content), heads)
    is_same = view.content.content == "same"
    place = (text, at.length, at.place, at.window, is_same, at.match, at.head)
    found |= {"matrix": (place, matrix), "key_share": (place, key_share)}
    found["query_entropy"] = (place, query_entropy)
    if isinstance(item.spec, RotaryEncoding):
        found["bases"] = ((item.spec.rotary_dim, item.spec.base, at.length), bases)
    if lead_curves.bounds(text, length, at.distance) is not None:
        found["bounds"] = ((text, length, at.distance), bounds)
    if lead_curves.has_stages(text, length):
        found["precision"] = ((text, length, at.precision, at.head), precision)
    return {
        name: (key_of((name, item.label, key)), functools.partial(make, view))
        for name, (key, make) in found.items()
    }


def heads(view: View) -> Panel:
    item = view.lead
    length = item.within(view.reading.length)
    measure = lead_curves.heads(link(item.spec), length, curves.content_key(view.content))
    count = len(measure.weights)
    notes = [item.label, f"{count} heads, context of {length:,} tokens"]
    figure = attention.head_weights.build(
        measure, label=item.label, slot=item.color, is_drawn=view.content.is_drawn
    )
    return Panel("heads", attention.head_weights, None, figure, {}, notes, is_wide=True)


def _window(view: View) -> WeightWindow:
    at = view.reading
    content = curves.content_key(view.content)
    text = link(view.lead.spec)
    return lead_curves.window(text, at.length, at.place, at.window, content, at.head)


def matrix(view: View) -> Panel:
    measure, item = _window(view), view.lead
    notes = [f"{item.label}: queries {measure.queries[0]:,.0f} to {measure.queries[-1]:,.0f}"]
    if measure.step > 1:
        notes.append(f"each row stands for {measure.step} queries: it shows the last of them")
    figure = attention.weight_matrix.build(measure, label=item.label)
    return Panel("matrix", attention.weight_matrix, None, figure, {}, notes)


def key_share(view: View) -> Panel:
    item = view.lead
    figure = attention.key_share.build(_window(view), label=item.label, slot=item.color)
    return Panel("key_share", attention.key_share, None, figure, {}, [item.label])


def query_entropy(view: View) -> Panel:
    item = view.lead
    figure = attention.query_entropy.build(_window(view), label=item.label, slot=item.color)
    return Panel("query_entropy", attention.query_entropy, None, figure, {}, [item.label])


def precision(view: View) -> Panel:
    at, item = view.reading, view.lead
    length = item.within(at.length)
    stages, said, unit = lead_curves.precision(link(item.spec), length, at.precision, at.head)
    figure = attention.precision.build(stages, length=length, unit=unit)
    notes = [f"{item.label} in {at.precision} at {length:,} tokens", *said]
    return Panel("precision", attention.precision, None, figure, {}, notes, is_wide=True)


def bases(view: View) -> Panel:
    spec = view.lead.spec
    assert isinstance(spec, RotaryEncoding)
    length = min(view.reading.length, lead_curves.LONGEST_FOR_BASES)
    search = lead_curves.bases(length, spec.rotary_dim, spec.base)
    smallest = lead_curves.smallest_base(length, spec.rotary_dim)
    notes = [f"{spec.rotary_dim} dimensions, no extension, context of {length:,} tokens"]
    if smallest is not None:
        notes.append(f"smallest base found to hold: {smallest:,.0f}")
    holding, step = int(search.valid.sum()), 100 * (search.step - 1)
    notes.append(
        f"{holding} of {len(search.bases)} bases tried, {step:.2g} % apart, hold, in "
        f"{len(search.islands)} runs; gaps and islands between two of them are not seen"
    )
    if length < view.reading.length:
        notes.append(f"looked at up to {length:,} tokens only")
    figure = attention.bases.build(search, current=spec.base, smallest=smallest)
    return Panel("bases", attention.bases, None, figure, {}, notes)


def bounds(view: View) -> Panel:
    item = view.lead
    at = view.reading
    found = lead_curves.bounds(link(item.spec), item.within(at.length), at.distance)
    assert found is not None
    measure, (true, reached) = found
    slots = {
        "bound": read_at("distance", measure.distances, measure.relative),
        "distance": read_at("distance", measure.distances, measure.distances),
    }
    notes = [
        item.label,
        f"halfway between trained positions the sum, not per pair, is at most {true:.4f} · max |h| "
        f"from a straight line; {reached:.4f} is reached",
    ]
    figure = attention.bounds.build(measure)
    return Panel("bounds", attention.bounds, "distance", figure, slots, notes)
