"""Real keys in a place where nothing reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from posviz.configs.checks.diagnosis import Diagnosis, Operation
from posviz.configs.checks.multimodal import stands_in_the_text_model
from posviz.configs.checks.places import READ_INSIDE_ONLY, places_of
from posviz.configs.checks.subject import Subject
from posviz.configs.checks.trial import holds
from posviz.configs.checks.wording import listed, of_runtime
from posviz.configs.numbers import shown
from posviz.parameters import is_finite_number

_DICTS = ("rope_scaling", "rope_parameters")
_ABOUT_ROTATION = ("rope_theta", "partial_rotary_factor", *_DICTS)
_BESIDE_THE_DICT = ("max_position_embeddings", "head_dim", "rotary_dim", "rope_local_base_freq")


def misplaced(subject: Subject) -> Iterator[Diagnosis]:
    """PV271: keys of the dict beside it, keys from beside it inside, a dict in a dict."""
    if not subject.model.layers:
        return
    yield from _beside(subject)
    yield from _inside(subject)
    yield from _base_under_another_name(subject)
    yield from _base_of_the_attention(subject)
    yield from _outside_the_text_model(subject)
    yield from _nested_twice(subject)


def _beside(subject: Subject) -> Iterator[Diagnosis]:
    section = subject.section
    stray = [name for name in sorted(READ_INSIDE_ONLY) if section.data.get(name) is not None]
    if not stray:
        return
    keys = tuple(section.key(name) for name in stray)
    verb = "stands" if len(stray) == 1 else "stand"
    yield _diagnosis(
        subject,
        f"{listed(keys)} {verb} beside the dict of rotary parameters, where nothing reads "
        f"{'it' if len(stray) == 1 else 'them'}; the place is inside rope_scaling or "
        "rope_parameters.",
        keys,
        _moved_in(stray, subject),
    )


def _moved_in(stray: list[str], subject: Subject) -> tuple[Operation, ...]:
    section, place = subject.section, places_of(subject)[""]
    values = {name: section.data[name] for name in stray}
    drops = tuple(one for name in stray for one in subject.drop(section.key(name)))
    own = [name for name in _DICTS if section.data.get(name)]
    if not own:
        if "rope_type" not in values:
            return ()
        return (*drops, subject.put(section.key("rope_scaling"), values))
    if len(own) > 1 or place.section is None or (place.rope is not None and place.rope.per_layer):
        return ()
    if any(name in place.section for name in stray):
        return ()
    return (*drops, *(subject.put(place.key(name), value) for name, value in values.items()))


def _base_under_another_name(subject: Subject) -> Iterator[Diagnosis]:
    name, facts = "rotary_emb_base", subject.facts
    value: Any = subject.section.data.get(name)
    if not facts.known or name in facts.base_keys or not is_finite_number(value):
        return
    if subject.main is None or value == subject.main.spec.base:
        return
    key, real = subject.section.key(name), subject.section.key(facts.base_keys[0])
    free = subject.section.data.get(facts.base_keys[0]) is None
    patch = (*subject.drop(key), subject.put(real, value))
    found = _diagnosis(
        subject,
        f"{key} = {value:g} is not read by the class {facts.name}, which reads {real}: its base "
        f"is {subject.main.spec.base:g}.",
        (key,),
        patch if free else (),
    )
    told = of_runtime(subject, {"vllm": f"reads {name} where rope_theta is missing."})
    yield replace(found, runtimes=told, panel="wavelengths")


def _base_of_the_attention(subject: Subject) -> Iterator[Diagnosis]:
    """DBRX's files have their base in attn_config, which transformers 5 does not read there."""
    section, main = subject.section, subject.main
    inner = section.data.get("attn_config")
    value: Any = inner.get("rope_theta") if isinstance(inner, Mapping) else None
    if main is None or not is_finite_number(value) or value == main.spec.base:
        return
    key, place = f"{section.key('attn_config')}.rope_theta", section.key("rope_theta")
    free = section.data.get("rope_theta") is None and main.given("rope_theta") is None
    found = _diagnosis(
        subject,
        f"{key} = {value:g} is where the files of DBRX have the base that the model was trained "
        f"with; transformers 5 reads {place} only, and rotates with {main.spec.base:g}.",
        (key,),
        (subject.put(place, value),) if free else (),
    )
    told = {"transformers": "does not read it.", "vllm": "reads it in its DBRX class."}
    yield replace(found, runtimes=of_runtime(subject, told), panel="wavelengths")


def _inside(subject: Subject) -> Iterator[Diagnosis]:
    for name in _DICTS:
        inner = subject.section.data.get(name)
        if not isinstance(inner, Mapping):
            continue
        for key in _BESIDE_THE_DICT:
            if inner.get(key) is not None and inner[key] != subject.section.data.get(key):
                yield _stray_inside(subject, f"{subject.section.key(name)}.{key}", key, inner[key])


def _stray_inside(subject: Subject, key: str, name: str, value: Any) -> Diagnosis:
    outside = subject.section.data.get(name)
    place = subject.section.key(name)
    patch = (*subject.drop(key), subject.put(place, value)) if outside is None else ()
    counts = "" if outside is None else f", which is {shown(outside)} and counts"
    return _diagnosis(
        subject,
        f"{key} = {shown(value)} is not read inside the dict; the place is {place}{counts}.",
        (key,) if outside is None else (key, place),
        patch,
    )


def _nested_twice(subject: Subject) -> Iterator[Diagnosis]:
    for name in _DICTS:
        outer = subject.section.data.get(name)
        if not isinstance(outer, Mapping):
            continue
        for inner_name in _DICTS:
            inner = outer.get(inner_name)
            if not isinstance(inner, Mapping):
                continue
            path = subject.section.key(name)
            merged = {key: value for key, value in outer.items() if key != inner_name}
            clash = any(merged.get(key, value) != value for key, value in inner.items())
            yield _diagnosis(
                subject,
                f"{path}.{inner_name} is a dict of rotary parameters inside another one; only the "
                f"outer one is read, so nothing of {', '.join(map(str, inner))[:80]} counts.",
                (f"{path}.{inner_name}",),
                () if clash else (subject.put(path, {**merged, **inner}),),
            )


def _outside_the_text_model(subject: Subject) -> Iterator[Diagnosis]:
    """Keys of the whole file that the text model's own section lacks."""
    section = subject.section
    if not section.path:
        return
    stray = [name for name in _ABOUT_ROTATION if _is_missed(name, subject)]
    if not stray:
        return
    verb = "stands" if len(stray) == 1 else "stand"
    patch = tuple(
        operation
        for name in stray
        for operation in (
            *subject.drop(name),
            subject.put(section.key(name), subject.config[name]),
        )
    )
    yield _diagnosis(
        subject,
        f"{listed(stray)} {verb} at the top of the file, but the text model is described in "
        f"{section.path}, and only what stands there is read.",
        tuple(stray),
        patch,
    )


def _is_missed(name: str, subject: Subject) -> bool:
    value = subject.config.get(name)
    if value in (None, {}) or stands_in_the_text_model(name, subject):
        return False
    return subject.main is None or value != subject.main.spec.base


def _diagnosis(
    subject: Subject, text: str, fields: tuple[str, ...], patch: tuple[Operation, ...]
) -> Diagnosis:
    return Diagnosis(
        code="PV271",
        severity="warn",
        message=text,
        fields=fields,
        patch=patch if holds(subject, patch, "warn") else (),
    )
