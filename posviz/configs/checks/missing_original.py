"""What a missing original window changes: the method with the fallback and with the other one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.checks.subject import Subject
from posviz.configs.windows import ORIGINAL
from posviz.parameters import is_finite_number, number_text

_SMALLEST_CHANGE = 1e-9


def with_both_readings(diagnosis: Diagnosis, subject: Subject) -> Diagnosis:
    """PV120 with the numbers for both readings of max_position_embeddings.

    As the trained length it is the original itself, which is the fallback; as the extended one it
    is factor × original. For yarn the values are both ramps, for all the pair that changes most.
    """
    name = diagnosis.layer_type
    each = next((one for one in subject.rotating if name in ("", one.layer.name)), None)
    window = subject.model.window
    factor: Any = None if each is None else each.given("factor")
    if each is None or window is None or not is_finite_number(factor) or factor <= 1:
        return diagnosis
    other = round(window / factor)
    if other < 1 or each.spec.original_max_position_embeddings != window:
        return diagnosis
    fallback, shorter = each.spec, each.spec.model_copy(update={ORIGINAL: other})
    ratio = _frequencies(fallback, window) / _frequencies(shorter, window)
    changed = np.flatnonzero(np.abs(ratio - 1) > _SMALLEST_CHANGE)
    values = {**diagnosis.values, "original_if_extended": other, **_ramps(fallback, shorter)}
    text = (
        f" If it is the extended length, the original is {window} / {number_text(factor)} = {other}"
        f"{_ramp_words(fallback, shorter)}."
    )
    if changed.size == 0:
        return replace(diagnosis, values=values, message=diagnosis.message + text)
    pair = int(np.argmax(np.abs(np.log(ratio))))
    values[f"inv_freq_ratio_at_pair_{pair}"] = float(ratio[pair])
    text += (
        f" Pair {pair} differs most: it turns {ratio[pair]:.4g} times as fast with the fallback."
    )
    return replace(
        diagnosis,
        values=values,
        message=diagnosis.message + text,
        pairs=(int(changed[0]), int(changed[-1])),
    )


def _frequencies(spec: Any, length: int) -> Any:
    return spec.encode([0.0], length=length).inv_freq


def _ramps(fallback: Any, shorter: Any) -> dict[str, list[float]]:
    if not hasattr(fallback, "bounds"):
        return {}
    return {
        f"ramp_if_original_{spec.original_max_position_embeddings}": list(spec.bounds)
        for spec in (shorter, fallback)
    }


def _ramp_words(fallback: Any, shorter: Any) -> str:
    if not hasattr(fallback, "bounds"):
        return ""
    (low, high), (first, last) = fallback.bounds, shorter.bounds
    return (
        f", and the ramp runs over pairs {first:g} to {last:g} instead of {low:g} to {high:g}, as "
        "with the fallback"
    )
