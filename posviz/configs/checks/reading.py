"""What the reader said, as diagnoses: with what each runtime does, and the change to make."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from posviz.configs.checks import keys
from posviz.configs.checks.behaviours import READ_BY_OTHERS, behaviours
from posviz.configs.checks.diagnosis import Diagnosis, Severity
from posviz.configs.checks.look_alikes import look_alikes
from posviz.configs.checks.missing_original import with_both_readings
from posviz.configs.checks.mscale_rules import tells_of_mscale
from posviz.configs.checks.places import DICT_KEYS, Place, exists, places_of
from posviz.configs.checks.repairs import repair
from posviz.configs.checks.subject import Subject
from posviz.configs.checks.trial import holds
from posviz.configs.checks.wording import of_runtime
from posviz.configs.messages import CODES as READER_CODES
from posviz.configs.messages import Message
from posviz.parameters import is_finite_number

CODES: Mapping[str, str] = READER_CODES
_KEY_OF = {"scaling_factor": "factor", "base": "rope_theta"}
"""The key behind an encoding's parameter where it has another name."""
_MOST_REPAIRS = 12
"""Each suggested change is tried, which costs one more reading."""
_MOST_NAMED, _LONGEST_NAME = 24, 60
_PANELS: Mapping[str, str] = {
    **dict.fromkeys(("PV140", "PV144", "PV145", "PV146"), "wavelengths"),
    **dict.fromkeys(("PV113", "PV115", "PV116", "PV120", "PV121", "PV122"), "divisors"),
    **dict.fromkeys(("PV123", "PV125", "PV151", "PV160"), "divisors"),
    **dict.fromkeys(("PV162", "PV163", "PV164"), "score_decay"),
}
_SEVERITY_IN: Mapping[str, Mapping[str, Severity]] = {
    # It stops the one, and the others take it as it is meant.
    "PV102": {"transformers": "warn", "mlx": "warn"},
    "PV103": {"transformers": "info", "vllm": "error"},
    "PV115": {"vllm": "warn", "mlx": "warn"},
    "PV160": {"llama_cpp": "info", "mlx": "info"},
}


def find(subject: Subject) -> Iterator[Diagnosis]:
    """One diagnosis for each message of the reader; one for all entries of a list."""
    places, messages = places_of(subject), _joined(subject.model.messages)
    unread = any(message.code == "PV161" for message in messages)
    reported = _reported(subject) if unread else frozenset()
    by_numbers = {
        name
        for each in subject.rotating
        if tells_of_mscale(each)
        for name in (each.layer.name, each.name)
    }
    for index, message in enumerate(messages):
        place = places.get(message.layer_type, places[""])
        told = _told(message, place, reported)
        if message.code == "PV162" and message.layer_type in by_numbers:
            continue  # the numbers of every runtime say it, and which of them reads the key
        if told is not None:
            yield _diagnosis(message, told, place, with_patch=index < _MOST_REPAIRS)


def _diagnosis(message: Message, told: Message, place: Place, *, with_patch: bool) -> Diagnosis:
    """``message`` is what the reader said, ``told`` how it is put here."""
    subject = place.subject
    severity: Severity = told.severity
    if subject.runtime is not None:
        severity = _SEVERITY_IN.get(told.code, {}).get(subject.runtime, severity)
    patch = repair(told, place) if with_patch else ()
    fields = (place.located(field) for field in told.fields)
    found = Diagnosis(
        code=told.code,
        severity=severity,
        message=told.text,
        fields=tuple(dict.fromkeys(field for field in fields if field)),
        values=told.values,
        runtimes=of_runtime(subject, behaviours(told, place)),
        patch=patch if holds(subject, patch, severity, message) else (),
        layer_type=told.layer_type,
        panel=_PANELS.get(told.code, ""),
    )
    return with_both_readings(found, subject) if told.code == "PV120" else found


def _joined(messages: Sequence[Message]) -> list[Message]:
    """Messages about single entries of one list become one."""
    result: list[Message] = []
    counts: dict[tuple[str, str, str], int] = {}
    for message in messages:
        entry = message.fields[0] if message.fields else ""
        key = (message.code, message.layer_type, entry.partition("[")[0])
        listed = message.code in ("PV111", "PV112") and entry.endswith("]")
        counts[key] = counts.get(key, 0) + 1
        if not listed or counts[key] == 1:
            result.append(message)
    return [_with_rest(each, counts) for each in result]


def _with_rest(message: Message, counts: Mapping[tuple[str, str, str], int]) -> Message:
    entry = message.fields[0] if message.fields else ""
    rest = counts[message.code, message.layer_type, entry.partition("[")[0]] - 1
    if not entry.endswith("]") or not rest:
        return message
    entries = "entry" if rest == 1 else "entries"
    return replace(message, text=f"{message.text} The same holds for {rest} more {entries}.")


def _told(message: Message, place: Place, reported: frozenset[str]) -> Message | None:
    """The message with what the configuration around it adds; None where others say it."""
    if message.code == "PV161":
        return _unread(message, place, reported)
    if message.code == "PV114":
        return _out_of_domain(message, place)
    if message.code == "PV102":
        return _null_type(message, place)
    if message.code == "PV103" and not place.holds("rope_type"):
        return _type_that_never_arrives(message, place)
    if message.code == "PV120" and place.subject.gguf is not None:
        return replace(message, text=message.text.replace("as in transformers", "as in llama.cpp"))
    if message.code == "PV105":
        return _lost_base(message, place)
    return message


def _unread(message: Message, place: Place, reported: frozenset[str]) -> Message | None:
    if _hidden_type(place) and "type default" in message.text:
        # The type that does not arrive has its own diagnosis, these keys included.
        hidden = {field for field in message.fields if field.rpartition(".")[2] in DICT_KEYS}
        reported = reported | hidden
    left = tuple(field for field in message.fields if field not in reported)
    if any(field.rpartition(".")[2] in READ_BY_OTHERS for field in left):
        text = message.text.replace("Not read for", "Not read by transformers for")
        message = replace(message, text=text.replace(", so without", ", and there without"))
    if len(left) == len(message.fields) <= _MOST_NAMED:
        return message
    names = ", ".join(field.rpartition(".")[2][:_LONGEST_NAME] for field in left[:_MOST_NAMED])
    more = f" and {len(left) - _MOST_NAMED} more" if len(left) > _MOST_NAMED else ""
    text = f"{message.text.partition(':')[0]}: {names}{more}."
    return replace(message, fields=left, text=text) if left else None


def _reported(subject: Subject) -> frozenset[str]:
    """Keys that have a diagnosis of their own; all of a dict whose type is misspelt."""
    of_keys = {key for each in keys.find(subject) for key in each.fields}
    without_type = [each.section for each in look_alikes(subject) if each.real == "rope_type"]
    beside_it = {part.key(name) for part in without_type for name in DICT_KEYS}
    return frozenset(of_keys | beside_it)


def _hidden_type(place: Place) -> bool:
    """Whether the old key names a type that nothing reads."""
    return isinstance(place.given("type"), str) and place.given("type") != "default"


def _out_of_domain(message: Message, place: Place) -> Message:
    """An encoding's own sentence names its parameters; here the keys are named too."""
    words = set(message.text.replace(";", " ").replace(":", " ").split())
    names = {_KEY_OF.get(word, word) for word in words} & DICT_KEYS
    keys_named = sorted(
        place.key(name) if place.holds(name) else place.located(name) for name in names
    )
    found = tuple(key for key in keys_named if exists(place.subject.config, key))
    return replace(message, fields=message.fields or found)


def _null_type(message: Message, place: Place) -> Message:
    old = place.given("type")
    if old in (None, "default") or not message.fields[0].endswith("rope_type"):
        return message
    text = (
        f"{message.fields[0]} is null beside type {old!r:.40}: null is not absent, so it hides the "
        "old key and is treated as default; nothing of that scaling takes effect. Drop the null or "
        "give the name."
    )
    return replace(message, severity="warn", text=text)


def _type_that_never_arrives(message: Message, place: Place) -> Message:
    """Gemma 3 and ModernBERT lay rope_scaling over a dict that has rope_type default."""
    old = place.given("type")
    key = place.key("type")
    text = (
        f"{key} is {old!r:.40}, but {place.subject.facts.name} lays this dict over one that has "
        f"rope_type default, which counts: the old key {key} is not read and nothing is scaled. "
        "Write rope_type instead."
    )
    return replace(message, text=text, fields=(key,))


def _lost_base(message: Message, place: Place) -> Message:
    section = place.subject.section
    inner = section.data.get("rope_parameters")
    lost = inner.get("rope_theta") if isinstance(inner, Mapping) else None
    kept = place.holds("rope_theta") or section.data.get("rope_theta") is not None
    if kept or not is_finite_number(lost):
        return message
    text = f"{message.text} So its base {lost:g} is lost."
    return replace(message, text=text, values={**message.values, "lost_base": lost})
