"""Readings of a static factor that the file leaves open."""

from __future__ import annotations

from collections.abc import Iterator

from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.checks.subject import Rotating, Subject
from posviz.configs.checks.wording import of_runtime, window_key
from posviz.configs.numbers import whole
from posviz.configs.windows import ORIGINAL
from posviz.parameters import is_finite_number, number_text


def linear_window(each: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    """PV205: both readings of max_position_embeddings beside rope type linear or ntk."""
    window = subject.model.window
    if each.spec.id == "yarn" or window is None or subject.facts.window_is_extended:
        return
    factor = each.spec.scaling_factor
    yield Diagnosis(
        code="PV205",
        severity="info" if subject.runtime in ("vllm", "vllm_old") else "ok",
        message=f"{_readings(each, window)} No frequency depends on it.",
        fields=(each.key("factor"), window_key(subject)),
        values={
            "if_trained_window": whole(factor * window),
            "if_extended_window": window,
            "original_if_extended": whole(window / factor),
        },
        runtimes=of_runtime(
            subject,
            {
                "transformers": "has no limit of its own.",
                "vllm": f"multiplies and allows {number_text(factor * window)} tokens; set "
                f"--max-model-len {window} where the file holds the extended window.",
            },
        ),
        layer_type=each.name,
    )


def _readings(each: Rotating, window: int) -> str:
    factor, original = each.spec.scaling_factor, each.given(ORIGINAL)
    product = number_text(factor * window)
    if is_finite_number(original) and original * factor == window:
        return (
            f"factor × original = {number_text(factor)} × {number_text(original)} = {window}, "
            "which is max_position_embeddings: the file holds the extended window. This rope type "
            f"does not read {ORIGINAL}, though, so a runtime that multiplies takes {product}."
        )
    return (
        "This rope type has no key for the trained window. Read as the trained window, "
        f"max_position_embeddings = {window} is extended to {number_text(factor)} × {window} = "
        f"{product}; read as the extended one, the model was trained at "
        f"{whole(window / factor):g} and must not go beyond {window}."
    )


def original_is_missing(each: Rotating, subject: Subject) -> bool:
    """Whether the reader had to fall back for this layer type."""
    messages = [one for one in subject.model.messages if one.code == "PV120"]
    return any(one.layer_type in ("", each.layer.name) for one in messages)
