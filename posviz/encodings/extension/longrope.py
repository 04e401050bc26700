"""LongRoPE: a searched divisor for every pair, one list inside the window and one beyond."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le

from posviz.encodings.base import Source
from posviz.encodings.extension import Extension, yarn_magnitude
from posviz.encodings.longrope_lists import PHI3_LONG_FACTOR, PHI3_SHORT_FACTOR
from posviz.encodings.rotary import HeadDim
from posviz.encodings.yarn_rules import AttentionFactor
from posviz.parameters import AcceptsList, Parameter, ParameterError
from posviz.results import Array

_Factor = Annotated[float, Ge(1e-6), Le(1e6)]
_Mscale = Annotated[
    float | None,
    Ge(1e-6),
    Le(100),
    Parameter(
        help="Factor on cos and sin with this list alone, as in Phi-3-small and Phi-3.5-MoE.",
        slider=(0.5, 2),
        step=0.001,
    ),
]


class Longrope(Extension):
    """f_i / λ_i with λ from the short list while the length is within L, from the long list beyond.

    cos and sin carry √(1 + ln s / ln L). The searched "first tokens kept" variant is not here.
    Defaults are those of Phi-3-mini-128k (June 2024).
    """

    title: ClassVar[str] = "LongRoPE"
    year: ClassVar[int] = 2024
    identity_at_factor_one: ClassVar[bool] = False
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="LongRoPE: Extending LLM Context Window Beyond 2 Million Tokens",
            authors="Ding et al.",
            year=2024,
            arxiv="2402.13753",
            place="section 3",
            code="github.com/microsoft/LongRoPE c9e56aa; transformers 5.24.0 "
            "_compute_longrope_parameters",
        ),
    )
    formula: ClassVar[str] = r"f'_i = f_i / \lambda_i,\quad m = \sqrt{1 + \frac{\ln s}{\ln L}}"
    rope_types: ClassVar[tuple[str, ...]] = ("longrope", "su")
    shows: ClassVar[str] = (
        "The divisor of each pair is searched, not a formula: a step near pair 18 of Phi-3 where "
        "formulas have a ramp. All of it jumps when the length passes L."
    )
    limits: ClassVar[str] = (
        "A cache that was filled within L holds keys of the short list when the long one takes "
        "over; runtimes differ in what they do then."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that the first tokens keep their unscaled positions. The paper "
        "searches for that too; no runtime does it, and the class of the published code that "
        "should does not run.",
        "You may have read that the short list is plain RoPE. Phi-3's divides by 1.1 to 3.05, "
        "inside the trained window too.",
    )
    used_in: ClassVar[tuple[str, ...]] = (
        "Phi-3-mini-128k",
        "Phi-3.5-MoE",
        "Phi-4-mini",
        "MiniCPM3-4B",
    )
    snippet: ClassVar[str] = """
import numpy as np
L, capacity, by = $original_max_position_embeddings, $max_position_embeddings, $switch
positions, d = np.array([0.0, 1.0, L - 1, 2 * L - 1]), int($head_dim * $partial_rotary_factor)
is_long = by == "always_long" or (positions[-1] >= L if by == "length" else capacity > L)
short = $short_factor
long = $long_factor
inv_freq = $base ** (-np.arange(0, d, 2) / d) / np.array(long if is_long else short)
"""
    snippet_gives: ClassVar[str] = "inv_freq"
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "transformers (by the length of the call)": {"switch": "length"},
        "vLLM, llama.cpp (once, by the capacity)": {"switch": "capacity"},
        "MLX (always long)": {"switch": "always_long"},
    }

    head_dim: HeadDim = 96
    short_factor: Annotated[
        tuple[_Factor, ...],
        AcceptsList,
        Parameter(
            help="Divisor of each pair, fastest first, while the length is within L.",
            symbol=r"\lambda",
        ),
    ] = PHI3_SHORT_FACTOR
    long_factor: Annotated[
        tuple[_Factor, ...],
        AcceptsList,
        Parameter(
            help="Divisor of each pair, fastest first, when the length is beyond L.",
            symbol=r"\lambda",
        ),
    ] = PHI3_LONG_FACTOR
    max_position_embeddings: Annotated[
        int,
        Ge(1),
        Le(1 << 40),
        Parameter(
            help="The extended window; the capacity that vLLM and llama.cpp decide by.",
            symbol="L'",
            unit="tokens",
            slider=(4096, 2097152),
            scale="log",
        ),
    ] = 131072
    scaling_factor: Annotated[
        float | None,
        Ge(1),
        Le(1e6),
        Parameter(
            help="s in the factor on cos and sin; left out means max_position_embeddings / L.",
            symbol="s",
            slider=(1, 64),
            scale="log",
        ),
    ] = None
    magnitude_policy: Annotated[
        Literal["su", "yarn"],
        Parameter(help="Factor on cos and sin: √(1 + ln s / ln L), or YaRN's 0.1·ln s + 1."),
    ] = "su"
    attention_factor: AttentionFactor = None
    short_mscale: _Mscale = None
    long_mscale: _Mscale = None
    switch: Annotated[
        Literal["length", "capacity", "always_long"],
        Parameter(
            help="What decides between the lists: the length of the call (transformers), the "
            "capacity max_position_embeddings once (vLLM, llama.cpp), or nothing (MLX)."
        ),
    ] = "length"

    def suited(self, length: int, longest: int) -> dict[str, Any]:
        return {**super().suited(length, longest), "scaling_factor": longest / length}

    @classmethod
    def starting_values(cls, **known: Any) -> dict[str, Any]:
        """Lists for another number of pairs than the defaults have, and a window for the factor.

        Lists are searched for each model, so there are none to take over: the short one starts at
        1, the long one at the NTK-aware divisors s^(2i/(d-2)), one of the three rules with which
        the published search starts.
        """
        values: dict[str, Any] = {}
        share = known.get("partial_rotary_factor", 1.0)
        dim = int(known.get("head_dim", 96) * share)
        factor = known.get("scaling_factor") or 1.0
        if "original_max_position_embeddings" in known:
            values["max_position_embeddings"] = round(
                known["original_max_position_embeddings"] * factor
            )
        if dim // 2 != len(PHI3_LONG_FACTOR):
            pairs = range(dim // 2)
            values["short_factor"] = (1.0,) * len(pairs)
            values["long_factor"] = tuple(
                round(float(factor ** (2 * i / max(1, dim - 2))), 6) for i in pairs
            )
        return values

    def check_rules(self) -> None:
        super().check_rules()
        for name in ("short_factor", "long_factor"):
            count = len(getattr(self, name))
            if count != self.pairs:
                raise ParameterError(
                    f"{self.title}: {name} must have one number for each of the {self.pairs} "
                    f"pairs of head_dim {self.head_dim} with partial_rotary_factor "
                    f"{self.partial_rotary_factor:g}; got {count} numbers."
                )
        for name in ("short_mscale", "long_mscale"):
            value = getattr(self, name)
            if value is not None and self.attention_factor is not None:
                raise ParameterError(
                    f"{self.title}: {name} must be left out where attention_factor is given; got "
                    f"{name} {value:g} and attention_factor {self.attention_factor:g}."
                )
        window = self.original_max_position_embeddings
        derives = self.magnitude_policy == "su" and self.attention_factor is None
        if derives and window < 2 and self.factor_at(window) > 1:
            raise ParameterError(
                f"{self.title}: original_max_position_embeddings must be at least 2 where "
                "magnitude_policy is su, because it is divided by ln L; got "
                f"original_max_position_embeddings {window}."
            )

    def code(self) -> str:
        """The snippet, with its lists to ten digits and over as many lines as they take."""
        text = super().code()
        for factors in (self.short_factor, self.long_factor):
            text = text.replace(repr(factors), _wrapped(factors))
        return text

    def factor_at(self, length: int) -> float:
        if self.scaling_factor is not None:
            return self.scaling_factor
        return self.max_position_embeddings / self.original_max_position_embeddings

    def is_long_at(self, length: int) -> bool:
        """Whether the long list applies at this length."""
        window = self.original_max_position_embeddings
        match self.switch:
            case "length":
                return length > window
            case "capacity":
                return self.max_position_embeddings > window
            case "always_long":
                return True

    def frequencies(self, length: int, *, xp: Any = np, device: Any = None) -> Array:
        factors = self.long_factor if self.is_long_at(length) else self.short_factor
        divisor = xp.asarray(factors, dtype=xp.float64, device=device)
        return self.trained_frequencies(xp=xp, device=device) / divisor

    def magnitude(self, length: int) -> float:
        if self.attention_factor is not None:
            return self.attention_factor
        own = self.long_mscale if self.is_long_at(length) else self.short_mscale
        if own is not None:
            return own
        factor = self.factor_at(length)
        if factor <= 1:
            return 1.0
        if self.magnitude_policy == "yarn":
            return yarn_magnitude(factor)
        return math.sqrt(1 + math.log(factor) / math.log(self.original_max_position_embeddings))


def _wrapped(numbers: tuple[float, ...]) -> str:
    """A list as code in lines of at most 100 characters."""
    shown = ", ".join(f"{number:.10g}" for number in numbers)
    return (
        "[" + textwrap.fill(shown, 98, initial_indent=" " * 9, subsequent_indent=" ").strip() + "]"
    )
