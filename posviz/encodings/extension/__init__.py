"""Context extension of RoPE: the same model at lengths that it was not trained for.

The law of the family: a factor of 1 changes nothing where the method promises that, and a method
that depends on the length does nothing at or below the trained window.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Ge, Le
from array_api_compat import array_namespace

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
Turns = tuple[float, float]


class Extension(RotaryEncoding):
    """Base of the family: the trained window, beside what every rotary encoding has."""

    family: ClassVar[str] = "extension"
    factor_is_length_ratio: ClassVar[bool] = True
    """Whether scaling_factor says how many times longer the context becomes."""
    identity_at_factor_one: ClassVar[bool] = True
    """Whether the method promises to change nothing at a factor of 1."""

    original_max_position_embeddings: OriginalLength = 4096

    def suited(self, length: int, longest: int) -> dict[str, Any]:
        return {**super().suited(length, longest), "original_max_position_embeddings": length}

    def factor_at(self, length: int) -> float:
        """The factor s that applies when the model runs at this length."""
        return 1.0


class FactorExtension(Extension):
    """An extension whose strength is one factor s."""

    scaling_factor: ScalingFactor = 16.0

    def suited(self, length: int, longest: int) -> dict[str, Any]:
        return {**super().suited(length, longest), "scaling_factor": longest / length}

    def factor_at(self, length: int) -> float:
        return self.scaling_factor


class DynamicExtension(Extension):
    """An extension whose factor follows the length: s = max(1, ℓ/L)."""

    def factor_at(self, length: int) -> float:
        return max(1.0, length / self.original_max_position_embeddings)


class RampExtension(Extension):
    """Fast pairs kept, slow pairs divided by s, a ramp between: f' = γ·f + (1-γ)·f/s."""

    @property
    def ramp_turns(self) -> Turns:
        """Turns within L at which the ramp starts (all divided) and ends (all kept)."""
        raise NotImplementedError

    def kept(self, *, xp: Any = np, device: Any = None) -> Array:
        """γ: 1 where a pair is kept, 0 where it is divided: (pairs,)."""
        slow, fast = self.ramp_turns
        trained = self.trained_frequencies(xp=xp, device=device)
        return kept_by_turns(trained, self.original_max_position_embeddings, slow, fast)

    def frequencies(self, length: int, *, xp: Any = np, device: Any = None) -> Array:
        factor = self.factor_at(length)
        if factor == 1:
            # γ + (1-γ) rounds to 1, the products do not: without this a unit in the last place
            # would be left where nothing may change.
            return self.trained_frequencies(xp=xp, device=device)
        return self.blend(factor, xp=xp, device=device)

    def blend(self, factor: float, *, xp: Any, device: Any) -> Array:
        """γ·f + (1-γ)·f/s for any s: (pairs,) radians per token."""
        trained = self.trained_frequencies(xp=xp, device=device)
        kept = self.kept(xp=xp, device=device)
        return kept * trained + (1 - kept) * (trained / factor)


class BetaRampExtension(RampExtension):
    """A ramp whose ends are called beta_slow and beta_fast."""

    beta_fast: Annotated[
        float,
        Ge(1e-6),
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
        Ge(1e-6),
        Le(1e6),
        Parameter(
            help="Pairs that turn at most this often in the trained window are divided by s.",
            symbol=r"\alpha",
            unit="turns",
            slider=(0.1, 16),
            scale="log",
        ),
    ] = 1.0

    def suited(self, length: int, longest: int) -> dict[str, Any]:
        # 32 turns within the window would leave no pair as it is in so short a one.
        return {**super().suited(length, longest), "beta_fast": min(32.0, max(1.0, length / 8))}

    def check_rules(self) -> None:
        super().check_rules()
        if self.beta_fast < self.beta_slow:
            raise ParameterError(
                f"{self.title}: beta_fast must be at least beta_slow; "
                f"got beta_fast {self.beta_fast:g} and beta_slow {self.beta_slow:g}."
            )

    @property
    def ramp_turns(self) -> Turns:
        return self.beta_slow, self.beta_fast


def ntk_base(base: float, alpha: float, rotary_dim: int) -> float:
    """b·α^(d/(d-2)): the base that slows the slowest pair by exactly α, the fastest not at all.

    YaRN paper (arXiv:2309.00071), definition 1. With d = 2 the exponent has no value, and needs
    none: the one pair has frequency b^0 = 1 whatever the base is, so the base is left alone.
    """
    return base if rotary_dim == 2 else base * alpha ** (rotary_dim / (rotary_dim - 2))


def yarn_magnitude(factor: float, mscale: float = 1.0) -> float:
    """0.1·k·ln s + 1, YaRN paper equation 22 (k = 1 there; DeepSeek's mscale is k); 1 for s ≤ 1."""
    return 1.0 if factor <= 1 else 0.1 * mscale * math.log(factor) + 1.0


def log_length_scale(positions: Array, original_length: int) -> Array:
    """max(1, ln(i+1) / ln L): (positions,), for the i+1 tokens that position i sees.

    Su, kexue.fm 8823. Written with the maximum inside, so that no logarithm of 0 is taken.
    """
    xp = array_namespace(positions)
    return xp.log(xp.clip(positions + 1, original_length, None)) / math.log(original_length)
