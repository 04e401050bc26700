"""Context extension of RoPE: the same model at lengths that it was not trained for.

The law of the family: a factor of 1 changes nothing where the method promises that, and a method
that depends on the length does nothing at or below the trained window.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Gt, Le

from posviz.encodings.ramps import kept_by_turns
from posviz.encodings.rotary import RotaryEncoding
from posviz.parameters import Parameter, ParameterError
from posviz.results import Array

OriginalLength = Annotated[
    int,
    Ge(1),
    Le(1 << 40),
    Parameter(
        help="The window that the model was trained with, before any extension.",
        symbol="L",
        unit="tokens",
        slider=(512, 262144),
        scale="log",
    ),
]
ScalingFactor = Annotated[
    float,
    Ge(1),
    Le(1e6),
    Parameter(
        help="How many times longer than the trained window the context shall be.",
        symbol="s",
        slider=(1, 64),
        scale="log",
    ),
]


class Extension(RotaryEncoding):
    """Base of the family: the trained window, beside what every rotary encoding has."""

    family: ClassVar[str] = "extension"
    identity_at_factor_one: ClassVar[bool] = True
    """Whether the method promises to change nothing at a factor of 1."""
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Who computes this method how: a name, and the values of the switches that give it."""

    original_max_position_embeddings: OriginalLength = 4096


class FactorExtension(Extension):
    """An extension whose strength is one factor s."""

    scaling_factor: ScalingFactor = 16.0


class RampExtension(FactorExtension):
    """Fast pairs kept, slow pairs divided by s, a ramp between: f' = γ·f + (1-γ)·f/s."""

    beta_fast: Annotated[
        float,
        Gt(0),
        Le(1e6),
        Parameter(
            help="Pairs that turn at least this often in the trained window are kept.",
            symbol=r"\beta",
            unit="turns",
            slider=(1, 128),
            scale="log",
        ),
    ] = 32.0
    beta_slow: Annotated[
        float,
        Gt(0),
        Le(1e6),
        Parameter(
            help="Pairs that turn at most this often in the trained window are divided by s.",
            symbol=r"\alpha",
            unit="turns",
            slider=(0.1, 16),
            scale="log",
        ),
    ] = 1.0

    def check_rules(self) -> None:
        super().check_rules()
        if self.beta_fast < self.beta_slow:
            raise ParameterError(
                f"{self.title}: beta_fast must be at least beta_slow; "
                f"got beta_fast {self.beta_fast:g} and beta_slow {self.beta_slow:g}."
            )

    def kept(self, *, xp: Any = np, device: Any = None) -> Array:
        """γ: 1 where a pair is kept, 0 where it is divided: (pairs,)."""
        return kept_by_turns(
            self.trained_frequencies(xp=xp, device=device),
            self.original_max_position_embeddings,
            self.beta_slow,
            self.beta_fast,
        )

    def frequencies(self, length: int, *, xp: Any = np, device: Any = None) -> Array:
        return self.blend(self.scaling_factor, xp=xp, device=device)

    def blend(self, factor: float, *, xp: Any, device: Any) -> Array:
        """γ·f + (1-γ)·f/s for any s: (pairs,) radians per token."""
        trained = self.trained_frequencies(xp=xp, device=device)
        kept = self.kept(xp=xp, device=device)
        return kept * trained + (1 - kept) * (trained / factor)


def ntk_base(base: float, alpha: float, rotary_dim: int) -> float:
    """b·α^(d/(d-2)): the base whose slowest pair is slowed by exactly α and whose fastest not at all.

    YaRN paper (arXiv:2309.00071), definition 1. With d = 2 there is one pair, which is both, and the
    exponent has no value: the base is then left as it is.
    """
    return base if rotary_dim == 2 else base * alpha ** (rotary_dim / (rotary_dim - 2))


def yarn_magnitude(factor: float, mscale: float = 1.0) -> float:
    """0.1·k·ln s + 1, YaRN paper equation 22 (k = 1 there; DeepSeek's mscale is k); 1 for s ≤ 1."""
    return 1.0 if factor <= 1 else 0.1 * mscale * math.log(factor) + 1.0
