"""YaRN's factor on cos and sin, what it does to the logits, and the factor that belongs to it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from posviz.encodings.extension.yarn import Yarn
from posviz.parameters import ParameterError, is_finite_number, sentence
from posviz.solver.given import number_above, written

_OWNER = "attention factor"
_Rule: TypeAlias = Literal["transformers", "deepseek_yarn", "llama.cpp"]
_RULES: dict[_Rule, str] = {
    "transformers": "transformers, and vLLM's yarn: mscale counts only beside mscale_all_dim",
    "deepseek_yarn": "vLLM's deepseek_yarn, MLX: a lone mscale counts",
    "llama.cpp": "llama.cpp: mscale is never read",
}


@dataclass(frozen=True, kw_only=True)
class AttentionFactor:
    """The sizes that go with one factor s.

    Attributes
    ----------
    factor : s.
    m : factor on cos and sin of both q and k, by the rule of transformers.
    logit_gain : m², the factor on the logit of the rotated part.
    temperature : 1/m², the t of the YaRN paper.
    double_application_gain : m⁴, the factor on the logit where m is applied a second time, as when
        a runtime multiplies cos and sin and the attention layer multiplies the softmax scale too.
    m_by_rule : m by each rule; they are equal without mscale and mscale_all_dim.
    notes : sentences.
    """

    factor: float
    m: float
    logit_gain: float
    temperature: float
    double_application_gain: float
    m_by_rule: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def attention_factor(
    factor: float, mscale: float = 1.0, mscale_all_dim: float = 0.0
) -> AttentionFactor:
    """m = (0.1·mscale·ln s + 1) / (0.1·mscale_all_dim·ln s + 1), and its powers; 1 for s ≤ 1.

    YaRN, arXiv:2309.00071, equation 22, is mscale 1 and mscale_all_dim 0. m multiplies cos and sin
    of both q and k, so the logits carry its square.

    Parameters
    ----------
    factor : s, above 0.
    mscale, mscale_all_dim : DeepSeek's weights, at least 0. Runtimes differ where only one is set;
        ``m`` follows transformers, which then ignores it, and ``m_by_rule`` has all.

    Raises
    ------
    ParameterError : a factor that is not above 0, a weight below 0.

    Examples
    --------
    >>> found = attention_factor(4)
    >>> round(found.m, 9), round(found.logit_gain, 9)
    (1.138629436, 1.296476993)
    """
    s = number_above(_OWNER, "factor", factor)
    weight, over_all = _weight("mscale", mscale), _weight("mscale_all_dim", mscale_all_dim)
    by_rule: dict[str, float] = {rule: _magnitude(rule, s, weight, over_all) for rule in _RULES}
    m = by_rule["transformers"]
    notes = [
        f"m = {written(m)} is applied to both q and k, so the logits are multiplied by m² = "
        f"{written(m * m)}; m itself is not the gain of the logits."
    ]
    if s <= 1:
        notes.append("A factor of at most 1 extends nothing, and m is 1.")
    if len(set(by_rule.values())) > 1:
        each = "; ".join(f"{who} ({written(by_rule[rule])})" for rule, who in _RULES.items())
        notes.append(f"Runtimes differ about m here. {each}. m follows transformers.")
    return AttentionFactor(
        factor=s,
        m=m,
        logit_gain=m * m,
        temperature=1 / (m * m),
        double_application_gain=m**4,
        m_by_rule=by_rule,
        notes=tuple(notes),
    )


def factor_of_attention(m: float, mscale: float = 1.0, mscale_all_dim: float = 0.0) -> float:
    """The factor s whose attention factor is m: ln s = 10·(m - 1) / (mscale - m·mscale_all_dim).

    The inverse of :func:`attention_factor`; an m of 1 gives 1, the largest s that has it.

    Raises
    ------
    ParameterError : an m that no factor of at least 1 has under these weights.

    Examples
    --------
    >>> round(factor_of_attention(1.1386294361), 6)
    4.0
    """
    size = number_above(_OWNER, "m", m)
    weight, over_all = _weight("mscale", mscale), _weight("mscale_all_dim", mscale_all_dim)
    if not (weight and over_all):
        # One alone is ignored by transformers, whose rule attention_factor follows.
        weight, over_all = 1.0, 0.0
    slope = weight - size * over_all
    exponent = 0.0 if size == 1 else 10 * (size - 1) / slope if slope else math.inf
    if not 0 <= exponent < 700:
        raise ParameterError(
            f"{_OWNER}: m must be what some factor of at least 1 gives with mscale "
            f"{written(weight)} and mscale_all_dim {written(over_all)}; got {written(size)}."
        )
    return math.exp(exponent)


def _magnitude(rule: _Rule, factor: float, mscale: float, over_all: float) -> float:
    spec = Yarn(mscale_rule=rule, mscale=mscale, mscale_all_dim=over_all)
    return spec.derived_magnitude(factor)


def _weight(name: str, value: float) -> float:
    if not is_finite_number(value) or not 0 <= value <= 100:
        allowed = "a number of at least 0 and at most 100"
        raise ParameterError(sentence(_OWNER, name, allowed, value))
    return float(value)
