"""Rules of advice whose setting is a base."""

from __future__ import annotations

import math
from collections.abc import Mapping

from posviz.encodings.extension import ntk_base
from posviz.measures import critical_dimension
from posviz.solver.given import LARGEST_BASE, written
from posviz.solver.men import MEN_RULES
from posviz.solver.rule import Answer, Need, Reach, RuleOfAdvice
from posviz.solver.unfinished import bases_with_unfinished, power_of, unfinished_pairs

_TURN = 2 * math.pi


def _answer(base: float, formula: str, values: Mapping[str, float] | None = None) -> Answer:
    """A base as a setting; none where it is beyond what any encoding takes."""
    if base <= LARGEST_BASE:
        return Answer(sets={"rope_theta": base}, formula=formula, values=values or {})
    beyond = f"{formula}: above {LARGEST_BASE:g}, the largest base that can be set"
    return Answer(sets={}, formula=beyond, values=values or {})


def _ntk(need: Need) -> Answer:
    d = need.rotary_dim
    base = ntk_base(need.base, need.factor, d)
    return _answer(
        base,
        f"b' = {written(need.base)}·{written(need.factor)}^({d}/({d}-2)) = {written(base)}",
        {"alpha_ntk": need.factor, "alpha_product": base / need.base},
    )


def _ntk_reach(base: float, need: Need) -> Reach:
    d = need.rotary_dim
    length = need.original * (base / need.base) ** ((d - 2) / d)
    return Reach(
        length,
        f"{need.original}·({written(base)}/{written(need.base)})^(({d}-2)/{d}) = {written(length)}",
    )


def _slowest(base: float, rotary_dim: int) -> float:
    """Wavelength of the slowest pair, 2π·b^((d-2)/d): tokens."""
    return float(_TURN * base ** ((rotary_dim - 2) / rotary_dim))


def _wavelength(need: Need) -> Answer:
    d = need.rotary_dim
    ratio = _slowest(need.base, d) / need.original
    base = (ratio * need.target / _TURN) ** (d / (d - 2))
    return _answer(
        base,
        f"2π·b'^(({d}-2)/{d})/{need.target} = 2π·{written(need.base)}^(({d}-2)/{d})/"
        f"{need.original} = {written(ratio)}; b' = {written(base)}",
        {"slowest_wavelength": _slowest(base, d), "ratio": ratio},
    )


def _wavelength_reach(base: float, need: Need) -> Reach:
    d = need.rotary_dim
    ratio = _slowest(need.base, d) / need.original
    length = _slowest(base, d) / ratio
    return Reach(length, f"{written(_slowest(base, d))}/{written(ratio)} = {written(length)}")


def _unfinished(need: Need) -> Answer:
    count = unfinished_pairs(need.original, need.base, need.rotary_dim)
    if need.original <= _TURN:
        return Answer(
            sets={},
            formula=f"Within {need.original} tokens no pair finishes a turn, not even the fastest, "
            "whose frequency is 1 for every base: no base keeps that at a greater length.",
            values={"unfinished": count},
        )
    power = math.log(need.target / _TURN) / math.log(need.original / _TURN)
    base = power_of(need.base, power)
    above, up_to = bases_with_unfinished(count, need.target, need.rotary_dim)
    upper = "any greater base" if math.isinf(up_to) else written(up_to)
    return _answer(
        base,
        f"{count} of {need.rotary_dim // 2} pairs make less than one turn in "
        f"{need.original} tokens; b' = {written(need.base)}^(ln({need.target}/2π)/"
        f"ln({need.original}/2π)) = {written(base)} keeps the crossing where it is; every base "
        f"above {written(above)} up to {upper} keeps the count",
        {"unfinished": count, "bases_above": above, "bases_up_to": up_to},
    )


def _unfinished_reach(base: float, need: Need) -> Reach:
    if need.original <= _TURN:
        return Reach(None, f"Within {need.original} tokens no pair finishes a turn.")
    power = math.log(base) / math.log(need.base)
    length = _TURN * power_of(need.original / _TURN, power)
    return Reach(
        length,
        f"2π·({need.original}/2π)^(ln {written(base)}/ln {written(need.base)}) = {written(length)}",
    )


def _critical(need: Need) -> Answer:
    d = need.rotary_dim
    turning = critical_dimension(d, need.base, need.original)
    values = {"critical_dimension": float(turning)}
    if turning in (0, d):
        which = "no pair finishes" if turning == 0 else "every pair finishes"
        return Answer(
            sets={},
            formula=f"{which} a turn in {need.original} tokens (critical dimension {turning} of "
            f"{d}): there is no critical pair to keep.",
            values=values,
        )
    base = power_of(need.target / _TURN, d / turning)
    return _answer(
        base,
        f"d_c = 2·⌈({d}/2)·ln({need.original}/2π)/ln {written(need.base)}⌉ = {turning}; "
        f"b' = ({need.target}/2π)^({d}/{turning}) = {written(base)}",
        values,
    )


def _critical_reach(base: float, need: Need) -> Reach:
    d = need.rotary_dim
    turning = critical_dimension(d, need.base, need.original)
    if turning in (0, d):
        return Reach(None, f"The critical dimension is {turning} of {d}: there is no such pair.")
    length = _TURN * base ** (turning / d)
    return Reach(length, f"2π·{written(base)}^({turning}/{d}) = {written(length)}")


BASE_RULES: tuple[RuleOfAdvice, ...] = (
    RuleOfAdvice(
        id="ntk_aware",
        title="NTK-aware base",
        source="bloc97 2023; Peng et al. 2023, arXiv:2309.00071, definition 1",
        caveat="In practice the usable length falls short of s times the window, since the middle "
        "pairs leave their trained arcs.",
        answer=_ntk,
        takes="base",
        reach=_ntk_reach,
    ),
    RuleOfAdvice(
        id="slowest_wavelength",
        title="Base that keeps the slowest wavelength in proportion",
        source="follows from the wavelength 2π·b^((d-2)/d) of the slowest pair",
        caveat="The same number as the NTK-aware base, reached from another wish.",
        answer=_wavelength,
        takes="base",
        reach=_wavelength_reach,
    ),
    RuleOfAdvice(
        id="unfinished_pairs",
        title="Base that keeps the number of unfinished pairs",
        source="Liu et al. 2023, arXiv:2310.05209 (critical base); the count is that of Peng et "
        "al. 2023, arXiv:2309.00071, section 3.2",
        caveat="Without fine-tuning the pairs that did finish a turn still change their pace.",
        answer=_unfinished,
        takes="base",
        reach=_unfinished_reach,
    ),
    RuleOfAdvice(
        id="critical_dimension",
        title="Base at the critical dimension",
        source="Liu et al. 2023, arXiv:2310.05209 (critical dimension)",
        caveat="The smallest base with which no pair that was unfinished in training finishes a "
        "turn within the target; meant for fine-tuning with the larger base.",
        answer=_critical,
        takes="base",
        reach=_critical_reach,
    ),
    *MEN_RULES,
)
