"""Dynamic NTK: NTK-aware scaling whose factor follows the length."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le

from posviz.encodings.base import Source
from posviz.encodings.extension import DynamicExtension, ntk_base
from posviz.encodings.rotary import SNIPPET_AT_LENGTH
from posviz.parameters import Parameter
from posviz.results import Array


class DynamicNtk(DynamicExtension):
    """b' = b·α^(d/(d-2)) with α from the length ℓ; nothing changes up to L.

    The published rule takes α = ℓ/L. Transformers takes α = s·ℓ/L - (s-1), which is the same for
    s = 1 only, and keeps a raised base until a short call comes; here every length stands for
    itself.
    """

    title: ClassVar[str] = "Dynamic NTK"
    year: ClassVar[int] = 2023
    identity_at_factor_one: ClassVar[bool] = False
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Dynamically Scaled RoPE further increases performance of long context LLaMA",
            authors="emozilla",
            year=2023,
            place="restated in arXiv:2309.00071, section 3.3",
            code="github.com/jquesnelle/yarn 995db5b LlamaDynamicScaledRotaryEmbedding; "
            "transformers 5.24.0 _compute_dynamic_ntk_parameters",
        ),
    )
    formula: ClassVar[str] = (
        r"b' = b\, \alpha^{d/(d-2)},\quad "
        r"\alpha = s\,\frac{\ell}{L} - (s - 1) \text{ for } \ell > L"
    )
    rope_types: ClassVar[tuple[str, ...]] = ("dynamic",)
    shows: ClassVar[str] = (
        "The spectrum tilts further with every token beyond the trained window; the fastest pair "
        "never changes."
    )
    limits: ClassVar[str] = (
        "Keys that are cached already rotated keep the frequencies of an earlier length; the "
        "picture assumes that all are rotated anew."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that the factor is the ratio of the lengths. In transformers a "
        "factor of 2 at twice the window gives 2·2 - 1 = 3 and the base 30,528; the published "
        "rule gives 2 and 20,221.",
        "You may have read that the rope type dynamic does the same everywhere. vLLM 0.33 "
        "evaluates it once at the trained length, where it does nothing.",
    )
    used_in: ClassVar[tuple[str, ...]] = ("Qwen-7B", "InternLM2")
    snippet: ClassVar[str] = (
        SNIPPET_AT_LENGTH
        + """beyond = max(1, length / L)
alpha = {"published": beyond, "transformers": 1 + $scaling_factor * (beyond - 1), "vllm": 1}[$rule]
inv_freq = (b * alpha ** (d / (d - 2))) ** (-np.arange(0, d, 2) / d)
"""
    )
    snippet_gives: ClassVar[str] = "inv_freq"
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "transformers, MLX": {"rule": "transformers"},
        "published rule": {"rule": "published"},
        "vLLM (does nothing)": {"rule": "vllm"},
    }

    scaling_factor: Annotated[
        float,
        Ge(1),
        Le(1e6),
        Parameter(
            help="Slope of α over the length in transformers' rule; the other rules do not use it.",
            symbol="s",
            slider=(1, 8),
            scale="log",
        ),
    ] = 2.0
    rule: Annotated[
        Literal["transformers", "published", "vllm"],
        Parameter(
            help="transformers: α = s·ℓ/L - (s-1); published: α = ℓ/L; vllm (0.33): evaluated once "
            "at the trained length, where α is 1."
        ),
    ] = "transformers"

    def suited(self, length: int, longest: int) -> dict[str, Any]:
        return {**super().suited(length, longest), "scaling_factor": longest / length}

    def factor_at(self, length: int) -> float:
        beyond = super().factor_at(length)
        match self.rule:
            case "published":
                return beyond
            case "transformers":
                return self.scaling_factor * beyond - (self.scaling_factor - 1)
            case "vllm":
                return 1.0

    def frequencies(self, length: int, *, xp: Any = np, device: Any = None) -> Array:
        base = ntk_base(self.base, self.factor_at(length), self.rotary_dim)
        return self.ladder(base, xp=xp, device=device)
