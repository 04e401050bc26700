"""Changes of single numbers: text, null, the reciprocal, two numbers that were exchanged."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from posviz.configs.checks.diagnosis import Operation
from posviz.configs.checks.look_alikes import look_alikes
from posviz.configs.checks.places import Place
from posviz.configs.messages import Message
from posviz.configs.windows import ORIGINAL
from posviz.parameters import is_finite_number

Patch = tuple[Operation, ...]
_PAIRS = (("beta_slow", "beta_fast"), ("low_freq_factor", "high_freq_factor"))
"""Two numbers of which the first must be the smaller."""
_SWITCHES: Mapping[Any, bool] = {"true": True, "false": False, 1: True, 0: False}


def number_in(text: str) -> float | int | None:
    """The number that a text says; whole ones stay whole."""
    try:
        value = float(text)
    except ValueError:
        return None
    if not math.isfinite(value) or abs(value) > 1e18:
        return None
    return int(value) if text.strip().lstrip("+-").isdigit() else value


def window_ratio(place: Place) -> float | None:
    """max_position_embeddings / original, where the dict gives the original and it is above 1."""
    original, window = place.given(ORIGINAL), place.subject.model.window
    if window is None or not is_finite_number(original) or original <= 0:
        return None
    return window / original if window > original else None


def _missing(message: Message, place: Place) -> Patch:
    """A factor follows from two windows; nothing else follows from anything."""
    key = message.fields[0]
    ratio = window_ratio(place)
    if any(each.real == "factor" for each in look_alikes(place.subject)):
        return ()  # it is there under another name
    if key.rpartition(".")[2] != "factor" or "yarn" not in message.text or ratio is None:
        return ()
    return (place.subject.put(place.key("factor"), ratio),)


def _null(message: Message, place: Place) -> Patch:
    key = place.located(message.fields[0])
    name = key.rpartition(".")[2]
    if name == "factor":
        ratio = window_ratio(place)
        known = "yarn" in (place.given("rope_type"), place.given("type"))
        return (place.subject.put(key, ratio),) if known and ratio is not None else ()
    if name == ORIGINAL:
        return _original_from_ratio(key, place)
    if name == "rope_theta" and _has_base_elsewhere(place):
        return place.subject.drop(key)
    return ()


def _original_from_ratio(key: str, place: Place) -> Patch:
    factor, window = place.given("factor"), place.subject.model.window
    if window is None or not is_finite_number(factor) or factor < 1:
        return ()
    original = window / factor
    return (place.subject.put(key, int(original)),) if original.is_integer() else ()


def _has_base_elsewhere(place: Place) -> bool:
    given = place.subject.section.data.get("rope_theta") is not None
    return place.subject.facts.known or (place.holds("rope_theta") and given)


def _no_number(message: Message, place: Place) -> Patch:
    key = place.located(message.fields[0])
    value = _value_at(place, key)
    if key.rpartition(".")[2] == "truncate":
        switch = _switch(value)
        return () if switch is None else (place.subject.put(key, switch),)
    if isinstance(value, list):
        items = [number_in(item) if isinstance(item, str) else item for item in value]
        meant = all(is_finite_number(item) for item in items)
        return (place.subject.put(key, items),) if meant and items else ()
    number = number_in(value) if isinstance(value, str) else None
    return () if number is None else (place.subject.put(key, number),)


def _switch(value: Any) -> bool | None:
    if isinstance(value, str):
        return _SWITCHES.get(value.strip().casefold())
    return _SWITCHES.get(value) if is_finite_number(value) else None


def _value_at(place: Place, key: str) -> Any:
    name = key.rpartition(".")[2]
    if place.section is not None and place.section.key(name) == key:
        return place.section.data.get(name)
    return place.subject.section.data.get(name)


def _reciprocal(message: Message, place: Place) -> Patch:
    suggestion = message.values.get("suggested_factor")
    if suggestion is None:
        return ()
    return (place.subject.put(place.located(message.fields[0]), suggestion),)


def _exchanged(message: Message, place: Place) -> Patch:
    for low, high in _PAIRS:
        small, large = place.given(low), place.given(high)
        if is_finite_number(small) and is_finite_number(large) and 0 < large < small:
            put = place.subject.put
            return put(place.key(low), large), put(place.key(high), small)
    return ()


def _not_given(message: Message, place: Place) -> Patch:
    return place.subject.drop(place.located(message.fields[0]))


def _no_rounding(message: Message, place: Place) -> Patch:
    return (place.subject.put(place.located(message.fields[0]), False),)


def _ratio(message: Message, place: Place) -> Patch:
    return (place.subject.put(place.located(message.fields[0]), message.values["factor"]),)


def _lone_mscale(message: Message, place: Place) -> Patch:
    """Without it every runtime does what transformers does with it."""
    if message.severity != "warn":
        return ()
    return place.subject.drop(place.located(message.fields[0]))


def _attn_factor(message: Message, place: Place) -> Patch:
    """The number that those who read attn_factor come to, for those who do not; both stay."""
    total = message.values.get("attention_factor")
    if total is None or place.given("attention_factor") is not None:
        return ()
    return (place.subject.put(place.key("attention_factor"), total),)


NUMBER_REPAIRS: Mapping[str, Callable[[Message, Place], Patch]] = {
    "PV110": _missing,
    "PV111": _null,
    "PV112": _no_number,
    "PV113": _reciprocal,
    "PV114": _exchanged,
    "PV115": _not_given,
    "PV116": _no_rounding,
    "PV117": _ratio,
    "PV162": _lone_mscale,
    "PV164": _attn_factor,
}
