"""YaRN: fast pairs kept, slow pairs divided, a ramp between them, and a temperature."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt, Le

from posviz.encodings.base import Source
from posviz.encodings.extension import RampExtension, yarn_magnitude
from posviz.encodings.ramps import kept_by_pair_index, ramp_bounds
from posviz.parameters import Parameter
from posviz.results import Array

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


class Yarn(RampExtension):
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
    shows: ClassVar[str] = (
        "Three bands: fast pairs keep their frequency, so neighbours stay apart; slow pairs are "
        "divided by s, so none leaves its trained arc; the ramp joins them."
    )
    limits: ClassVar[str] = (
        "Staying inside the trained arc is necessary, not sufficient: it gives only superficial long "
        "context without training at that length."
    )
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "transformers, vLLM, SGLang": {"ramp": "pair_index", "truncate": True},
        "llama.cpp, MLX (always rounded)": {
            "ramp": "pair_index",
            "truncate": True,
            "mscale_rule": "deepseek_yarn",
        },
        "gpt-oss (bounds not rounded)": {"ramp": "pair_index", "truncate": False},
        "paper (ramp in turns)": {"ramp": "turns"},
        "DeepSeek (correction in the softmax)": {
            "ramp": "pair_index",
            "truncate": True,
            "mscale": 1.0,
            "mscale_all_dim": 1.0,
            "softmax_correction": True,
        },
    }

    ramp: Annotated[
        Literal["pair_index", "turns"],
        Parameter(
            help="What the ramp is linear in: the pair index (all code) or the turns (the paper)."
        ),
    ] = "pair_index"
    truncate: Annotated[
        bool,
        Parameter(help="Round the bounds of the ramp outward to whole pairs (pair_index only)."),
    ] = True
    extrapolation_factor: Annotated[
        float,
        Ge(0),
        Le(1),
        Parameter(
            help="Weight of the kept frequencies: 0 is plain interpolation "
            "(the authors' code and llama.cpp's ext_factor).",
            slider=(0, 1),
            step=0.01,
        ),
    ] = 1.0
    attention_factor: Annotated[
        float | None,
        Gt(0),
        Le(100),
        Parameter(
            help="Factor on cos and sin; left out means that it follows from s.",
            symbol="m",
            slider=(0.5, 2),
            step=0.001,
        ),
    ] = None
    mscale: Mscale = None
    mscale_all_dim: Mscale = None
    mscale_rule: Annotated[
        Literal["transformers", "deepseek_yarn"],
        Parameter(
            help="transformers: the ratio m(s, mscale)/m(s, mscale_all_dim) counts only when both are "
            "given; deepseek_yarn (vLLM, MLX): a missing mscale is 1, a missing mscale_all_dim is 0."
        ),
    ] = "transformers"
    softmax_correction: Annotated[
        bool,
        Parameter(
            help="Multiply the softmax scale by m(s, mscale_all_dim)², as DeepSeek V2 and V3 do in "
            "their attention layer."
        ),
    ] = False

    @property
    def bounds(self) -> tuple[float, float]:
        """First and last pair of the ramp in the pair index."""
        return ramp_bounds(
            self.rotary_dim,
            self.base,
            self.original_max_position_embeddings,
            self.beta_slow,
            self.beta_fast,
            rounded=self.truncate,
        )

    def kept(self, *, xp: Any = np, device: Any = None) -> Array:
        if self.ramp == "turns":
            kept = super().kept(xp=xp, device=device)
        else:
            low, high = self.bounds
            kept = kept_by_pair_index(self.pairs, low, high, xp=xp, device=device)
        return kept * self.extrapolation_factor

    def magnitude(self, length: int) -> float:
        return self.magnitude_at(self.scaling_factor)

    def magnitude_at(self, factor: float) -> float:
        """Factor on cos and sin for any s."""
        if self.attention_factor is not None:
            return self.attention_factor
        if self.mscale_rule == "deepseek_yarn":
            mscale = 1.0 if self.mscale is None else self.mscale
            return yarn_magnitude(factor, mscale) / yarn_magnitude(
                factor, self.mscale_all_dim or 0.0
            )
        if self.mscale and self.mscale_all_dim:
            return yarn_magnitude(factor, self.mscale) / yarn_magnitude(factor, self.mscale_all_dim)
        return yarn_magnitude(factor)

    def softmax_magnitude(self, length: int) -> float:
        if not (self.softmax_correction and self.mscale_all_dim):
            return 1.0
        return yarn_magnitude(self.scaling_factor, self.mscale_all_dim) ** 2
