"""Models of several inputs: sections of pairs, nesting, and settings that nobody reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.checks.subject import Rotating, Subject
from posviz.configs.checks.wording import listed, of_runtime

CODES: Mapping[str, str] = {
    "PV340": "Rotary settings at two levels of the file that differ; the text model's own count.",
    "PV342": "The section of the vision tower has a rotation of its own.",
    "PV343": "mrope_interleaved, or the type mrope, without mrope_section.",
    "PV344": "mrope_section has another number of parts than time, height and width.",
    "PV345": "mrope_section: how many pairs turn with time, height and width.",
}
_ROTATION = ("rope_theta", "rope_scaling", "rope_parameters", "partial_rotary_factor")
_ROPE_KEYS = (*_ROTATION, "max_position_embeddings", "rope_local_base_freq")
_DICTS = ("rope_scaling", "rope_parameters")
_VISION = ("vision_config", "visual", "vision_tower", "audio_config")


def find(subject: Subject) -> Iterator[Diagnosis]:
    """What is to know about a model of several inputs."""
    yield from _beside(subject)
    yield from _vision(subject)
    for each in subject.rotating:
        yield from _sections(each, subject)


def _beside(subject: Subject) -> Iterator[Diagnosis]:
    section = subject.section
    if not section.path:
        return
    stray = [
        name
        for name in _ROPE_KEYS
        if subject.config.get(name) is not None and _differs(name, subject)
    ]
    if not stray:
        return
    yield Diagnosis(
        code="PV340",
        severity="warn",
        message=(
            f"{listed(stray)} at the top level {'says' if len(stray) == 1 else 'say'} something "
            f"else than {section.path}, and the text model reads {section.path} only. What is "
            "meant for it must stand there."
        ),
        fields=tuple(stray),
        values={name: subject.config[name] for name in stray if _is_short(subject.config[name])},
        runtimes=of_runtime(
            subject,
            {
                "transformers": f"reads {section.path}.",
                "vllm": f"reads {section.path}; overrides are nested under text_config.",
            },
        ),
    )


def stands_in_the_text_model(name: str, subject: Subject) -> bool:
    """Whether the text model's section says something about a rotary key, in any spelling."""
    data = subject.section.data
    dicts = [data[key] for key in _DICTS if isinstance(data.get(key), Mapping) and data[key]]
    if name in _DICTS:
        return bool(dicts)
    return data.get(name) is not None or any(inner.get(name) is not None for inner in dicts)


def _differs(name: str, subject: Subject) -> bool:
    """Whether both levels say something, and not the same."""
    value, data = subject.config[name], subject.section.data
    if value == {} or not stands_in_the_text_model(name, subject):
        return False
    dicts = [data[key] for key in _DICTS if isinstance(data.get(key), Mapping) and data[key]]
    if name in _DICTS:
        return all(_plain(value) != _plain(inner) for inner in dicts)
    return all(value != found.get(name) for found in (data, *dicts))


def _plain(value: Any) -> Any:
    """A dict without what says nothing: null, the type default, and a base that stands apart."""
    if not isinstance(value, Mapping):
        return value
    return {
        name: inner
        for name, inner in value.items()
        if inner is not None
        and name != "rope_theta"
        and not (name in ("type", "rope_type") and inner in ("default", "mrope"))
    }


def _is_short(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _vision(subject: Subject) -> Iterator[Diagnosis]:
    for name in _VISION:
        inner = subject.config.get(name)
        if not isinstance(inner, Mapping):
            continue
        found = [key for key in _ROTATION if inner.get(key) is not None]
        if found:
            yield Diagnosis(
                code="PV342",
                severity="ok",
                message=(
                    f"{listed(f'{name}.{key}' for key in found)}: another part of the model has "
                    "rotary settings of its own; the rotation shown here is the text model's."
                ),
                fields=tuple(f"{name}.{key}" for key in found),
            )


def _sections(each: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    sections = each.given("mrope_section")
    interleaved = each.given("mrope_interleaved")
    if sections is None:
        yield from _no_section(each, interleaved is True)
        return
    if not isinstance(sections, list) or not sections or len(sections) > 16:
        return
    if len(sections) != 3:
        yield Diagnosis(
            code="PV344",
            severity="info",
            message=(
                f"{each.key('mrope_section')} has {len(sections)} parts; M-RoPE has three, for "
                "time, height and width."
            ),
            fields=(each.key("mrope_section"),),
            values={"parts": len(sections)},
            layer_type=each.name,
        )
        return
    yield _told(each, sections, interleaved is True)


def _no_section(each: Rotating, interleaved: bool) -> Iterator[Diagnosis]:
    name = "rope_type" if each.given("rope_type") == "mrope" else "type"
    if interleaved:
        key, told = each.key("mrope_interleaved"), "is true"
    elif each.given(name) == "mrope":
        key, told = each.key(name), "is mrope"
    else:
        return
    yield Diagnosis(
        code="PV343",
        severity="warn",
        message=(
            f"{key} {told}, but there is no mrope_section, so nobody can tell which pairs turn "
            "with time, height and width."
        ),
        fields=(key,),
        layer_type=each.name,
    )


def _told(each: Rotating, sections: list[Any], interleaved: bool) -> Diagnosis:
    time, height, width = sections
    pairs = each.spec.rotary_dim // 2
    if interleaved:
        order = "interleaved, so that each input has fast and slow pairs"
    else:
        order = f"in blocks: time has the pairs 0 to {time - 1}, the fastest"
    return Diagnosis(
        code="PV345",
        severity="ok",
        message=(
            f"{each.key('mrope_section')}: {time} + {height} + {width} = {pairs} pairs, half of "
            f"the rotary dimension {each.spec.rotary_dim}, for time, height and width, {order}. "
            "For text all three positions are equal, and the rotation is the one shown."
        ),
        fields=(each.key("mrope_section"),),
        values={"section_sum": time + height + width, "pairs": pairs},
        layer_type=each.name,
    )
