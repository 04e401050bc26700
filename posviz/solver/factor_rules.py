"""Rules of advice whose setting is a factor."""

from __future__ import annotations

from posviz.encodings.extension import ntk_base, yarn_magnitude
from posviz.solver.given import written
from posviz.solver.quantities import dynamic_alpha
from posviz.solver.rule import Answer, Need, Reach, RuleOfAdvice


def _ratio(need: Need) -> str:
    return f"s = max(1, {need.target}/{need.original}) = {written(need.factor)}"


def _times(factor: float, need: Need) -> Reach:
    length = need.original * factor
    return Reach(length, f"{need.original}·{written(factor)} = {written(length)}")


def _linear(need: Need) -> Answer:
    return Answer(
        sets={"rope_type": "linear", "factor": need.factor},
        formula=_ratio(need),
        values={"compress_pos_emb": need.factor},
    )


def _freq_scale(need: Need) -> Answer:
    scale = 1 / need.factor
    return Answer(
        sets={"--rope-scaling": "linear", "--rope-freq-scale": scale},
        formula=f"freq_scale = 1/s = {need.original}/{need.target} = {written(scale)}",
    )


def _yarn(need: Need) -> Answer:
    m = yarn_magnitude(need.factor)
    fast, slow = need.betas
    return Answer(
        sets={
            "rope_type": "yarn",
            "factor": need.factor,
            "original_max_position_embeddings": need.original,
            "beta_fast": fast,
            "beta_slow": slow,
        },
        formula=f"{_ratio(need)}; m = 0.1·ln {written(need.factor)} + 1 = {written(m)} on cos and "
        f"sin, so m² = {written(m * m)} on the scores",
        values={"attention_factor": m, "score_gain": m * m},
    )


def _by_parts(need: Need) -> Answer:
    fast, slow = need.betas
    return Answer(
        sets={
            "rope_type": "llama3",
            "factor": need.factor,
            "original_max_position_embeddings": need.original,
            "low_freq_factor": slow,
            "high_freq_factor": fast,
        },
        formula=_ratio(need),
    )


def _dynamic(need: Need, factor: float) -> Answer:
    alpha = dynamic_alpha("transformers", need.target, need.original, factor)
    base = ntk_base(need.base, alpha, need.rotary_dim)
    f, d = written(factor), need.rotary_dim
    return Answer(
        sets={"rope_type": "dynamic", "factor": factor},
        formula=f"alpha at {need.target} = {f}·{need.target}/{need.original} - ({f} - 1) = "
        f"{written(alpha)}; base there = {written(need.base)}·{written(alpha)}^({d}/({d}-2)) = "
        f"{written(base)}",
        values={"alpha_at_target": alpha, "base_at_target": base},
    )


FACTOR_RULES: tuple[RuleOfAdvice, ...] = (
    RuleOfAdvice(
        id="linear",
        title="Linear scaling",
        source="Chen et al. 2023, arXiv:2306.15595",
        caveat="Every pair is slowed, neighbours included: it needs fine-tuning at the new length.",
        answer=_linear,
        takes="factor",
        reach=_times,
    ),
    RuleOfAdvice(
        id="freq_scale",
        title="Frequency scale (llama.cpp)",
        source="llama.cpp, October 2026: --rope-freq-scale",
        caveat="The same as linear scaling, as a reciprocal: above 1 it shrinks the context.",
        answer=_freq_scale,
        takes="factor",
        reach=_times,
    ),
    RuleOfAdvice(
        id="yarn",
        title="YaRN",
        source="Peng et al. 2023, arXiv:2309.00071, equations 17 to 22",
        caveat="A static factor applies to short inputs too: use the smallest factor that covers "
        "the need. Staying within the trained arcs is necessary, not sufficient.",
        answer=_yarn,
        takes="factor",
        reach=_times,
    ),
    RuleOfAdvice(
        id="ntk_by_parts",
        title="NTK-by-parts",
        source="Peng et al. 2023, arXiv:2309.00071, section 3.2, equations 17 to 19",
        caveat="Rope type llama3 is the same map: the ramp of the paper, linear in the turns, "
        "without a factor on cos and sin.",
        answer=_by_parts,
        takes="factor",
        reach=_times,
    ),
    RuleOfAdvice(
        id="dynamic_ntk",
        title="Dynamic NTK, factor as the ratio of the lengths",
        source="transformers 5.24.0 _compute_dynamic_ntk_parameters; vLLM 0.33 takes the longest "
        "length as max_position_embeddings × factor",
        caveat="What factor means depends on the engine: in transformers it sets how fast alpha "
        "grows, without any limit; vLLM 0.33 works alpha out at the trained length, where it "
        "changes nothing.",
        answer=lambda need: _dynamic(need, need.factor),
        takes="factor",
        reach=_times,
    ),
    RuleOfAdvice(
        id="dynamic_ntk_published",
        title="Dynamic NTK, published rule",
        source="emozilla 2023; Peng et al. 2023, arXiv:2309.00071, section 3.3",
        caveat="A factor of 1 gives alpha = ℓ/L0 in transformers, which follows every length and "
        "so covers any; keys cached at an earlier length keep their frequencies.",
        answer=lambda need: _dynamic(need, 1.0),
    ),
)
