"""Keys that nothing reads although somebody meant something by them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from posviz.configs.checks.behaviours import READ_BY_OTHERS
from posviz.configs.checks.diagnosis import Diagnosis, Operation
from posviz.configs.checks.look_alikes import LookAlike, look_alikes
from posviz.configs.checks.misplaced import misplaced
from posviz.configs.checks.new_spelling import unread_spelling
from posviz.configs.checks.no_type import without_a_type
from posviz.configs.checks.places import ONLY_INSIDE, places_of
from posviz.configs.checks.subject import Subject
from posviz.configs.checks.trial import holds
from posviz.configs.checks.wording import of_runtime
from posviz.configs.numbers import shown
from posviz.parameters import is_finite_number, number_text

CODES: Mapping[str, str] = {
    "PV270": "A misspelt key, which nothing reads; the closest real one is named.",
    "PV271": "A key that is read elsewhere only: beside the dict, or inside it.",
    "PV272": "The name that another tool gives to a number; the key of config.json is named.",
    "PV273": "alpha, which means four different things.",
    "PV274": "rope_ratio multiplies the base in ChatGLM's own code.",
    "PV275": "The dict has keys of a scaling but names no rope type, so nothing is scaled.",
    "PV276": "rope_parameters in a runtime that only knows rope_theta and rope_scaling.",
}
_MOST_SHOWN = 12
_TEXTS = ("rope_type", "rope_scaling", "rope_parameters", "short_factor", "long_factor")


def find(subject: Subject) -> Iterator[Diagnosis]:
    """Every key that looks as if it did something and does nothing."""
    for each in look_alikes(subject)[:_MOST_SHOWN]:
        yield _foreign(each, subject) if each.foreign is not None else _slip(each, subject)
    yield from misplaced(subject)
    yield from _alpha(subject)
    yield from _rope_ratio(subject)
    yield from without_a_type(subject)
    yield from unread_spelling(subject)


def _slip(each: LookAlike, subject: Subject) -> Diagnosis:
    return Diagnosis(
        code="PV270",
        severity="warn",
        message=f"{each.key} is not read by any runtime; the key is {each.real}.{_rival(each)}",
        fields=(each.key,),
        values={"closest": each.real},
        patch=_renamed(each, each.value, subject),
        layer_type=_layer_type(each),
    )


def _foreign(each: LookAlike, subject: Subject) -> Diagnosis:
    assert each.foreign is not None
    how = each.foreign.how
    value, meaning = _translated(each, subject)
    words = {
        "same": f"the key is {each.real}",
        "reciprocal": f"it is the reciprocal of the key {each.real}",
        "alpha": "it is the alpha of NTK-aware scaling, which raises the base",
        "unlike": f"no key of config.json means just that; the nearest is {each.real}",
    }[how]
    return Diagnosis(
        code="PV272",
        severity="warn",
        message=(
            f"{each.key} is a name of {each.foreign.whose} and is not read from a config.json; "
            f"{words}{meaning}.{_rival(each)}"
        ),
        fields=(each.key,),
        values={"closest": each.real} | ({} if value is None else {each.real: value}),
        patch=() if value is None else _renamed(each, value, subject),
        layer_type=_layer_type(each),
    )


def _translated(each: LookAlike, subject: Subject) -> tuple[Any, str]:
    """The value under the real key, and the words for it; None where there is no such number."""
    assert each.foreign is not None
    given, how = each.value, each.foreign.how
    if how == "same":
        return given, ""
    if not is_finite_number(given) or given <= 0:
        return None, ""
    if how == "reciprocal" and given <= 1:
        return 1 / given, f" = 1 / {shown(given)} = {number_text(1 / given)}"
    main = subject.main
    if how == "alpha" and main is not None and main.spec.rotary_dim > 2 and given <= 1e6:
        dim, base = main.spec.rotary_dim, main.spec.base
        raised = base * given ** (dim / (dim - 2))
        return raised, (
            f" to {number_text(base)} × {shown(given)}^({dim}/{dim - 2}) = {raised:.10g} "
            "(ExLlama's and the proposal's definition; others mean other things by alpha)"
        )
    return None, ""


def _rival(each: LookAlike) -> str:
    """What counts instead, where the real key is there too."""
    given = _given_real(each)
    return "" if given is None else f" That key is there too and counts: {shown(given)}."


def _given_real(each: LookAlike) -> Any:
    return each.section.data.get(each.real)


def _renamed(each: LookAlike, value: Any, subject: Subject) -> tuple[Operation, ...]:
    """Under the real name, in the same object; nothing where that holds something else already."""
    given = _given_real(each)
    drop = subject.drop(each.key)
    if given is not None:
        patch = drop if given == value else ()
    elif each.foreign is not None and each.foreign.how == "alpha":
        patch = ()  # which of the definitions of alpha is meant, the file does not say
    elif each.rope is None and each.real in ONLY_INSIDE:
        patch = _moved_in(each, value, subject, drop)
    else:
        name = each.section.key(each.real)
        patch = (*drop, subject.put(name, value)) if _fits(each.real, value) else ()
    return patch if holds(subject, patch, "warn") else ()


def _moved_in(
    each: LookAlike, value: Any, subject: Subject, drop: tuple[Operation, ...]
) -> tuple[Operation, ...]:
    """Into the dict; without one, a lone factor of these tools is linear interpolation."""
    place = places_of(subject)[""]
    if place.section is None:
        lone = each.real == "factor" and each.foreign is not None
        new = {"rope_type": "linear", "factor": value}
        key = subject.section.key("rope_scaling")
        return (*drop, subject.put(key, new)) if lone and _fits(each.real, value) else ()
    inner = place.rope is not None and place.rope.per_layer
    if inner or place.given(each.real) is not None or not _fits(each.real, value):
        return ()
    return (*drop, subject.put(place.key(each.real), value))


def _fits(real: str, value: Any) -> bool:
    if real in _TEXTS:
        return isinstance(value, str | list | Mapping)
    if isinstance(value, bool):
        return real in ("truncate", "rope_interleave", "use_logn_attn", "use_dynamic_ntk")
    return isinstance(value, list) or (is_finite_number(value) and value >= 0)


def _layer_type(each: LookAlike) -> str:
    return each.rope.layer_type if each.rope is not None and each.rope.per_layer else ""


def _alpha(subject: Subject) -> Iterator[Diagnosis]:
    """PV273, unless the reader has used it: HunYuan's dynamic."""
    used = {field for message in subject.model.messages for field in _alpha_fields(message)}
    sections = [subject.section.key("alpha")] if "alpha" in subject.section else []
    for each in subject.rotating:
        if each.given("alpha") is not None and each.key("alpha") not in used:
            sections.append(each.key("alpha"))
    for key in dict.fromkeys(sections):
        yield Diagnosis(
            code="PV273",
            severity="warn",
            message=(
                f"{key} is not read here. alpha is the multiplier of NTK-aware scaling, base × "
                "alpha^(d/(d-2)), for the type dynamic of HunYuan, vLLM and SGLang and for "
                "ExLlama; the lower bound of the ramp, beta_slow, in the YaRN paper; and "
                "low_freq_factor where NTK-by-parts is written as llama3. Write the key that is "
                "meant."
            ),
            fields=(key,),
            runtimes=of_runtime(subject, READ_BY_OTHERS["alpha"]),
        )


def _alpha_fields(message: Any) -> tuple[str, ...]:
    return message.fields if message.code == "PV104" else ()


def _rope_ratio(subject: Subject) -> Iterator[Diagnosis]:
    ratio: Any = subject.section.data.get("rope_ratio")
    if not is_finite_number(ratio) or ratio == 1:
        return
    base = subject.main.spec.base if subject.main is not None else None
    if subject.model.model_type == "chatglm":
        if base is not None:
            yield _applied_ratio(ratio, base, subject)
        return
    raised = "" if base is None else f": {number_text(base)} × {shown(ratio)} = {base * ratio:g}"
    yield Diagnosis(
        code="PV274",
        severity="warn",
        message=(
            "rope_ratio multiplies the base in ChatGLM's own code and in its conversion to GGUF"
            f"{raised}. The model type is not chatglm, so it is not applied here: write that base "
            "as rope_theta to see its curves."
        ),
        fields=(subject.section.key("rope_ratio"),),
        values={} if base is None else {"base_with_rope_ratio": float(base * ratio)},
        runtimes={"transformers": "does not read it in its own classes."}
        if subject.concerns("transformers")
        else {},
        panel="wavelengths",
    )


def _applied_ratio(ratio: float, base: float, subject: Subject) -> Diagnosis:
    return Diagnosis(
        code="PV274",
        severity="ok",
        message=(
            "rope_ratio multiplies the base, as in ChatGLM's own code, in vLLM and in its "
            f"conversion to GGUF: {number_text(base / ratio)} × {shown(ratio)} = "
            f"{number_text(base)}."
        ),
        fields=(subject.section.key("rope_ratio"),),
        values={"base_with_rope_ratio": base},
        runtimes={"transformers": "has no class for it; the model brings its own code."}
        if subject.concerns("transformers")
        else {},
        panel="wavelengths",
    )
