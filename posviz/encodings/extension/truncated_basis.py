"""Giraffe's truncated basis: slow pairs share one low frequency, the slowest stand still."""

from __future__ import annotations

import math
from typing import Annotated, Any, ClassVar

import numpy as np
from annotated_types import Gt, Le
from array_api_compat import array_namespace

from posviz.encodings.base import Source
from posviz.encodings.extension import Extension
from posviz.encodings.ramps import turns
from posviz.encodings.rotary import SNIPPET
from posviz.parameters import Parameter, ParameterError
from posviz.results import Array


class TruncatedBasis(Extension):
    """f' = f where a pair turns at least k times in L; ρ below that; 0 at or below a turns.

    The thresholds are given in turns, so that they follow the window: the published code has k = 1,
    a = 1/8 and ρ = 2π/(16 L).
    """

    title: ClassVar[str] = "Truncated basis"
    year: ClassVar[int] = 2023
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Giraffe: Adventures in Expanding Context Lengths in LLMs",
            authors="Pal et al.",
            year=2023,
            arxiv="2308.10882",
            code="github.com/abacusai/Long-Context c2a90d1 ScaledLlamaRotaryEmbedding, truncate",
        ),
    )
    formula: ClassVar[str] = (
        r"f'_i = f_i \text{ if } r_i \ge k,\quad \frac{2\pi\rho}{L} \text{ if } a < r_i < k,"
        r"\quad 0 \text{ if } r_i \le a,\quad r_i = \frac{L f_i}{2\pi}"
    )
    shows: ClassVar[str] = (
        "Every pair that finishes a turn is untouched; the others share one slow frequency or "
        "carry no position at all."
    )
    limits: ClassVar[str] = (
        "The paper fine-tunes with this basis; applied to a trained model as it is, it breaks what "
        "the slow pairs had learned."
    )
    snippet: ClassVar[str] = (
        SNIPPET
        + """L = $original_max_position_embeddings
turns = L * f / (2 * np.pi)
slow = np.where(turns > $frozen_turns, 2 * np.pi * $fixed_turns / L, 0.0)
inv_freq = np.where(turns >= $kept_turns, f, slow)
"""
    )
    snippet_gives: ClassVar[str] = "inv_freq"

    kept_turns: Annotated[
        float,
        Gt(0),
        Le(1e6),
        Parameter(
            help="Pairs that turn at least this often in the trained window are kept.",
            symbol="k",
            unit="turns",
            slider=(0.25, 8),
            scale="log",
        ),
    ] = 1.0
    frozen_turns: Annotated[
        float,
        Gt(0),
        Le(1e6),
        Parameter(
            help="Pairs that turn at most this often in the trained window do not rotate.",
            symbol="a",
            unit="turns",
            slider=(0.01, 1),
            scale="log",
        ),
    ] = 0.125
    fixed_turns: Annotated[
        float,
        Gt(0),
        Le(1e6),
        Parameter(
            help="How often the pairs between the two thresholds turn in the trained window.",
            symbol=r"\rho",
            unit="turns",
            slider=(0.01, 1),
            scale="log",
        ),
    ] = 0.0625

    def check_rules(self) -> None:
        super().check_rules()
        if self.frozen_turns > self.kept_turns:
            raise ParameterError(
                f"{self.title}: frozen_turns must be at most kept_turns; got "
                f"frozen_turns {self.frozen_turns:g} and kept_turns {self.kept_turns:g}."
            )

    def frequencies(self, length: int, *, xp: Any = np, device: Any = None) -> Array:
        trained = self.trained_frequencies(xp=xp, device=device)
        xp = array_namespace(trained)
        window = self.original_max_position_embeddings
        done = turns(trained, window)
        fixed = xp.full_like(trained, 2 * math.pi * self.fixed_turns / window)
        slow = xp.where(done > self.frozen_turns, fixed, xp.zeros_like(trained))
        return xp.where(done >= self.kept_turns, trained, slow)
