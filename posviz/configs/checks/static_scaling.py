"""A factor that applies at every length: what it covers, what it costs, what would be enough."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.checks.dropped_scaling import dropped
from posviz.configs.checks.plain_rope import beyond_window
from posviz.configs.checks.static_bookkeeping import linear_window, original_is_missing
from posviz.configs.checks.static_factor import covered, fields_of, product, values_of
from posviz.configs.checks.static_target import beyond, not_needed, smaller
from posviz.configs.checks.subject import Rotating, Subject
from posviz.configs.checks.trained import reason, trained_with
from posviz.parameters import number_text

CODES: Mapping[str, str] = {
    "PV200": "A static factor: what it covers, and what it does to short inputs.",
    "PV201": "The wanted length lies within the trained window: the extension is not needed.",
    "PV202": "A smaller static factor covers the wanted length.",
    "PV203": "The wanted length lies beyond factor × original.",
    "PV204": "The wanted length lies beyond the window, and no extension is configured.",
    "PV206": "A trained window below the window, or Llama 3.1's base, and no extension.",
    "PV205": "linear has no key for the trained window, so the window can be read in two ways.",
}


def find(subject: Subject) -> Iterator[Diagnosis]:
    """What a static factor covers, for the layer type that sets the context."""
    main = subject.main
    if main is None:
        return
    if _is_static(main, subject):
        yield from _of_static(main, subject)
    yield from beyond_window(main, subject)
    yield from dropped(main, subject)


def _is_static(each: Rotating, subject: Subject) -> bool:
    if each.spec.id == "yarn":
        return True
    if subject.model.window is None:
        return False  # nothing says what the factor multiplies
    # A fixed alpha is read as NTK-aware too, but it is no ratio of lengths.
    return each.spec.id == "linear" or getattr(each.spec, "variant", "") == "vllm"


def _of_static(each: Rotating, subject: Subject) -> Iterator[Diagnosis]:
    yield from linear_window(each, subject)
    if original_is_missing(each, subject):
        return  # advice on one of two readings would be a guess
    trained = trained_with(subject, each)
    advice = _for_target(each, subject, trained)
    if advice is not None:
        yield advice
    elif each.spec.scaling_factor > 1 and (
        _books_agree(each, subject) or (trained and subject.target_length is not None)
    ):
        yield _covers(each, subject, trained)


def _for_target(each: Rotating, subject: Subject, trained: bool | None) -> Diagnosis | None:
    target = subject.target_length
    if target is None:
        return None
    if target > covered(each, subject):
        return beyond(each, subject, target, trained)
    if trained or each.spec.scaling_factor == 1:
        return None
    if target <= each.spec.original_max_position_embeddings:
        return not_needed(each, subject, target, trained)
    if target < covered(each, subject):
        return smaller(each, subject, target, trained)
    return None


def _books_agree(each: Rotating, subject: Subject) -> bool:
    window = subject.model.window
    if each.spec.id != "yarn":
        return each.spec.id == "linear" and subject.facts.window_is_extended
    return window is None or abs(covered(each, subject) - window) < 1


def _covers(each: Rotating, subject: Subject, trained: bool | None) -> Diagnosis:
    values = values_of(each, subject)
    if each.spec.id == "linear":
        told = (
            f"max_position_embeddings = {subject.model.window} is the extended window already "
            f"({subject.facts.name}): linear with factor {number_text(values['factor'])} is not "
            "multiplied onto it."
        )
    else:
        agrees = subject.model.window is not None and _books_agree(each, subject)
        same = ", which is max_position_embeddings" if agrees else ""
        told = (
            f"factor × original = {product(each)}{same}. The static factor applies to short inputs "
            f"too{_gain(values['score_gain'])}."
        )
    if subject.target_length is not None:
        told += f" It covers {subject.target_length}."
    told += _for_short_inputs(values["original_max_position_embeddings"], subject, trained)
    return Diagnosis(
        code="PV200",
        severity="ok",
        message=told,
        fields=fields_of(each, subject),
        values=values,
        layer_type=each.name,
        panel="short_range_cost",
    )


def _gain(score_gain: float) -> str:
    if score_gain == 1:
        return ""
    return f": scores of rotated dimensions are multiplied by {score_gain:.4g}"


def _for_short_inputs(original: int, subject: Subject, trained: bool | None) -> str:
    if trained is None:
        return ""
    if not trained:
        return (
            f" The model ({subject.model.model_type}) was trained without it: leave it out where "
            f"inputs stay within {original} tokens."
        )
    told = " " + reason(subject, trained)
    within = subject.target_length is not None and subject.target_length <= original
    if within and subject.model.model_type.startswith("deepseek"):
        told += (
            f" DeepSeek's own inference code scales only where its max_seq_len is set above "
            f"{original}, and then at every length; the runtimes always do."
        )
    return told
