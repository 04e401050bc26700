"""DAPE: a bias that adapts to the logits it is added to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.base import Source
from posviz.encodings.bias_kernels import LEAST, at_least
from posviz.encodings.content import ContentBiasEncoding
from posviz.encodings.fire_rule import (
    heads_first,
    linear_start,
    named_layers,
    normalised_distance,
    perceptron,
)
from posviz.encodings.learned_parts import NumpyParts
from posviz.encodings.slopes import alibi_slopes
from posviz.parameters import Parameter
from posviz.results import Array, device_of, frozen

FIRE_EPS = 1e-6
_BIAS_LINES = {
    "alibi": """low = 2 ** int(np.log2(H))
steps = np.append(np.arange(1, low + 1) / low, np.arange(1, 2 * (H - low), 2) / (2 * low))
B = -(2.0 ** (-8 * steps))[:, None, None] * distance""",
    "kerple_log": """r1, r2 = rng.uniform(0, 2, (H, 1, 1)), rng.uniform(0, 1, (H, 1, 1))
B = -np.maximum(r1, 0.01) * np.log(1 + np.maximum(r2, 0.01) * distance)""",
    "fire": """v1, c1, v2, c2 = at(1, W, 1), at(1, W), at(W, H, W), at(W, H)
psi = lambda x: np.log(0.1 * x + 1)
given = psi(distance) / (psi(np.maximum(positions, 512.0))[:, None] + 1e-6)
inner = given[..., None] @ v1.T + c1
B = np.moveaxis(np.where(inner > 0, inner, 0.01 * inner) @ v2.T + c2, -1, 0)""",
    "none": "B = np.zeros((H, 1, 1)) * distance",
}


class Dape(ContentBiasEncoding):
    """The logits and a static bias of all heads go through a small network, which adds its own.

    ``mlp2`` are its two layers; ``r1`` and ``r2`` belong to KERPLE, ``mlp``, ``c`` and
    ``L_multiplier`` to FIRE, where one of these is the static bias.
    """

    title: ClassVar[str] = "DAPE (CAPE, 2024)"
    year: ClassVar[int] = 2024
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="DAPE: Data-Adaptive Positional Encoding for Length Extrapolation",
            authors="Zheng et al.",
            year=2024,
            arxiv="2405.14722",
            place="section 3",
            code="chuanyang-Zheng/DAPE DAPE.py",
        ),
    )
    formula: ClassVar[str] = (
        r"A = S + B + f([S; B]),\quad S = \frac{q k^\top}{\sqrt{D}},\quad "
        r"f = W_2\, \mathrm{LeakyReLU}(W_1 x + b_1) + b_2"
    )
    shows: ClassVar[str] = (
        "Three maps on one scale: the content, the static bias, and what the network adds after "
        "seeing both in every head. The static bias has straight diagonals, the added part has not."
    )
    limits: ClassVar[str] = (
        "The network is an initialisation: how a trained one bends the bias cannot be seen here."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read of CAPE twice. This one (Zheng 2024, context-adaptive, later named "
        "DAPE) adapts a bias to the content; the CAPE of Likhomanenko 2021 shifts and stretches "
        "absolute positions at random while training.",
    )
    snippet: ClassVar[str] = """
import numpy as np
positions, H, D, W = np.arange(16.0), $heads, $head_dim, $mlp_width
$made
rng, at = np.random.default_rng($seed), lambda rows, *size: rows**-0.5 * rng.uniform(-1, 1, size)
w1, b1, w2, b2 = at(2 * H, W, 2 * H), at(2 * H, W), at(W, H, W), at(W, H)
S = q @ k.swapaxes(1, 2) / np.sqrt(D)
distance = np.maximum(positions[:, None] - positions[None, :], 0)
#bias
hidden = np.moveaxis(np.concatenate((S, B)), 0, -1) @ w1.T + b1
logits = S + B + np.moveaxis(np.where(hidden > 0, hidden, 0.01 * hidden) @ w2.T + b2, -1, 0)
"""
    snippet_gives: ClassVar[str] = "logits"

    base_bias: Annotated[
        Literal["alibi", "kerple_log", "fire", "none"],
        Parameter(help="The static bias B that is adapted; none leaves the content alone to see."),
    ] = "alibi"
    mlp_width: Annotated[
        int,
        Ge(1),
        Le(512),
        Parameter(help="Width of the hidden layer across the heads.", slider=(4, 64), step=4),
    ] = 32

    def code(self) -> str:
        """The snippet, with the lines of the chosen static bias in it."""
        return super().code().replace("#bias", _BIAS_LINES[self.base_bias])

    def initial(self, rng: np.random.Generator) -> NumpyParts:
        found = {
            **linear_start(rng, "mlp2.0", 2 * self.heads, self.mlp_width),
            **linear_start(rng, "mlp2.2", self.mlp_width, self.heads),
        }
        if self.base_bias == "kerple_log":
            found |= {"r1": rng.uniform(0, 2, self.heads), "r2": rng.uniform(0, 1, self.heads)}
        if self.base_bias == "fire":
            found |= {
                "c": np.asarray(0.1),
                "L_multiplier": np.asarray(1.0),
                "init_L": np.asarray(512.0),
                **linear_start(rng, "mlp.0", 1, self.mlp_width),
                **linear_start(rng, "mlp.2", self.mlp_width, self.heads),
            }
        return found

    def static_bias(self, at: Array, parts: Mapping[str, Array]) -> Array:
        """B with distance 0 for keys after the query: (heads, queries, keys)."""
        xp = array_namespace(at)
        gaps = at[:, None] - at[None, :]
        distance = xp.where(gaps > 0, gaps, xp.zeros_like(gaps))
        zeros = xp.zeros((self.heads, 1, 1), dtype=at.dtype, device=device_of(at))
        match self.base_bias:
            case "alibi":
                slopes = xp.asarray(alibi_slopes(self.heads), dtype=at.dtype, device=device_of(at))
                return -slopes[:, None, None] * distance
            case "kerple_log":
                r1, r2 = (at_least(parts[name], LEAST)[:, None, None] for name in ("r1", "r2"))
                return -r1 * xp.log(1 + r2 * distance)
            case "fire":
                given = normalised_distance(
                    distance,
                    at[:, None],
                    c=parts["c"],
                    threshold=xp.abs(parts["L_multiplier"] * parts["init_L"]),
                    eps=FIRE_EPS,
                )
                # The authors' file has a leaky ReLU inside this FIRE, a plain one in FIRE alone.
                layers = named_layers(parts, "mlp.0", "mlp.2")
                return heads_first(perceptron(given[..., None], layers, "leaky_relu"))
            case "none":
                return zeros * distance

    def terms(
        self, at: Array, queries: Array, keys: Array, parts: Mapping[str, Array]
    ) -> dict[str, Any]:
        xp = array_namespace(at)
        content = xp.matmul(queries, xp.matrix_transpose(keys)) / math.sqrt(self.head_dim)
        static = self.static_bias(at, parts)
        both = xp.moveaxis(xp.concat((content, static), axis=0), 0, -1)
        added = perceptron(both, named_layers(parts, "mlp2.0", "mlp2.2"), "leaky_relu")
        return {
            "terms": {
                "content": frozen(content),
                "static bias": frozen(static),
                "adaptation": frozen(heads_first(added)),
            },
            "is_causal_only": True,
        }
