"""The spelling of transformers 5 in a runtime that only knows the one before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from posviz.configs.checks.diagnosis import Diagnosis, Operation
from posviz.configs.checks.subject import Subject
from posviz.configs.checks.trial import holds
from posviz.configs.numbers import shown

_OLD = {
    "transformers_v4": "transformers 4",
    "vllm_old": "vLLM on transformers 4",
}
_TYPES = (None, "default")


def unread_spelling(subject: Subject) -> Iterator[Diagnosis]:
    """PV276: rope_parameters alone, where the runtime looks for rope_theta and rope_scaling."""
    inner = subject.section.data.get("rope_parameters")
    runtime = _OLD.get(subject.runtime or "")
    scaling = subject.section.data.get("rope_scaling")
    if runtime is None or not isinstance(inner, Mapping) or not inner or scaling:
        return
    lost = _lost(inner, subject)
    if not lost:
        return
    key = subject.section.key("rope_parameters")
    patch = _rewritten(key, inner, subject)
    yield Diagnosis(
        code="PV276",
        severity="warn",
        message=(
            f"{key} is not read by {runtime}, which takes rope_theta and rope_scaling beside each "
            f"other: {' and '.join(lost)} would be lost without a word. Write the old spelling."
        ),
        fields=(key,),
        runtimes={subject.runtime or "": f"does not read {key}."},
        patch=patch if holds(subject, patch, "warn") else (),
    )


def _lost(inner: Mapping[str, Any], subject: Subject) -> list[str]:
    if any(isinstance(value, Mapping) for value in inner.values()):
        return ["the dict of each layer type"]
    lost = []
    base, kind = inner.get("rope_theta"), inner.get("rope_type", inner.get("type"))
    beside = subject.section.data.get("rope_theta", subject.facts.base)
    if base is not None and base != beside:
        lost.append(f"the base {shown(base)}")
    if kind not in _TYPES:
        lost.append(f"the type {kind!r:.40}")
    if inner.get("partial_rotary_factor") is not None and (
        subject.section.data.get("partial_rotary_factor") is None
    ):
        lost.append("the share that rotates")
    return lost


def _rewritten(key: str, inner: Mapping[str, Any], subject: Subject) -> tuple[Operation, ...]:
    """A flat dict as the old spelling has it; there is none for dicts per layer type."""
    if any(isinstance(value, Mapping) for value in inner.values()):
        return ()
    beside = ("rope_theta", "partial_rotary_factor")
    scaling = {name: value for name, value in inner.items() if name not in beside}
    kind = scaling.get("rope_type", scaling.get("type"))
    moved = {name: inner[name] for name in beside if inner.get(name) is not None}
    if kind not in _TYPES or len(scaling) > 1:
        moved["rope_scaling"] = scaling
    put = (subject.put(subject.section.key(name), value) for name, value in moved.items())
    return (*subject.drop(key), *put)
