"""Layers without rotation: lists that read the other way round, and Llama 4's temperature."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.checks.subject import Subject
from posviz.parameters import is_finite_number

CODES: Mapping[str, str] = {
    "PV285": "no_rope_layers: 1 means that the layer rotates, 0 that it does not.",
    "PV286": "no_rope_layers seems to have been written the wrong way round.",
    "PV287": "no_rope_layers or its interval cannot be read: other length, other marks, no number.",
    "PV288": "Llama 4's temperature on the queries of layers without rotation.",
}
_KEY, _EVERY = "no_rope_layers", "no_rope_layer_interval"
_SHORTEST = 4
"""Layers; a shorter list shows no pattern."""


def find_nope(subject: Subject) -> Iterator[Diagnosis]:
    """What is to know about layers that do not rotate."""
    marks = subject.section.data.get(_KEY)
    if isinstance(marks, list) and marks and len(marks) <= 10_000:
        yield from _of_list(marks, subject)
    elif marks not in (None, []):
        yield _wrong(f"{_KEY} must be a list with 1 or 0 for every layer.", subject)
    else:
        yield from _interval(subject)
    yield from _temperature(subject)


def ranges(indices: Sequence[int]) -> str:
    """Whole numbers as people write them: ``0–4, 6, 8``; at most 12 parts."""
    parts: list[list[int]] = []
    for index in indices:
        if parts and index == parts[-1][1] + 1:
            parts[-1][1] = index
        else:
            parts.append([index, index])
    texts = [str(first) if first == last else f"{first}-{last}" for first, last in parts[:12]]
    return ", ".join(texts) + (", …" if len(parts) > 12 else "")


def _of_list(marks: list[Any], subject: Subject) -> Iterator[Diagnosis]:
    found = subject.section.given("num_hidden_layers", "n_layer", "num_layers")
    count = found.value if found is not None and is_finite_number(found.value) else None
    if not all(mark in (0, 1) for mark in marks if not isinstance(mark, list | dict)) or any(
        isinstance(mark, list | dict | str) for mark in marks
    ):
        yield _not_marks(marks, count, subject)
        return
    if count is not None and len(marks) != count:
        short = len(marks) < count or subject.facts.name == "llama4_text"
        yield _wrong(
            f"{_KEY} has {len(marks)} entries, but there are {count:g} layers; it needs one mark "
            "for each, 1 where the layer rotates.",
            subject,
            grave=short and subject.facts.known,
            entries=len(marks),
            num_hidden_layers=count,
        )
        return
    yield from _direction([int(mark) for mark in marks], subject)


def _interval(subject: Subject) -> Iterator[Diagnosis]:
    """transformers divides by it where there is no list."""
    found = subject.section.find(_EVERY)
    if found is None or subject.facts.no_rope_interval is None:
        return
    if is_finite_number(found.value) and found.value == int(found.value) and found.value >= 1:
        return
    usual = subject.facts.no_rope_interval
    yield Diagnosis(
        code="PV287",
        severity="error",
        message=(
            f"{found.key} must be a whole number of at least 1; got {found.value!r:.40}. With "
            f"{usual}, as in the class, every {usual}th layer carries no rotation."
        ),
        fields=(found.key,),
        patch=(subject.put(found.key, usual),),
    )


def _direction(marks: list[int], subject: Subject) -> Iterator[Diagnosis]:
    without = [index for index, mark in enumerate(marks) if not mark]
    rotating = [index for index, mark in enumerate(marks) if mark]
    key = subject.section.key(_KEY)
    if _looks_inverted(marks):
        inverted = [1 - mark for mark in marks]
        layers = f"only the layers {ranges(rotating)} rotate" if rotating else "no layer rotates"
        after = (
            f"the layers {ranges(rotating)} carry no rotation and all others rotate, which is how "
            "such models are built"
            if rotating
            else "every layer rotates"
        )
        yield Diagnosis(
            code="PV286",
            severity="warn",
            message=(
                f"{key} says 1 for a layer that rotates, despite its name; as it stands {layers}. "
                f"It seems to be written the wrong way round: inverted, {after}."
            ),
            fields=(key,),
            values={"rotating_layers": rotating, "layers_without_rotation": without},
            patch=(subject.put(key, inverted),),
        )
        return
    yield Diagnosis(
        code="PV285",
        severity="ok",
        message=(
            f"{key} says 1 where a layer rotates, despite its name: "
            + (f"the layers {ranges(without)} carry no rotation." if without else "all rotate.")
        ),
        fields=(key,),
        values={"rotating_layers": rotating, "layers_without_rotation": without},
    )


def _looks_inverted(marks: Sequence[int]) -> bool:
    """Whether exactly every k-th layer rotates, k of at least 3, or none does."""
    rotating = [index for index, mark in enumerate(marks) if mark]
    if len(marks) < _SHORTEST:
        return False
    if not rotating:
        return True
    every = rotating[0] + 1
    return every >= 3 and rotating == list(range(every - 1, len(marks), every))


def _not_marks(marks: list[Any], count: Any, subject: Subject) -> Diagnosis:
    whole = [m for m in marks if isinstance(m, int) and not isinstance(m, bool) and m >= 0]
    usable = isinstance(count, int) and 0 < count <= 10_000
    listed = len(whole) == len(marks) and len(set(whole)) == len(whole)
    if not (usable and listed and max(whole) < count):
        text = f"{_KEY} must hold 1 (rotates) or 0 (does not) for every layer."
        return _wrong(text, subject, grave=True)
    patch = [0 if index in set(whole) else 1 for index in range(count)]
    return _wrong(
        f"{_KEY} looks like a list of layer numbers ({ranges(sorted(whole))}); it must hold one "
        "mark for every layer, 1 where the layer rotates and 0 where it does not.",
        subject,
        grave=True,
        patch=(subject.put(subject.section.key(_KEY), patch),),
        layers_without_rotation=sorted(whole),
    )


def _wrong(
    text: str, subject: Subject, *, grave: bool = False, patch: Any = (), **values: Any
) -> Diagnosis:
    return Diagnosis(
        code="PV287",
        severity="error" if grave else "warn",
        message=text,
        fields=(subject.section.key(_KEY),),
        values=values,
        patch=patch,
    )


def _temperature(subject: Subject) -> Iterator[Diagnosis]:
    section = subject.section
    tuned = section.data.get("attn_temperature_tuning", subject.facts.name == "llama4_text")
    if not isinstance(tuned, bool | int) or not tuned:
        return
    scale = section.data.get("attn_scale", 0.1)
    floor = section.data.get("floor_scale", 8192)
    usable = is_finite_number(scale) and is_finite_number(floor) and 1 <= floor <= 1 << 40
    if not usable:
        return
    first = 1 + scale * math.log(2)
    where = subject.model.unrotated_layers
    yield Diagnosis(
        code="PV288",
        severity="ok" if where else "info",
        message=(
            f"The layers without rotation ({ranges(where) or 'none here'}) multiply each query by "
            f"1 + {scale:g}·ln(1 + ⌊(position + 1)/{floor:g}⌋): {first:.7g} from position "
            f"{math.ceil(floor) - 1} on. It is not part of the rotation shown here."
            + ("" if where else " As every layer rotates, it has no effect.")
        ),
        fields=tuple(
            section.key(name)
            for name in ("attn_temperature_tuning", "attn_scale", "floor_scale")
            if name in section
        ),
        values={"first_step_at": math.ceil(floor) - 1, "multiplier_at_first_step": first},
    )
