"""What YaRN with a fixed factor, YaRN with a dynamic one and Resonance RoPE have in common."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Ge, Le

from posviz.encodings.extension import BetaRampExtension, yarn_magnitude
from posviz.encodings.ramps import kept_by_pair_index, ramp_bounds
from posviz.parameters import Parameter
from posviz.results import Array

AttentionFactor = Annotated[
    float | None,
    Ge(1e-6),
    Le(100),
    Parameter(
        help="Factor on cos and sin; left out means that it follows from s.",
        symbol="m",
        slider=(0.5, 2),
        step=0.001,
    ),
]

RAMP_SNIPPET = """
kept = np.clip((L * f / (2 * np.pi) - $beta_slow) / ($beta_fast - $beta_slow), 0, 1)
if $ramp == "pair_index":
    low, high = (d * np.log(L / n / 2 / np.pi) / 2 / np.log(b) for n in ($beta_fast, $beta_slow))
    low, high = (np.floor(low), np.ceil(high)) if $truncate else (low, high)
    low, high = max(low, 0), min(high, d - 1)
    width = max(high - low, 0.001) if $crossed_bounds == "step" else high - low or 0.001
    kept = 1 - np.clip((np.arange(d // 2) - low) / width, 0, 1)
""".lstrip()
"""The part of a snippet that decides which pairs are kept."""


class YarnRules(BetaRampExtension):
    """f' = γ·f + (1-γ)·f/s with YaRN's two ramps, and cos and sin times m = 0.1·ln s + 1."""

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
    crossed_bounds: Annotated[
        Literal["backwards", "step"],
        Parameter(
            help="Where clamping puts the ramp's last pair before its first, as in a very short "
            "window: run the ramp backwards (transformers, vLLM, MLX) or make a step (llama.cpp)."
        ),
    ] = "backwards"
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
    attention_factor: AttentionFactor = None

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
            kept = kept_by_pair_index(
                self.pairs,
                low,
                high,
                crossed_is_step=self.crossed_bounds == "step",
                xp=xp,
                device=device,
            )
        return kept * self.extrapolation_factor

    def magnitude(self, length: int) -> float:
        if self.attention_factor is not None:
            return self.attention_factor
        return self.derived_magnitude(self.factor_at(length))

    def derived_magnitude(self, factor: float) -> float:
        """Factor on cos and sin for any s, where none is given."""
        return yarn_magnitude(factor)
