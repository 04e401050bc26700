"""Men's criterion as rules of advice: no distance within the length with a negative mean score."""

from __future__ import annotations

from posviz.encodings.sinusoids import wave_frequencies
from posviz.measures import first_negative, fitted_lower_bound, smallest_valid_base
from posviz.solver.given import LARGEST_BASE, written
from posviz.solver.rule import Answer, Need, Reach, RuleOfAdvice

_SOURCE = "Men et al. 2024, arXiv:2405.14591"
_SLOPE, _POWER = 0.0424, 1.628


def _fitted(need: Need) -> Answer:
    base = fitted_lower_bound(need.target)
    formula = f"{_SLOPE}·{need.target}^{_POWER} = {written(base)}"
    # The line runs down to 0; a base of RoPE is above 1.
    return Answer(sets={"rope_theta": base} if 1 < base <= LARGEST_BASE else {}, formula=formula)


def _fitted_reach(base: float, need: Need) -> Reach:
    length = (base / _SLOPE) ** (1 / _POWER)
    return Reach(length, f"({written(base)}/{_SLOPE})^(1/{_POWER}) = {written(length)}")


def _searched(need: Need) -> Answer:
    if need.target > need.search_up_to:
        return Answer(
            sets={},
            formula=f"Bases are searched up to {need.search_up_to} tokens; the target is "
            f"{need.target}.",
        )
    base = smallest_valid_base(need.target, head_dim=need.rotary_dim)
    first = first_negative(wave_frequencies(need.rotary_dim, need.base), limit=need.target)
    now = f"holds within {need.target}" if first is None else f"first fails at distance {first}"
    present = f"the trained base {written(need.base)} {now}"
    values = {} if first is None else {"first_negative": float(first)}
    if base is None:
        return Answer(
            sets={},
            formula="no base up to 1000 times the target was found to pass; " + present,
            values=values,
        )
    return Answer(
        sets={"rope_theta": base},
        formula=f"Σ_i cos(δ·b'^(-2i/{need.rotary_dim})) ≥ 0 for every δ < {need.target}, found by "
        f"search: {written(base)}; {present}",
        values=values,
    )


def _searched_reach(base: float, need: Need) -> Reach:
    limit = need.search_up_to
    first = first_negative(wave_frequencies(need.rotary_dim, base), limit=limit)
    if first is None:
        return Reach(float(limit), f"no negative sum up to {limit} tokens", at_least=True)
    return Reach(float(first), f"the first negative sum is at distance {first}")


MEN_RULES: tuple[RuleOfAdvice, ...] = (
    RuleOfAdvice(
        id="men_searched",
        title="Smallest base by Men's criterion",
        source=_SOURCE + "; Su, kexue.fm 10122",
        caveat="A bound for models trained or fine-tuned with that base, not a setting for one "
        "that was not; passing is not monotone, so a larger base can fail again.",
        answer=_searched,
        takes="base",
        reach=_searched_reach,
    ),
    RuleOfAdvice(
        id="men_fitted",
        title="Men's fitted lower bound",
        source=_SOURCE + ", figure of base against context length",
        caveat="A line through eleven bounds for rotary_dim 128 that were searched: they are from "
        "0.67 to 1.9 times the line, which is lowest against them at 1M tokens; it knows no other "
        "rotary_dim.",
        answer=_fitted,
        takes="base",
        reach=_fitted_reach,
    ),
)
