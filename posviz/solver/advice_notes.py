"""Sentences of advice: what is needed, what short inputs pay, and whether a factor fits."""

from __future__ import annotations

from posviz.encodings.extension import yarn_magnitude
from posviz.solver.given import written
from posviz.solver.rule import Need

_ROUNDING = 1e-12


def gains(need: Need, present: float | None) -> dict[str, float]:
    """YaRN's factor on the scores, m², at the factor that is needed and at the present one."""
    found = {"score_gain": yarn_magnitude(need.factor) ** 2}
    if present is not None:
        found["present_score_gain"] = yarn_magnitude(present) ** 2
    return found


def warnings(need: Need, typical: int | None, present: float | None) -> list[str]:
    """What must be seen: a factor that does not fit, and what short inputs pay."""
    found = []
    static = need.factor if present is None else present
    if present is not None:
        found += _present(need, present)
    if typical is not None and typical <= need.original and static > 1:
        gain = yarn_magnitude(static) ** 2
        found.append(
            f"A static factor applies to short inputs too: at {typical} tokens, within the trained "
            f"window of {need.original}, a factor of {written(static)} still slows the slow pairs, "
            f"and YaRN multiplies the scores by {written(gain)}."
        )
    return found


def _present(need: Need, present: float) -> list[str]:
    reach = (
        f"The present factor {written(present)} reaches {written(present * need.original)} tokens"
    )
    wanted = f"{need.target} tokens need {written(need.factor)}"
    if present > need.factor * (1 + _ROUNDING):
        both = gains(need, present)
        return [
            f"{reach}; {wanted}. Use the smallest factor that covers the need: YaRN's gain on the "
            f"scores falls from {written(both['present_score_gain'])} to "
            f"{written(both['score_gain'])}."
        ]
    if present < need.factor * (1 - _ROUNDING):
        return [f"{reach} only; {wanted}."]
    return []


def notes(need: Need) -> list[str]:
    """What holds for every model at this need."""
    if need.target <= need.original:
        return [
            f"Nothing is needed: {need.target} tokens are within the trained window of "
            f"{need.original}. The factor is 1."
        ]
    return [
        f"Use the smallest factor that covers the need: {need.target}/{need.original} = "
        f"{written(need.factor)}.",
        "A static factor applies to short inputs too; where short inputs matter, turn the "
        "extension on for long ones only.",
        "Each row is one rule with its source; they answer different questions and need not agree.",
    ]
