"""What a static factor comes to."""

from __future__ import annotations

from typing import Any

from posviz.configs.checks.subject import Rotating, Subject
from posviz.configs.checks.trained import trained_with
from posviz.configs.checks.wording import keys_given, window_key
from posviz.configs.numbers import whole
from posviz.parameters import number_text


def covered(each: Rotating, subject: Subject) -> float:
    """Tokens that the factor covers; the window itself where that already holds the factor."""
    window = subject.model.window
    if each.spec.id == "linear" and subject.facts.window_is_extended and window is not None:
        return window
    return float(each.spec.original_max_position_embeddings * each.spec.scaling_factor)


def gain(spec: Any, factor: float) -> float:
    """What the scores of rotated dims are multiplied by at every length, with this factor."""
    changed = spec.model_copy(update={"scaling_factor": factor})
    return float(changed.magnitude(1) ** 2 * changed.softmax_magnitude(1))


def product(each: Rotating) -> str:
    """The product of factor and original window, written out."""
    factor, original = each.spec.scaling_factor, each.spec.original_max_position_embeddings
    return f"{number_text(factor)} × {original} = {number_text(factor * original)}"


def values_of(each: Rotating, subject: Subject) -> dict[str, Any]:
    """Numbers that every diagnosis of a static factor carries."""
    factor = each.spec.scaling_factor
    return {
        "factor": factor,
        "original_max_position_embeddings": each.spec.original_max_position_embeddings,
        "extended_context": whole(covered(each, subject)),
        "score_gain": gain(each.spec, factor),
        "trained_with_extension": trained_with(subject, each),
    }


def fields_of(each: Rotating, subject: Subject) -> tuple[str, ...]:
    """The keys that a static factor is about."""
    given = keys_given(each, "factor", "original_max_position_embeddings")
    return (*given, window_key(subject))
