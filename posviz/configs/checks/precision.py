"""The model's number format, and which stage of the rotation it may and must not reach."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.checks.subject import Rotating, Subject
from posviz.measures.distinct_positions import DistinctPositions, distinct_positions
from posviz.measures.rounding import FORMATS, rounded

CODES: Mapping[str, str] = {
    "PV320": "A short number format: fine for tables, not for positions and angles.",
    "PV321": "float16 at a length whose positions are beyond its largest number.",
    "PV322": "dtype and torch_dtype name two formats.",
    "PV323": "A whole model cast after loading casts the inverse frequencies too.",
    "PV324": "A switch that computes the rotation itself in a short format.",
}
_SHORT = ("bfloat16", "float16")
_NAMES = {"bf16": "bfloat16", "fp16": "float16", "half": "float16", "fp32": "float32"}
_SWITCHES = ("rope_dtype", "rotary_dtype", "rotary_emb_dtype", "position_dtype")
"""Keys of models' own code that name a format for the rotation itself."""
_FAR = 0.1
"""Radians: from here on an error of an angle shows in its cosine."""


def find(subject: Subject) -> Iterator[Diagnosis]:
    """What the number format means for this rotation."""
    main = subject.main
    if main is None:
        return
    yield from _two_formats(subject)
    yield from _switched(subject)
    length = _length(subject)
    dtype = number_format(subject)
    if dtype not in _SHORT or length is None:
        return
    yield _format(dtype, length, subject)
    yield from _overflow(dtype, length, subject)
    yield from _cast(dtype, length, main, subject)


def number_format(subject: Subject) -> str:
    """The format that the configuration names, without ``torch.``; empty for none."""
    for name in ("dtype", "torch_dtype"):
        for data in (subject.section.data, subject.config):
            text = _format_name(data.get(name))
            if text:
                return text
    return ""


def _format_name(value: Any) -> str:
    if not isinstance(value, str):
        return ""
    text = value.removeprefix("torch.").lower()
    return _NAMES.get(text, text)


def _key(subject: Subject) -> str:
    for name in ("dtype", "torch_dtype"):
        if _format_name(subject.section.data.get(name)):
            return subject.section.key(name)
        if _format_name(subject.config.get(name)):
            return name
    return "dtype"


def _length(subject: Subject) -> int | None:
    length = subject.target_length or subject.model.window
    return None if length is None else min(int(length), 1 << 40)


def _format(dtype: str, length: int, subject: Subject) -> Diagnosis:
    found = distinct_positions(length, dtype)
    bits = FORMATS[dtype].bits
    bound = math.ldexp(1.0, -bits - 1)
    return Diagnosis(
        code="PV320",
        severity="ok",
        message=(
            f"{dtype} is right for this model: transformers computes positions and angles in "
            f"float32 whatever the model's format is, and casting only cos and sin costs at most "
            f"{bound:.6g} each, which does not grow with the position. {_collapse(found)}"
        ),
        fields=(_key(subject),),
        values={
            "dtype": dtype,
            "max_abs_error_of_tables": bound,
            "exact_up_to": 1 << bits,
            "distinct_positions": found.kept,
            "length": length,
        },
    )


def _collapse(found: DistinctPositions) -> str:
    limit = 1 << FORMATS[found.dtype].bits
    if found.first_merged is None and not found.overflowed:
        return f"Positions cast to {found.dtype} would stay different up to {limit} too."
    return (
        f"Positions cast to {found.dtype} would collapse beyond {limit}: of {found.length} only "
        f"{found.kept} would stay different."
    )


def _overflow(dtype: str, length: int, subject: Subject) -> Iterator[Diagnosis]:
    found = distinct_positions(length, dtype)
    if not found.overflowed:
        return
    first = found.length - found.overflowed
    yield Diagnosis(
        code="PV321",
        severity="ok",
        message=(
            f"float16 ends at 65504, and the context is {length} tokens: code that holds positions "
            f"or angles in float16 gets infinity from position {first} on. transformers does not; "
            "check a runtime of your own."
        ),
        fields=(_key(subject),),
        values={"largest": 65504, "first_infinite_position": first},
    )


def _two_formats(subject: Subject) -> Iterator[Diagnosis]:
    data = subject.section.data if "dtype" in subject.section else subject.config
    new, old = _format_name(data.get("dtype")), _format_name(data.get("torch_dtype"))
    if not new or not old or new == old or not subject.concerns("transformers"):
        return
    yield Diagnosis(
        code="PV322",
        severity="info",
        message=(
            f"dtype is {new} and torch_dtype is {old}: transformers 5 takes dtype, releases before "
            "it torch_dtype."
        ),
        fields=("dtype", "torch_dtype"),
    )


def _cast(dtype: str, length: int, main: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    if not subject.concerns("transformers", "transformers_v4"):
        return
    frequencies = main.spec.frequencies(min(length, 1 << 24))
    off = np.abs(rounded(frequencies, dtype) - frequencies) * (length - 1)
    worst = int(np.argmax(off))
    if off[worst] < _FAR:
        return
    pairs = np.flatnonzero(off >= _FAR)
    yield Diagnosis(
        code="PV323",
        severity="ok",
        message=(
            f"Loaded with dtype={dtype} in transformers, the inverse frequencies stay in float32 "
            f"and are right. Only a cast of the whole model after loading (.to({dtype}), .half()) "
            f"would round them too: by the end of {length} tokens pair {worst} would be "
            f"{off[worst]:.3g} radians off."
        ),
        fields=(_key(subject),),
        values={"largest_angle_error": float(off[worst]), "pair": worst},
        pairs=(int(pairs[0]), int(pairs[-1])),
    )


def _switched(subject: Subject) -> Iterator[Diagnosis]:
    for name in _SWITCHES:
        dtype = _format_name(subject.section.data.get(name))
        length = _length(subject)
        if dtype not in _SHORT or length is None:
            continue
        found = distinct_positions(length, dtype)
        key = subject.section.key(name)
        yield Diagnosis(
            code="PV324",
            severity="warn",
            message=(
                f"{key} is {dtype}: the rotation itself is computed in it. {_collapse(found)} "
                "Compute positions and angles in float32 or better."
            ),
            fields=(key,),
            values={"distinct_positions": found.kept, "length": length},
            patch=(subject.put(key, "float32"),),
        )
