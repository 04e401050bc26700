"""NTK-by-parts: each pair kept, divided or blended by how often it turns in the trained window."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from posviz.encodings.base import Source
from posviz.encodings.extension import BetaRampExtension, FactorExtension, ntk_base
from posviz.encodings.ramps import kept_by_pair_index, ramp_bounds
from posviz.encodings.rotary import SNIPPET
from posviz.parameters import Parameter
from posviz.results import Array

_INNER_TURNS = (0.75, 1.25)
"""beta_1 and beta_0 of the 2023 repository, fixed there: "found experimentally for LLaMA"."""


class NtkByParts(BetaRampExtension, FactorExtension):
    """f' = γ·f + (1-γ)·f/s with γ = clip((r - α)/(β - α), 0, 1), r the turns within L.

    The rope type llama3 with its low and high factors as α and β is the same map. The repository
    that first carried the name blends three ladders instead: linear and NTK-aware around one turn,
    then that with the trained one between β and α, both ramps in the pair index.
    """

    title: ClassVar[str] = "NTK-by-parts"
    year: ClassVar[int] = 2023
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="YaRN: Efficient Context Window Extension of Large Language Models",
            authors="Peng et al.",
            year=2023,
            arxiv="2309.00071",
            place="section 3.2, equations 17 to 19",
            code="github.com/jquesnelle/yarn 995db5b LlamaPartNTKScaledRotaryEmbedding",
        ),
    )
    formula: ClassVar[str] = (
        r"f'_i = \gamma_i f_i + (1 - \gamma_i)\frac{f_i}{s},\quad "
        r"\gamma_i = \mathrm{clip}\left(\frac{r_i - \alpha}{\beta - \alpha}, 0, 1\right),\quad "
        r"r_i = \frac{L f_i}{2\pi}"
    )
    shows: ClassVar[str] = (
        "Three bands over the pairs: kept, blended, divided by s; the blend follows how often a "
        "pair turns, not its index."
    )
    limits: ClassVar[str] = (
        "The temperature that YaRN adds is missing here, and matters in practice."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that NTK-by-parts mixes linear and NTK-aware scaling. The 2023 "
        "repository does; the map of the YaRN paper mixes trained and divided frequencies "
        "only, and is what the name means since.",
        "You may have read that a β of 32 suits every model. It counts turns in the trained "
        "window: with 64 tokens no pair turns 32 times, and none is kept.",
    )
    snippet: ClassVar[str] = (
        SNIPPET
        + """b, L, s = $base, $original_max_position_embeddings, $scaling_factor
def ramp(fast, slow):
    low, high = (d * np.log(L / (2 * np.pi * n)) / (2 * np.log(b)) for n in (fast, slow))
    low, high = max(np.floor(low), 0), min(np.ceil(high), d - 1)
    return 1 - np.clip((np.arange(d // 2) - low) / (high - low or 0.001), 0, 1)
if $variant == "paper":
    kept, divided = (L * f / 2 / np.pi - $beta_slow) / ($beta_fast - $beta_slow), f / s
else:
    kept, inner, b2 = ramp($beta_fast, $beta_slow), ramp(1.25, 0.75), b * s ** (d / (d - 2))
    divided = inner * b2 ** (-np.arange(0, d, 2) / d) + (1 - inner) * f / s
inv_freq = divided + np.clip(kept, 0, 1) * (f - divided)
"""
    )
    snippet_gives: ClassVar[str] = "inv_freq"
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"variant": "paper", "beta_fast": 32.0, "beta_slow": 1.0},
        "2023 repository": {"variant": "three_way", "beta_fast": 16.0, "beta_slow": 2.0},
    }

    variant: Annotated[
        Literal["paper", "three_way"],
        Parameter(
            help="paper: kept and divided, ramp in turns; three_way: the 2023 repository's blend "
            "of the trained, the NTK-aware and the linear ladder (its betas are 16 and 2)."
        ),
    ] = "paper"

    def kept(self, *, xp: Any = np, device: Any = None) -> Array:
        if self.variant == "paper":
            return super().kept(xp=xp, device=device)
        return self._kept_by_index(self.beta_slow, self.beta_fast, xp=xp, device=device)

    def blend(self, factor: float, *, xp: Any, device: Any) -> Array:
        if self.variant == "paper":
            return super().blend(factor, xp=xp, device=device)
        trained = self.trained_frequencies(xp=xp, device=device)
        tilted = self.ladder(ntk_base(self.base, factor, self.rotary_dim), xp=xp, device=device)
        inner = self._kept_by_index(*_INNER_TURNS, xp=xp, device=device)
        divided = inner * tilted + (1 - inner) * (trained / factor)
        kept = self.kept(xp=xp, device=device)
        return kept * trained + (1 - kept) * divided

    def _kept_by_index(self, slow: float, fast: float, *, xp: Any, device: Any) -> Array:
        low, high = ramp_bounds(
            self.rotary_dim,
            self.base,
            self.original_max_position_embeddings,
            slow,
            fast,
            rounded=True,
        )
        return kept_by_pair_index(self.pairs, low, high, xp=xp, device=device)
