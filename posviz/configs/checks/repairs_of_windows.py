"""Changes of the two windows and the factor between them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from posviz.configs.checks.diagnosis import Operation
from posviz.configs.checks.look_alikes import look_alikes
from posviz.configs.checks.places import Place
from posviz.configs.messages import Message
from posviz.configs.window_readings import factor_meant, may_be_extended
from posviz.configs.windows import ORIGINAL
from posviz.parameters import is_finite_number

Patch = tuple[Operation, ...]


def _missing_original(message: Message, place: Place) -> Patch:
    """The original that makes factor × original the window, where it is a whole number."""
    factor, window = place.given("factor"), place.subject.model.window
    if window is None or not is_finite_number(factor) or factor <= 1:
        return ()
    if any(each.real == ORIGINAL for each in look_alikes(place.subject)):
        return ()  # it is there under another name
    original = window / factor
    if not float(original).is_integer() or original < 1 or _is_llama3(place):
        return ()
    return (place.subject.put(place.key(ORIGINAL), int(original)),)


def _is_llama3(place: Place) -> bool:
    """Its window is no product: 8 × 8192 is not the 131072 of Llama 3.1."""
    return "llama3" in (place.given("rope_type"), place.given("type"))


def _mismatch(message: Message, place: Place) -> Patch:
    """The window follows the factor, which is what counts; not where that would shorten it."""
    extended, window = message.values["extended_context"], place.subject.model.window
    if window is None or not is_finite_number(extended):
        return ()
    factor = message.values["effective_factor"]
    original = round(extended / factor)
    meant = factor_meant(factor, original, window)
    if meant is not None:
        return (place.subject.put(place.located(message.fields[0]), meant),)
    if extended <= window or not float(extended).is_integer():
        return ()
    if extended > 2 * window and not original <= window < 2 * original:
        return ()  # one of three numbers is far off, and nothing says which
    target = place.subject.target_length
    if may_be_extended(factor, original, window) and (target is None or target <= window):
        return ()
    return (place.subject.put(place.located(message.fields[2]), int(extended)),)


def _two_originals(message: Message, place: Place) -> Patch:
    """The value that transformers reads, in both places."""
    inside = place.located(message.fields[1])
    top = place.subject.section.data.get(ORIGINAL)
    return (place.subject.put(inside, top),) if inside and top is not None else ()


def _original_of_dynamic(message: Message, place: Place) -> Patch:
    """dynamic takes the trained length from max_position_embeddings, so it belongs there."""
    original, factor = place.given(ORIGINAL), place.given("factor")
    window = place.subject.model.window
    if not is_finite_number(original) or not is_finite_number(factor) or window is None:
        return ()
    if original < 1 or original * factor != window:
        return ()
    key = place.located("max_position_embeddings")
    return (place.subject.put(key, int(original)),)


def _exchanged_windows(message: Message, place: Place) -> Patch:
    original, window = place.located(message.fields[0]), place.located(message.fields[1])
    before = place.subject.model.window
    value: Any = place.given(ORIGINAL) if place.given(ORIGINAL) is not None else _top(place)
    if before is None or not is_finite_number(value) or value <= before or value % before:
        return ()
    return place.subject.put(original, before), place.subject.put(window, int(value))


def _top(place: Place) -> Any:
    return place.subject.section.data.get(ORIGINAL)


def _missing_window(message: Message, place: Place) -> Patch:
    """dynamic reads its trained length there, and only there."""
    original = place.given(ORIGINAL)
    dynamic = "dynamic" in (place.given("rope_type"), place.given("type"))
    if not dynamic or not is_finite_number(original) or original < 1:
        return ()
    return (place.subject.put(place.located("max_position_embeddings"), int(original)),)


WINDOW_REPAIRS: Mapping[str, Callable[[Message, Place], Patch]] = {
    "PV120": _missing_original,
    "PV121": _mismatch,
    "PV122": _two_originals,
    "PV123": _original_of_dynamic,
    "PV125": _exchanged_windows,
    "PV131": _missing_window,
}
