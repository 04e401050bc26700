"""The change of the configuration that surely mends what the reader found; none where unsure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from posviz.configs.checks.behaviours import READ_BY_OTHERS
from posviz.configs.checks.diagnosis import Operation
from posviz.configs.checks.places import Place
from posviz.configs.checks.repairs_of_numbers import NUMBER_REPAIRS
from posviz.configs.checks.repairs_of_windows import WINDOW_REPAIRS
from posviz.configs.errors import ConfigError
from posviz.configs.findings import Findings
from posviz.configs.json_limits import load
from posviz.configs.messages import Message
from posviz.configs.rope_type import known_rope_types
from posviz.configs.type_values import TRAINED_MARK
from posviz.parameters import is_finite_number

Patch = tuple[Operation, ...]
_READ_ELSEWHERE = (TRAINED_MARK, "max_trained_positions", *READ_BY_OTHERS)
_NOTHING = ("", "none", "null", "no", "off", "false")
"""What people write for no scaling at all; llama.cpp calls it none."""
_MOST_DROPPED = 24
_CURRENT = {"su": "longrope", "mrope": "default"}
"""Legacy spellings and what transformers 5 calls them."""


def repair(message: Message, place: Place) -> Patch:
    """Operations for one message, not yet tried."""
    mend = _REPAIRS.get(message.code)
    return () if mend is None else mend(message, place)


def plain_name(text: str) -> str:
    """A name without capitals, blanks, hyphens and underscores, for comparison."""
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _unknown_type(message: Message, place: Place) -> Patch:
    """Capitals, blanks and hyphens are slips; anything else is not known well enough."""
    key = place.located(message.fields[0])
    written = place.given(key.rpartition(".")[2])
    if not isinstance(written, str):
        return ()
    if written.strip().casefold() in _NOTHING and place.given("factor") in (None, 1):
        return (place.subject.put(key, "default"),)
    meant = [name for name in known_rope_types() if plain_name(name) == plain_name(written)]
    return (place.subject.put(key, meant[0]),) if meant and plain_name(written) else ()


def _null_type(message: Message, place: Place) -> Patch:
    key = place.located(message.fields[0])
    old = place.given("type")
    return (place.subject.put(key, "default" if old is None else old),)


def _two_types(message: Message, place: Place) -> Patch:
    if place.holds("rope_type"):
        return place.subject.drop(place.key("type"))
    # The class lays the dict over rope_type default, so the old key never arrives.
    put = place.subject.put(place.key("rope_type"), place.given("type"))
    return (put, *place.subject.drop(place.key("type")))


def _old_spelling(message: Message, place: Place) -> Patch:
    key = place.located(message.fields[0])
    written = place.given(key.rpartition(".")[2])
    if written == "telechat3-yarn":
        return _telechat(key, place)
    if written == "yarn":  # reported for the classes only that mean longrope by it
        return (place.subject.put(key, "longrope"),)
    current = _CURRENT.get(written) if isinstance(written, str) else None
    return () if current is None else (place.subject.put(key, current),)


def _telechat(key: str, place: Place) -> Patch:
    row = next(
        (each for each in place.subject.model.resolved if each.name == "attention_factor"), None
    )
    if row is None or not is_finite_number(row.value):
        return ()
    put = place.subject.put
    return put(key, "yarn"), put(place.key("attention_factor"), float(row.value))


def _two_dicts(message: Message, place: Place) -> Patch:
    """The dict that nothing reads goes; a base that stands nowhere else is kept."""
    scaling, parameters = message.fields
    section = place.subject.section
    lost: Any = section.data.get("rope_parameters", {}).get("rope_theta")
    kept = place.holds("rope_theta") or section.data.get("rope_theta") is not None
    rescue = (place.subject.put(f"{scaling}.rope_theta", lost),)
    return (rescue if lost is not None and not kept else ()) + place.subject.drop(parameters)


def _no_object(message: Message, place: Place) -> Patch:
    key = message.fields[0]
    value = place.subject.section.data.get(key.rpartition(".")[2])
    if isinstance(value, str) and value.lstrip().startswith("{"):
        return _unquoted(key, value, place)
    if not value or value in ("none", "null", "None", "default"):
        return (place.subject.put(key, None),)
    inner = value[0] if isinstance(value, list) and len(value) == 1 else None
    return (place.subject.put(key, dict(inner)),) if isinstance(inner, Mapping) else ()


def _unquoted(key: str, text: str, place: Place) -> Patch:
    """JSON that was put into quotes once too often."""
    try:
        return (place.subject.put(key, load(text, Findings())),)
    except ConfigError:
        return ()


def _beside_layers(message: Message, place: Place) -> Patch:
    """A key goes where every layer type has it already; a base goes to those that lack it."""
    outer = place.rope.outer if place.rope is not None else None
    if outer is None or not all(field.startswith(f"{outer.path}.") for field in message.fields):
        return ()
    dicts = {name: value for name, value in outer.data.items() if isinstance(value, Mapping)}
    operations: list[Operation] = []
    for field in message.fields:
        name = field[len(outer.path) + 1 :]
        lacking = [label for label, value in dicts.items() if name not in value]
        if lacking and name != "rope_theta":
            return ()
        operations += [
            place.subject.put(f"{outer.key(label)}.{name}", outer.data[name]) for label in lacking
        ]
        operations += place.subject.drop(field)
    return tuple(operations)


def _unread(message: Message, place: Place) -> Patch:
    """Only what nothing reads: not what another runtime reads, nor what the advice goes by."""
    idle = [field for field in message.fields if field.rpartition(".")[2] not in _READ_ELSEWHERE]
    if len(idle) > _MOST_DROPPED:
        return ()
    return tuple(operation for field in idle for operation in place.subject.drop(field))


def _two_bases(message: Message, place: Place) -> Patch:
    """The value that transformers reads, in both places."""
    if len(message.fields) == 2:
        inside, outside = message.fields
        return (place.subject.put(outside, place.given(inside.rpartition(".")[2])),)
    stray = message.fields[0]
    drop = place.subject.drop(stray)
    section = place.subject.section
    if section.data.get("rotary_emb_base") is not None:
        return drop
    return (place.subject.put(section.key("rotary_emb_base"), section.data["rope_theta"]), *drop)


def _factor_on_latent(message: Message, place: Place) -> Patch:
    """The factor says the same as qk_rope_head_dim, or nothing at all."""
    data = place.subject.section.data
    share: Any = place.given("partial_rotary_factor")
    share = data.get("partial_rotary_factor") if share is None else share
    rope: Any = data.get("qk_rope_head_dim")
    nope: Any = data.get("qk_nope_head_dim")
    whole_head: Any = data.get("head_dim") or _sum(rope, nope)
    said_twice = (
        is_finite_number(share)
        and is_finite_number(whole_head)
        and is_finite_number(rope)
        and abs(float(share) * whole_head - rope) < 1
    )
    applied = "once more" in message.text
    return place.subject.drop(message.fields[0]) if said_twice or not applied else ()


def _sum(one: Any, other: Any) -> float | None:
    return one + other if is_finite_number(one) and is_finite_number(other) else None


def _outer_truncate(message: Message, place: Place) -> Patch:
    """Said in both dicts, every runtime reads it; only sure where no other ramp is touched."""
    rope = place.rope
    if rope is None or place.given("truncate") is not False or "truncate" in rope.outer:
        return ()
    others = [
        value
        for value in rope.outer.data.values()
        if isinstance(value, Mapping) and "yarn" in (value.get("rope_type"), value.get("type"))
    ]
    if any(value.get("truncate") is not False for value in others):
        return ()
    return (place.subject.put(rope.outer.key("truncate"), False),)


_REPAIRS: Mapping[str, Callable[[Message, Place], Patch]] = {
    "PV101": _unknown_type,
    "PV102": _null_type,
    "PV103": _two_types,
    "PV104": _old_spelling,
    "PV105": _two_dicts,
    "PV106": _beside_layers,
    "PV107": _no_object,
    "PV144": _factor_on_latent,
    "PV146": _two_bases,
    "PV160": _outer_truncate,
    "PV161": _unread,
    **NUMBER_REPAIRS,
    **WINDOW_REPAIRS,
}
