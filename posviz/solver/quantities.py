"""The table of quantities: every name and every definition, each declared once, here.

A new entry in :data:`QUANTITIES` is all it takes to convert one more quantity.
"""

from __future__ import annotations

import math
from typing import Literal

from posviz.encodings.extension import ntk_base, yarn_magnitude
from posviz.encodings.extension.dynamic_ntk import DynamicNtk
from posviz.solver.given import LARGEST_BASE, written
from posviz.solver.quantity import SAME, Formula, Known, Quantity


def _slowing(new_base: float, known: Known) -> float:
    """By how much a new base slows the slowest pair, b^(-(d-2)/d)."""
    return float((new_base / known["b"]) ** ((known["d"] - 2) / known["d"]))


def _base(factor: float, known: Known) -> float:
    return ntk_base(known["b"], factor, int(known["d"]))


def _refuse_base(value: float) -> str | None:
    return None if 1 < value <= LARGEST_BASE else f"above 1 and at most {LARGEST_BASE:g}"


def step_at_length(length: int, original: int) -> float:
    """max(2^⌈log2(ℓ/L) + 1⌉ - 1, 1), in whole numbers so that no window is off by rounding."""
    doublings = max(0, (-(-length // original) - 1).bit_length())
    return float(2 ** (doublings + 1) - 1)


def _refuse_step(value: float) -> str | None:
    lower = max(2.0 ** math.floor(math.log2(value + 1)) - 1, 1.0)
    if value == lower:
        return None
    upper = 2 * lower + 1
    steps = "1" if value < 1 else written(lower)
    if value >= 1 and math.isfinite(upper):
        steps += f" or {written(upper)}"
    return f"a step of the staircase 1, 3, 7, 15, …, next to it {steps}"


def dynamic_alpha(
    rule: Literal["transformers", "published"], length: int, original: int, factor: float
) -> float:
    """NTK alpha of one rule of dynamic NTK at one length."""
    spec = DynamicNtk(rule=rule, scaling_factor=factor, original_max_position_embeddings=original)
    return spec.factor_at(length)


def _factor_of_dynamic(value: float, known: Known) -> float:
    return 1.0 + value * max(0.0, known["L"] / known["L0"] - 1.0)


def _dynamic_of_factor(factor: float, known: Known) -> float:
    return (factor - 1.0) / (known["L"] / known["L0"] - 1.0)


_NTK_SOURCE = "bloc97 2023; YaRN, arXiv:2309.00071, definition 1"

QUANTITIES: tuple[Quantity, ...] = (
    Quantity(
        id="factor",
        title="Scaling factor",
        symbol="s",
        meaning="How many times slower the slowest pair turns; linear scaling slows every pair so.",
        called=(
            ("transformers, vLLM (rope type linear)", "factor"),
            ("PosViz", "scaling_factor"),
            ("llama.cpp", "--rope-scale"),
            ("GGUF", "rope.scaling.factor"),
            ("text-generation-webui, ExLlama", "compress_pos_emb"),
            ("ExLlamaV2", "scale_pos_emb"),
        ),
        source="Chen et al. 2023, arXiv:2306.15595; transformers 5.24.0",
        sets="factor",
        to_factor=SAME,
        from_factor=SAME,
    ),
    Quantity(
        id="rope_freq_scale",
        title="Frequency scale",
        symbol="freq_scale",
        meaning="What every frequency is multiplied by: the reciprocal of the factor, below 1 "
        "where the context grows.",
        called=(("llama.cpp", "--rope-freq-scale"), ("llama-cpp-python", "rope_freq_scale")),
        source="llama.cpp, October 2026: freq_scale = 1/rope-scale",
        sets="factor",
        to_factor=Formula("1/{x}", lambda value, known: 1 / value),
        from_factor=Formula("1/{x}", lambda value, known: 1 / value),
    ),
    Quantity(
        id="target_length",
        title="Target length",
        symbol="L'",
        meaning="The length that is s times the trained window L0.",
        called=(("PosViz", "target_length"),),
        source="Chen et al. 2023, arXiv:2306.15595: s = L'/L",
        to_factor=Formula("{x}/{L0}", lambda value, known: value / known["L0"]),
        from_factor=Formula("{x}·{L0}", lambda value, known: value * known["L0"]),
    ),
    Quantity(
        id="ntk_base",
        title="NTK-aware base",
        symbol="b'",
        meaning="The base that slows the slowest pair by exactly s and the fastest not at all.",
        called=(
            ("transformers, vLLM", "rope_theta"),
            ("llama.cpp", "--rope-freq-base"),
            ("PosViz", "base"),
        ),
        source=_NTK_SOURCE,
        sets="base",
        to_factor=Formula("({x}/{b})^(({d}-2)/{d})", _slowing),
        from_factor=Formula("{b}·{x}^({d}/({d}-2))", _base),
        direct={"alpha_product": Formula("{x}/{b}", lambda value, known: value / known["b"])},
        refuse=_refuse_base,
    ),
    Quantity(
        id="alpha_ntk",
        title="Alpha, NTK-aware",
        symbol="alpha",
        meaning="b' = b·alpha^(d/(d-2)), so that alpha is s itself and its base depends on "
        "rotary_dim.",
        called=(
            ("HunYuan (rope type dynamic)", "alpha"),
            ("text-generation-webui, ExLlama", "alpha_value"),
            ("ExLlamaV2", "scale_alpha_value"),
            ("TabbyAPI", "rope_alpha"),
        ),
        source=_NTK_SOURCE + "; ExLlama; text-generation-webui writes 64/63, which is d = 128",
        sets="base",
        to_factor=SAME,
        from_factor=SAME,
    ),
    Quantity(
        id="alpha_product",
        title="Alpha, product",
        symbol="alpha",
        meaning="b' = b·alpha, without the exponent.",
        called=(("community use", "alpha"),),
        source="community use; no paper defines it so",
        sets="base",
        to_factor=Formula(
            "{x}^(({d}-2)/{d})", lambda value, known: value ** ((known["d"] - 2) / known["d"])
        ),
        from_factor=Formula(
            "{x}^({d}/({d}-2))", lambda value, known: ntk_base(1.0, value, int(known["d"]))
        ),
        direct={"ntk_base": Formula("{b}·{x}", lambda value, known: known["b"] * value)},
    ),
    Quantity(
        id="alpha_of_steps",
        title="Alpha, power-of-two steps",
        symbol="alpha",
        meaning="The NTK alpha of a staircase over the length, max(2^⌈log2(ℓ/L0) + 1⌉ - 1, 1): it "
        "jumps from 1 to 3 just past the window.",
        called=(("Qwen (use_dynamic_ntk)", "alpha"), ("Qwen (use_dynamic_ntk)", "ntk_alpha")),
        source="Qwen's modeling_qwen.py, get_ntk_alpha; TeleChat2",
        sets="base",
        to_factor=SAME,
        from_factor=SAME,
        refuse=_refuse_step,
        at_length=lambda length, original, factor: step_at_length(length, original),
    ),
    Quantity(
        id="alpha_dynamic_transformers",
        title="Alpha, transformers' dynamic NTK",
        symbol="alpha",
        meaning="The NTK alpha that rope type dynamic works out at a length: "
        "factor·ℓ/L0 - (factor - 1) beyond the window, 1 within it.",
        called=(("formula of transformers' rope type dynamic", "alpha"),),
        source="transformers 5.24.0 _compute_dynamic_ntk_parameters",
        sets="base",
        to_factor=SAME,
        from_factor=SAME,
        at_length=lambda length, original, factor: dynamic_alpha(
            "transformers", length, original, factor
        ),
    ),
    Quantity(
        id="alpha_dynamic_ratio",
        title="Alpha, published dynamic NTK",
        symbol="alpha",
        meaning="The NTK alpha that is the ratio of the lengths: ℓ/L0 beyond the window, 1 within "
        "it.",
        called=(("formula of published dynamic NTK", "alpha"),),
        source="emozilla 2023; YaRN, arXiv:2309.00071, section 3.3",
        sets="base",
        to_factor=SAME,
        from_factor=SAME,
        at_length=lambda length, original, factor: dynamic_alpha(
            "published", length, original, 1.0
        ),
    ),
    Quantity(
        id="factor_dynamic_transformers",
        title="Factor of transformers' dynamic NTK",
        symbol="f",
        meaning="The factor of rope type dynamic: how fast alpha grows with the length, "
        "alpha = 1 + f·(L/L0 - 1); it says nothing without a length.",
        called=(("transformers (rope type dynamic)", "factor"),),
        source="transformers 5.24.0 _compute_dynamic_ntk_parameters",
        to_factor=Formula("1 + {x}·max({L}/{L0} - 1, 0)", _factor_of_dynamic),
        from_factor=Formula("({x} - 1)/({L}/{L0} - 1)", _dynamic_of_factor),
    ),
    Quantity(
        id="yarn_attention_factor",
        title="Attention factor of YaRN",
        symbol="m",
        meaning="m = 0.1·ln s + 1 on cos and sin of both q and k, so squared on the logits; 1 for "
        "every s of at most 1.",
        called=(("transformers, vLLM (rope type yarn)", "attention_factor"),),
        source="YaRN, arXiv:2309.00071, equation 22",
        to_factor=Formula("exp(({x} - 1)/0.1)", lambda value, known: math.exp((value - 1) / 0.1)),
        from_factor=Formula("max(0.1·ln {x} + 1, 1)", lambda value, known: yarn_magnitude(value)),
        refuse=lambda value: None if value >= 1 else "at least 1",
    ),
    Quantity(
        id="beta_slow",
        title="Lower bound of the ramp (YaRN's alpha)",
        symbol="alpha",
        meaning="Turns within the trained window at or below which a pair is divided by the whole "
        "factor.",
        called=(
            ("YaRN and NTK-by-parts papers", "alpha"),
            ("transformers, vLLM, llama.cpp", "beta_slow"),
            ("llama.cpp", "--yarn-beta-slow"),
            ("gpt-oss", "rope_ntk_alpha"),
            ("llama3 scaling", "low_freq_factor"),
        ),
        source="YaRN, arXiv:2309.00071, equation 18",
        refusal="It is a number of turns that says which pairs are divided, not by how much: it "
        "cannot be converted to a factor, an alpha of NTK or a base.",
    ),
)
"""Every quantity, in the order in which rows are shown."""
