"""YaRN: fast pairs kept, slow pairs divided, a ramp between them, and a temperature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Le

from posviz.encodings.base import Source
from posviz.encodings.extension import FactorExtension, yarn_magnitude
from posviz.encodings.rotary import SNIPPET_AT_LENGTH
from posviz.encodings.yarn_rules import RAMP_SNIPPET, YarnRules
from posviz.parameters import Parameter

Mscale = Annotated[
    float | None,
    Ge(0),
    Le(100),
    Parameter(
        help="DeepSeek's weight k in m(s, k) = 0.1·k·ln s + 1; left out means the plain rule.",
        symbol="k",
        slider=(0, 2),
        step=0.001,
    ),
]

# Every profile sets every switch, so that going from one to another leaves nothing behind. mscale
# and mscale_all_dim are numbers of the model, whoever runs it.
_TRANSFORMERS: Mapping[str, Any] = {
    "ramp": "pair_index",
    "truncate": True,
    "crossed_bounds": "backwards",
    "mscale_rule": "transformers",
    "softmax_correction": False,
    "applies": "always",
}


class Yarn(YarnRules, FactorExtension):
    """f' = γ·f + (1-γ)·f/s, and cos and sin times m = 0.1·ln s + 1.

    The paper prints γ linear in the turns of a pair; its code, and every runtime after it, makes γ
    linear in the pair index. Both are here by name (``ramp``).
    """

    title: ClassVar[str] = "YaRN"
    year: ClassVar[int] = 2023
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="YaRN: Efficient Context Window Extension of Large Language Models",
            authors="Peng et al.",
            year=2023,
            arxiv="2309.00071",
            place="equations 17 to 22",
            code="github.com/jquesnelle/yarn 995db5b; transformers 5.24.0 _compute_yarn_parameters",
        ),
    )
    formula: ClassVar[str] = (
        r"f'_i = \gamma_i f_i + (1 - \gamma_i)\frac{f_i}{s},\quad m = 0.1 \ln s + 1"
    )
    rope_types: ClassVar[tuple[str, ...]] = ("yarn", "deepseek_yarn", "telechat3-yarn")
    shows: ClassVar[str] = (
        "Three bands: fast pairs keep their frequency, so neighbours stay apart; slow pairs are "
        "divided by s, so none leaves its trained arc; the ramp joins them."
    )
    limits: ClassVar[str] = (
        "Staying inside the trained arc is necessary, not sufficient: it gives only superficial "
        "long context without training at that length."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that the ramp is linear in the turns of a pair. The paper prints "
        "that; its code and every runtime make it linear in the pair index. The bands are the "
        "same, the middle is not: pair 33 of Llama 2 is kept to 0.15 by the one and to 0.5 by "
        "the other.",
        "You may have read that logits grow by 0.1 ln s + 1. That factor is on cos and sin, "
        "so on q and k both: logits get its square, 1.63 for s = 16 and not 1.28, and only "
        "their rotated part.",
        "You may have read that wavelengths below L are kept and those up to s·L blended. "
        "Kept are those below L/β, 128 tokens for Llama 2; the blend ends at L/α, the trained "
        "window itself.",
    )
    used_in: ClassVar[tuple[str, ...]] = (
        "Yarn-Llama-2-7b-128k",
        "Qwen2.5 (beyond 32K)",
        "DeepSeek-V3",
        "gpt-oss",
    )
    snippet: ClassVar[str] = (
        SNIPPET_AT_LENGTH
        + 's = $scaling_factor if $applies == "always" or length > L else 1\n'
        + RAMP_SNIPPET
        + "inv_freq = f / s + $extrapolation_factor * kept * (f - f / s)\n"
    )
    snippet_gives: ClassVar[str] = "inv_freq"
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "transformers, vLLM": _TRANSFORMERS,
        "llama.cpp (always rounded)": {
            **_TRANSFORMERS,
            "crossed_bounds": "step",
            "mscale_rule": "llama.cpp",
        },
        "MLX (always rounded)": {**_TRANSFORMERS, "mscale_rule": "deepseek_yarn"},
        "gpt-oss (bounds not rounded)": {**_TRANSFORMERS, "truncate": False},
        "paper (ramp in turns)": {**_TRANSFORMERS, "ramp": "turns"},
        "DeepSeek in transformers (correction in the softmax)": {
            **_TRANSFORMERS,
            "softmax_correction": True,
        },
        "DeepSeek in vLLM (correction in the softmax)": {
            **_TRANSFORMERS,
            "mscale_rule": "deepseek_yarn",
            "softmax_correction": True,
        },
        "DeepSeek's own inference code (beyond the window only)": {
            **_TRANSFORMERS,
            "mscale_rule": "deepseek_yarn",
            "softmax_correction": True,
            "applies": "beyond_window",
        },
    }

    mscale: Mscale = None
    mscale_all_dim: Mscale = None
    mscale_rule: Annotated[
        Literal["transformers", "deepseek_yarn", "llama.cpp"],
        Parameter(
            help="transformers: the ratio m(s, mscale)/m(s, mscale_all_dim) counts only when both "
            "are given; deepseek_yarn (vLLM, MLX): a missing mscale is 1, a missing "
            "mscale_all_dim is 0; llama.cpp: mscale is never read."
        ),
    ] = "transformers"
    softmax_correction: Annotated[
        bool,
        Parameter(
            help="Multiply the softmax scale by m(s, mscale_all_dim)², as DeepSeek V2 and V3 do in "
            "their attention layer."
        ),
    ] = False
    applies: Annotated[
        Literal["always", "beyond_window"],
        Parameter(
            help="always (every runtime), or only while the length is beyond the trained window "
            "(DeepSeek's own inference code)."
        ),
    ] = "always"

    def factor_at(self, length: int) -> float:
        if self.applies == "beyond_window" and length <= self.original_max_position_embeddings:
            return 1.0
        return self.scaling_factor

    def derived_magnitude(self, factor: float) -> float:
        mscale, over_all = self._magnitude_weights()
        return yarn_magnitude(factor, mscale) / yarn_magnitude(factor, over_all)

    def _magnitude_weights(self) -> tuple[float, float]:
        """The two k of m(s, k) whose ratio multiplies cos and sin; m(s, 0) is 1."""
        over_all = self.mscale_all_dim or 0.0
        match self.mscale_rule:
            case "deepseek_yarn":
                return (1.0 if self.mscale is None else self.mscale), over_all
            case "llama.cpp":
                # Its DeepSeek V2 code takes any mscale_all_dim but 1 for mscale too; without the
                # ramp it leaves cos and sin as they are.
                unit = 1.0 if over_all in (0.0, 1.0) else over_all
                return (unit if self.extrapolation_factor else over_all), over_all
            case "transformers":
                # 0 and absent are the same there.
                if self.mscale and over_all:
                    return self.mscale, over_all
                return 1.0, 0.0

    def softmax_magnitude(self, length: int) -> float:
        if not (self.softmax_correction and self.mscale_all_dim):
            return 1.0
        return yarn_magnitude(self.factor_at(length), self.mscale_all_dim) ** 2
