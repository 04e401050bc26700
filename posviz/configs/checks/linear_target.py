"""Rope type linear against the length that is wanted, where its window can be read in two ways.

Without fine-tuning linear scaling works badly, so a file that names it mostly belongs to weights
that were trained with the factor.
"""

from __future__ import annotations

from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.checks.static_factor import fields_of, product, values_of
from posviz.configs.checks.subject import Rotating, Subject
from posviz.configs.checks.wording import limits
from posviz.configs.numbers import whole
from posviz.configs.window_readings import USUAL_WINDOWS
from posviz.parameters import number_text

_KEEP = (
    "Linear scaling without fine-tuning works badly, so files that name it usually come from "
    "fine-tuned models: then keep it at every length."
)


def may_be_extended(each: Rotating, trained: bool | None) -> bool:
    """Whether the file's window may hold the factor already, so that a change is a guess."""
    return each.spec.id == "linear" and trained is None


def linear_within(each: Rotating, subject: Subject, target: int) -> Diagnosis:
    """PV201 for weights of which nobody knows whether they were trained with the factor."""
    factor, window = number_text(each.spec.scaling_factor), subject.model.window
    return Diagnosis(
        code="PV201",
        severity="info",
        message=(
            f"{target} tokens lie within max_position_embeddings = {window}. Whether the model was "
            f"fine-tuned with linear factor {factor} is not known from the file; if it was not, "
            "the extension is not needed at that length, and neighbours come "
            f"{factor} times closer in every pair for nothing.{_sign(each, subject)} {_KEEP}"
        ),
        fields=fields_of(each, subject),
        values={**values_of(each, subject), "target_length": target},
        layer_type=each.name,
        panel="short_range_cost",
    )


def linear_between(each: Rotating, subject: Subject, target: int) -> Diagnosis:
    """PV202: beyond the window that the file names, within factor × window."""
    window = subject.model.window
    needed = target / each.spec.original_max_position_embeddings
    likely = _trained_before(each, subject) is not None
    return Diagnosis(
        code="PV202",
        severity="warn" if likely else "info",
        message=(
            f"{target} tokens are beyond max_position_embeddings = {window}. If that is the "
            f"trained window, factor × original = {product(each)} covers them, and a factor of "
            f"{needed:.6g} would be enough for weights that were not fine-tuned. If it is the "
            f"extended window already, they are beyond it.{_sign(each, subject)} {_KEEP}"
        ),
        fields=fields_of(each, subject),
        values={**values_of(each, subject), "target_length": target},
        runtimes=limits(subject, target) if likely else {},
        layer_type=each.name,
        panel="short_range_cost",
    )


def _trained_before(each: Rotating, subject: Subject) -> int | None:
    """The trained window, if max_position_embeddings is a usual one times the factor."""
    window = subject.model.window
    shorter = None if window is None else whole(window / each.spec.scaling_factor)
    return shorter if isinstance(shorter, int) and shorter in USUAL_WINDOWS else None


def _sign(each: Rotating, subject: Subject) -> str:
    shorter = _trained_before(each, subject)
    if shorter is None:
        return ""
    return (
        f" max_position_embeddings / factor = {shorter} is a usual trained window, which is a sign "
        f"that {subject.model.window} is the extended one."
    )
