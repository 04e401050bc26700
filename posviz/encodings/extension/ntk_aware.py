"""NTK-aware scaling: a larger base, so that the spectrum tilts instead of shifting."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le

from posviz.encodings.base import Source
from posviz.encodings.extension import FactorExtension, ntk_base
from posviz.encodings.rotary import SNIPPET
from posviz.parameters import Parameter, ParameterError
from posviz.results import Array


class NtkAware(FactorExtension):
    """b' = b·s^(d/(d-2)), which divides pair i by s^(2i/(d-2)).

    That is exactly 1 at the fastest pair and exactly s at the slowest. A fixed α in place of s, as
    HunYuan has it, is the same formula.
    """

    title: ClassVar[str] = "NTK-aware"
    year: ClassVar[int] = 2023
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="NTK-Aware Scaled RoPE allows LLaMA models to have extended context size",
            authors="bloc97",
            year=2023,
            place="restated in arXiv:2309.00071, definition 1 and appendix A.1",
            code="github.com/jquesnelle/yarn 995db5b; vLLM 0.33.0 NTKScalingRotaryEmbedding",
        ),
    )
    formula: ClassVar[str] = r"b' = b\, s^{d/(d-2)},\quad f'_i = b'^{-2i/d}"
    rope_types: ClassVar[tuple[str, ...]] = ("ntk",)
    shows: ClassVar[str] = (
        "The divisor grows smoothly from exactly 1 at the fastest pair to exactly s at the "
        "slowest; the pairs in the middle leave their trained arc."
    )
    limits: ClassVar[str] = (
        "In practice the usable length falls short of s times the window, because the middle pairs "
        "extrapolate; the curve shows where, not how much it hurts."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read the exponent as d/(d-1) in one place and d/(d-2) in another. They "
        "are one number: the first counts pairs, the second dimensions, 64/63 = 128/126. "
        "D/(D-1) with D dimensions is wrong.",
        "You may have read that high frequencies are kept and low ones divided by s. Only the "
        "fastest pair is kept exactly and only the slowest divided by exactly s; all others "
        "lie between.",
    )
    used_in: ClassVar[tuple[str, ...]] = ("Hunyuan-A13B",)
    snippet: ClassVar[str] = (
        SNIPPET
        + """b, s, mixed = $base, $scaling_factor, $mixed_b
i = np.arange(d // 2)
if mixed is not None:
    inv_freq = f * np.exp(-np.log(s) * ((i + 1) / (d // 2)) ** mixed)
elif $variant == "vllm":
    inv_freq = (b * s) ** (-2 * i / d) / s ** (2 / d)
else:
    inv_freq = (b * s ** (d / (d - 2))) ** (-2 * i / d)
"""
    )
    snippet_gives: ClassVar[str] = "inv_freq"
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "published rule": {"variant": "published"},
        "vLLM ntk": {"variant": "vllm"},
    }

    variant: Annotated[
        Literal["published", "vllm"],
        Parameter(
            help="published: base b·s^(d/(d-2)); vllm: base b·s, then all frequencies divided by "
            "s^(2/d), so that the fastest pair is slowed too, or its mixed form (mixed_b)."
        ),
    ] = "published"
    mixed_b: Annotated[
        float | None,
        Ge(0),
        Le(10),
        Parameter(
            help="vLLM's mixed form: base unchanged, pair i (from 1) divided by exp(a·i^b), with a "
            "chosen so that the last pair is divided by s.",
            symbol="b",
            slider=(0.1, 2),
            step=0.01,
        ),
    ] = None

    def check_rules(self) -> None:
        super().check_rules()
        if self.mixed_b is not None and self.variant != "vllm":
            raise ParameterError(
                f"{self.title}: mixed_b must be left out unless variant is vllm; "
                f"got mixed_b {self.mixed_b:g} with variant {self.variant}."
            )

    def frequencies(self, length: int, *, xp: Any = np, device: Any = None) -> Array:
        factor = self.scaling_factor
        if self.variant == "published":
            return self.ladder(ntk_base(self.base, factor, self.rotary_dim), xp=xp, device=device)
        if self.mixed_b is None:
            widened = self.ladder(self.base * factor, xp=xp, device=device)
            return widened / factor ** (2 / self.rotary_dim)
        # The mixed form leaves the base alone: the exponential does all of the slowing.
        weight = math.log(factor) / self.pairs**self.mixed_b
        index = xp.arange(1, self.pairs + 1, dtype=xp.float64, device=device)
        return self.ladder(self.base, xp=xp, device=device) * xp.exp(-weight * index**self.mixed_b)
