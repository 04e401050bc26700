"""Llama 3.1 scaling: NTK-by-parts under its own names."""

from __future__ import annotations

from typing import Annotated, ClassVar

from annotated_types import Ge, Le

from posviz.encodings.base import Source
from posviz.encodings.extension import (
    FactorExtension,
    OriginalLength,
    RampExtension,
    ScalingFactor,
    Turns,
)
from posviz.encodings.rotary import SNIPPET, Base
from posviz.parameters import Parameter, ParameterError


class Llama3(RampExtension, FactorExtension):
    """f' = γ·f + (1-γ)·f/s with γ = clip((r - low)/(high - low), 0, 1), r the turns within L.

    Meta, transformers, vLLM and torchtune interpolate the frequency; llama.cpp and MLX divide it by
    the equal 1/((1-γ)/s + γ). Equal low and high factors (Llama 4 Scout) make a step.
    """

    title: ClassVar[str] = "Llama 3 scaling"
    year: ClassVar[int] = 2024
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="The Llama 3 Herd of Models",
            authors="Grattafiori et al.",
            year=2024,
            arxiv="2407.21783",
            code="github.com/meta-llama/llama-models a9c89c4 apply_scaling; "
            "transformers 5.24.0 _compute_llama3_parameters",
        ),
    )
    formula: ClassVar[str] = (
        r"f'_i = \gamma_i f_i + (1 - \gamma_i)\frac{f_i}{s},\quad "
        r"\gamma_i = \mathrm{clip}\left("
        r"\frac{L/\lambda_i - \alpha}{\beta - \alpha}, 0, 1\right)"
    )
    # Llama 3.2 divides by 32 and runs at 16 times its trained window.
    factor_is_length_ratio: ClassVar[bool] = False
    rope_types: ClassVar[tuple[str, ...]] = ("llama3",)
    shows: ClassVar[str] = (
        "A narrow blend: with factors 1 and 4 only six of 64 pairs lie between kept and divided."
    )
    limits: ClassVar[str] = (
        "The model was trained on with this map; the frequencies alone do not extend another one."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that Llama 3.1 has a method of its own. It is NTK-by-parts with α "
        "= 1 and β = 4: of 64 pairs 29 are kept, 6 blended and 29 divided by 8.",
        "You may have read that the factor says how many times longer the context is. Llama "
        "3.2 divides by 32 and runs at 16 times its trained window.",
    )
    used_in: ClassVar[tuple[str, ...]] = ("Llama 3.1", "Llama 3.2", "Llama 3.3")
    snippet: ClassVar[str] = (
        SNIPPET
        + """L, s = $original_max_position_embeddings, $scaling_factor
low, high = $low_freq_factor, $high_freq_factor
kept = np.clip((L * f / (2 * np.pi) - low) / (high - low), 0, 1)
inv_freq = kept * f + (1 - kept) * f / s
"""
    )
    snippet_gives: ClassVar[str] = "inv_freq"

    base: Base = 500000.0
    original_max_position_embeddings: OriginalLength = 8192
    scaling_factor: ScalingFactor = 8.0
    low_freq_factor: Annotated[
        float,
        Ge(1e-6),
        Le(1e6),
        Parameter(
            help="Pairs that turn fewer times than this in the trained window are divided by s.",
            symbol=r"\alpha",
            unit="turns",
            slider=(0.5, 8),
            scale="log",
        ),
    ] = 1.0
    high_freq_factor: Annotated[
        float,
        Ge(1e-6),
        Le(1e6),
        Parameter(
            help="Pairs that turn more often than this in the trained window are kept.",
            symbol=r"\beta",
            unit="turns",
            slider=(1, 64),
            scale="log",
        ),
    ] = 4.0

    def check_rules(self) -> None:
        super().check_rules()
        if self.high_freq_factor < self.low_freq_factor:
            raise ParameterError(
                f"{self.title}: high_freq_factor must be at least low_freq_factor; got "
                f"high_freq_factor {self.high_freq_factor:g} and "
                f"low_freq_factor {self.low_freq_factor:g}."
            )

    @property
    def ramp_turns(self) -> Turns:
        return self.low_freq_factor, self.high_freq_factor
