"""Which dimensions form a pair: what no frequency shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.checks.subject import Rotating, Subject
from posviz.configs.checks.wording import of_runtime
from posviz.configs.numbers import shown

CODES: Mapping[str, str] = {
    "PV260": "How the dimensions of a pair are laid out, and where that is known from.",
    "PV261": "A key about the layout that is not read here, or that says otherwise than the class.",
}
_WORDS = {
    "half_split": "pair i is made of dimensions i and i + d/2 (half-split)",
    "interleaved": "pair i is made of dimensions 2i and 2i + 1 (interleaved)",
}
_MEANS_INTERLEAVED: Mapping[str, bool] = {
    # key: what true means
    "rope_interleave": True,
    "rope_interleaved": True,
    "rotary_emb_interleaved": True,
    "rotary_interleaved": True,
    "rope_traditional": True,
    "is_neox_style": False,
    "rope_is_neox_style": False,
}
_READ = "rope_interleave"
_PERMUTED = ("llama", "mistral", "mixtral")
"""Classes whose query and key weights conversion to GGUF permutes to interleaved pairs."""


def find(subject: Subject) -> Iterator[Diagnosis]:
    """The layout, and keys that speak about it."""
    if subject.main is None:
        return
    yield _layout(subject.main, subject)
    for name in _MEANS_INTERLEAVED:
        yield from _key(name, subject.main, subject)


def _layout(each: Rotating, subject: Subject) -> Diagnosis:
    layout = each.spec.layout
    found = subject.section.data.get(_READ)
    read = isinstance(found, bool) and subject.facts.reads_rope_interleave
    if read:
        origin = f"as {_READ} says"
    elif subject.facts.known:
        origin = f"as the class {subject.facts.name} does it"
    elif subject.facts.interleaved:
        origin = f"as the own code of {subject.facts.name} does it"
    else:
        origin = "which is usual; no model class is known here"
        if subject.section.given("kv_lora_rank") is not None:
            origin += ", and DeepSeek's own latent attention rotates neighbours instead"
    fields = (subject.section.key(_READ),) if read else ()
    return Diagnosis(
        code="PV260",
        severity="ok",
        message=(
            f"In a head, {_WORDS[layout]}, {origin}. Frequencies and curves do not depend on it, "
            "so a wrong layout shows in the output of the model only."
        ),
        fields=fields,
        values={"layout": layout},
        runtimes=of_runtime(subject, _runtimes(layout, subject)),
    )


def _runtimes(layout: str, subject: Subject) -> dict[str, str]:
    if layout == "half_split" and subject.facts.name in _PERMUTED:
        return {
            "llama_cpp": "runs interleaved pairs: conversion to GGUF permutes the query and key "
            "weights of this class, so the logits stay the same."
        }
    return {}


def _key(name: str, each: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    value = subject.section.data.get(name)
    if not isinstance(value, bool):
        return
    says = "interleaved" if value == _MEANS_INTERLEAVED[name] else "half_split"
    usual = "interleaved" if subject.facts.interleaved else "half_split"
    key = subject.section.key(name)
    obeyed = name == _READ and subject.facts.reads_rope_interleave
    if obeyed:
        if not subject.facts.known or says == usual:
            return
        text = (
            f"{key} is {shown(value)}, which means {says.replace('_', '-')}, and transformers "
            f"obeys; the class {subject.facts.name} is trained with {usual.replace('_', '-')} "
            "pairs, so every logit between different positions is wrong. Drop the key."
        )
    elif says == each.spec.layout:
        return
    else:
        text = (
            f"{key} is {shown(value)}, which means {says.replace('_', '-')} pairs, but it is not "
            f"read here: the layout shown is {each.spec.layout.replace('_', '-')}. Frequencies do "
            "not change with it."
        )
    yield Diagnosis(
        code="PV261",
        severity="warn" if obeyed else "info",
        message=text,
        fields=(key,),
        values={"layout": each.spec.layout, "layout_of_the_key": says},
        patch=subject.drop(key) if obeyed else (),
        runtimes=of_runtime(subject, {"mlx": "takes it as the argument traditional of its rope."})
        if name == "rope_traditional"
        else {},
    )
