"""xPos: a rotation whose pairs also fade with distance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.base import PLAIN, Source
from posviz.encodings.rotary import LayoutField, RotaryFamily
from posviz.parameters import Parameter, ParameterError
from posviz.results import Array, LogitRow, ScaledRotation, device_of, frozen


class Xpos(RotaryFamily):
    """RoPE, with pair i of q times ζ_i^((m-c)/B) and pair i of k times ζ_i^(-(n-c)/B).

    Their product carries ζ_i^((m-n)/B): below 1 for keys before the query, above 1 for keys after
    it, so that attention must be causal. The centre c cancels; it keeps the factors near 1.
    """

    title: ClassVar[str] = "xPos"
    year: ClassVar[int] = 2022
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="A Length-Extrapolatable Transformer",
            authors="Sun et al.",
            year=2022,
            arxiv="2212.10554",
            place="section 3",
            code="torchscale 0.3.0 XPOS; x-transformers 2.31.10 and rotary-embedding-torch 0.9.1 "
            "RotaryEmbedding(use_xpos=True)",
        ),
    )
    formula: ClassVar[str] = (
        r"z_{mn} = \sum_i \zeta_i^{(m-n)/B}\, \mathrm{Re}\left(q_i \bar{k}_i "
        r"e^{\mathrm{i}(m-n) f_i}\right),\quad \zeta_i = \frac{2i/D + \gamma}{1 + \gamma}"
    )
    shows: ClassVar[str] = (
        "The fast pairs fade first, within a thousand tokens, which takes the wobble out of the "
        "score of equal vectors; the slow pairs hardly fade."
    )
    limits: ClassVar[str] = (
        "Only for causal attention: for keys after the query the factor is above 1 and grows "
        "without bound. The factors on q and k alone leave the range of float32 some 36,000 tokens "
        "from the centre."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that ζ of the first pair is near 1. Counted from i = 0 it is "
        "γ/(1 + γ) = 0.286, the strongest decay of all; the last pair of 64 has 0.989.",
        "You may have read that a pair fades by ζ per token. The exponent is distance / 512: the "
        "fastest pair keeps 0.286 of its score over 512 tokens.",
        "You may have read that the libraries disagree. Their centres differ by one token for an "
        "odd length, which changes q and k but cancels in q·k.",
    )
    used_in: ClassVar[tuple[str, ...]] = ("LeX Transformer",)
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "torchscale (the authors')": {"scale_base": 512.0, "centre": "ceil"},
        "x-transformers, rotary-embedding-torch": {"scale_base": 512.0, "centre": "floor"},
        "NeMo": {"scale_base": 2048.0, "centre": "ceil"},
    }
    snippet: ClassVar[str] = """
import numpy as np
positions = np.arange(16.0)
D, n = $head_dim, len(positions)
f = $base ** (-np.arange(0, D, 2) / D)
zeta = (np.arange(0, D, 2) / D + $gamma) / (1 + $gamma)
centre = {"ceil": (n + 1) // 2, "floor": n // 2, "zero": 0}[$centre]
angles, power = positions[:, None] * f, (positions[:, None] - centre) / $scale_base
query_gain, key_gain = zeta**power, zeta**-power
cos = np.cos(angles)  # q takes (cos, sin) times query_gain, k takes them times key_gain
"""
    snippet_gives: ClassVar[str] = "query_gain"

    layout: LayoutField = "interleaved"
    gamma: Annotated[
        float,
        Ge(1e-6),
        Le(100),
        Parameter(
            help="How much of the fastest pair is kept: a large γ brings every ζ near 1.",
            symbol=r"\gamma",
            slider=(0.05, 4),
            step=0.05,
        ),
    ] = 0.4
    scale_base: Annotated[
        float,
        Ge(1),
        Le(1e6),
        Parameter(
            help="Tokens of distance over which a pair fades to its ζ.",
            symbol="B",
            unit="tokens",
            slider=(32, 4096),
            scale="log",
        ),
    ] = 512.0
    centre: Annotated[
        Literal["ceil", "floor", "zero"],
        Parameter(
            help="Where both factors are 1: the middle of the sequence rounded up (torchscale, "
            "NeMo) or down (x-transformers, rotary-embedding-torch), or position 0 (the paper)."
        ),
    ] = "ceil"

    def zeta(self, *, xp: Any, device: Any = None) -> Array:
        """(pairs,) what a pair keeps over B tokens, float64."""
        share = xp.arange(0, self.head_dim, 2, dtype=xp.float64, device=device) / self.head_dim
        return (share + self.gamma) / (1 + self.gamma)

    def encode(self, positions: Any, length: int | None = None) -> ScaledRotation:
        """Angles, and the factors of queries and keys.

        Parameters
        ----------
        positions : (positions,) tokens; NumPy, torch, or a list of numbers.
        length : tokens of the whole sequence, by default the last position + 1; sets the centre.

        Returns
        -------
        ScaledRotation; its curves hold Σ cos(δ f_i) with and without the decay, for the distance δ
        of each position from the smallest.

        Raises
        ------
        ParameterError : positions that are not finite numbers in one row or are so far from the
            centre that a factor leaves the range of their dtype, or a length below 1.
        """
        at = self.position_row(positions)
        tokens = self.context_length(at, length)
        centre = {"ceil": (tokens + 1) // 2, "floor": tokens // 2, "zero": 0}[self.centre]
        xp = array_namespace(at)
        device = device_of(at)
        ladder = self.ladder(self.base, xp=xp, device=device)
        zeta = xp.astype(self.zeta(xp=xp, device=device), at.dtype)
        self._check_reach(at, centre)
        power = (at - centre)[:, None] / self.scale_base
        distance = (at - (xp.min(at) if at.shape[0] else 0))[:, None]
        waves = xp.cos(distance * xp.astype(ladder, at.dtype))
        faded = zeta ** (distance / self.scale_base) * waves
        return ScaledRotation(
            **self.shared(at, ladder),
            query_gain=frozen(zeta**power),
            key_gain=frozen(zeta**-power),
            decay=frozen(zeta ** (1 / self.scale_base)),
            is_causal_only=True,
            curves={
                "Σ cos, faded (xPos)": frozen(xp.sum(faded, axis=1)),
                "Σ cos (RoPE)": frozen(xp.sum(waves, axis=1)),
            },
        )

    def _check_reach(self, at: Array, centre: int) -> None:
        xp = array_namespace(at)
        fastest = -math.log(float(self.zeta(xp=np)[0]))
        largest = math.log(float(xp.finfo(at.dtype).max))
        farthest = int(self.scale_base * largest / fastest)
        asked = float(xp.max(xp.abs(at - centre))) if at.shape[0] else 0.0
        if asked > farthest:
            name = str(at.dtype).rpartition(".")[2]
            raise ParameterError(
                f"{self.title}: positions must be within {farthest} tokens of the centre {centre}, "
                f"where its factors leave the range of {name}, with gamma {self.gamma:g} and "
                f"scale_base {self.scale_base:g}; got one {asked:g} tokens away."
            )

    def logit_row(self, length: int, *, like: Array = PLAIN) -> LogitRow:
        xp, device = array_namespace(like), device_of(like)
        kept = xp.log(self.zeta(xp=xp, device=device)) / self.scale_base
        ladder = self.ladder(self.base, xp=xp, device=device)
        return self.rotated_row(length, ladder, like, log_kept=frozen(xp.astype(kept, like.dtype)))
