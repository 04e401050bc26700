"""A long model without the extension that it was trained with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.checks.subject import Rotating, Subject
from posviz.configs.checks.wording import window_key
from posviz.configs.windows import ORIGINAL
from posviz.parameters import is_finite_number

LLAMA_BASE, LLAMA_WINDOW = 500000.0, 131072
"""Llama 3's base, which 3.1 and 3.2 kept, and the window that they reach with divisors."""
_LLAMA_VOCABULARY = (128000, 129024)
"""128256 entries, and some more in models that add tokens of their own."""


def looks_like_llama_3_1(each: Rotating, subject: Subject) -> bool:
    """Whether a plain rotation has the base and the window of Llama 3.1 and 3.2."""
    window = subject.model.window
    size: Any = subject.section.data.get("vocab_size")
    low, high = _LLAMA_VOCABULARY
    other = is_finite_number(size) and not low <= size <= high
    return (
        subject.model.model_type == "llama"
        and each.spec.id == "rope"
        and each.spec.base == LLAMA_BASE
        and window is not None
        and window >= LLAMA_WINDOW
        and not other
    )


def dropped(each: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    """PV206, for config.json; a GGUF file has its own diagnoses."""
    if subject.gguf is not None or each.spec.id != "rope":
        return
    original, window = _original(each, subject), subject.model.window
    if original is not None and window is not None and original < window:
        yield _diagnosis(
            each,
            subject,
            f"{_key(each, subject)} = {original} is below max_position_embeddings = {window}, but "
            "no rope type extends the one to the other: the rotation is the plain one at every "
            "length. If the model was trained with an extension (LongRoPE in Phi-3, for one), "
            "its dict was lost; take it from the model as released.",
            (_key(each, subject), window_key(subject)),
        )
    elif looks_like_llama_3_1(each, subject):
        yield _diagnosis(
            each,
            subject,
            f"Base {each.spec.base:g} with {window} tokens is how Llama 3.1 and 3.2 are made, but "
            "the dict of rope type llama3 is missing. They divide their slow pairs by 8 (3.1) or "
            "32 (3.2); without it those turn that much too fast, which shows most in long text. "
            "If it is one of them, take the dict from the model as released.",
            (window_key(subject),),
        )


def _diagnosis(
    each: Rotating, subject: Subject, message: str, fields: tuple[str, ...]
) -> Diagnosis:
    return Diagnosis(
        code="PV206",
        severity="warn",
        message=message,
        fields=fields,
        values={"base": each.spec.base, "max_position_embeddings": subject.model.window},
        layer_type=each.name,
        panel="divisors",
    )


def _original(each: Rotating, subject: Subject) -> int | None:
    inside = each.given(ORIGINAL)
    value: Any = subject.section.data.get(ORIGINAL) if inside is None else inside
    whole = isinstance(value, int | float) and not isinstance(value, bool)
    if not whole or not is_finite_number(value) or value < 1 or value != int(value):
        return None
    return int(value)


def _key(each: Rotating, subject: Subject) -> str:
    return each.key(ORIGINAL) if each.given(ORIGINAL) is not None else subject.section.key(ORIGINAL)
