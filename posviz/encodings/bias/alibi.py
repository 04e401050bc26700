"""ALiBi: a straight line per head."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt, Le
from array_api_compat import array_namespace

from posviz.encodings.base import Source
from posviz.encodings.bias import BiasEncoding, per_head
from posviz.encodings.slopes import alibi_slopes
from posviz.parameters import Parameter, ParameterError
from posviz.results import Array, AttentionBias, device_of, frozen


class Alibi(BiasEncoding):
    """Minus slope times distance; the slopes form a geometric row over the heads."""

    title: ClassVar[str] = "ALiBi"
    year: ClassVar[int] = 2021
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Train Short, Test Long: Attention with Linear Biases Enables Input Length "
            "Extrapolation",
            authors="Press, Smith, Lewis",
            year=2021,
            arxiv="2108.12409",
            place="section 3",
            code="transformers 5.24.0 (Bloom, MPT, Falcon); x-transformers 2.31.10",
        ),
    )
    formula: ClassVar[str] = (
        r"B_h(\delta) = -m_h\, \delta,\quad m_h = 2^{-Mh/H} \text{ for } H \text{ a power of two}"
    )
    shows: ClassVar[str] = (
        "A fan of lines: steep heads see a dozen tokens, flat heads a thousand. The weights of a "
        "head at equal content stop changing once the context is longer than its reach."
    )
    limits: ClassVar[str] = (
        "The bias alone, without q·k: a strong enough content can outweigh any slope."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that the slopes are 1/2, 1/4, 1/8, …: that holds for 8 heads only. For "
        "16 heads they are 0.707, 0.5, 0.354, …, and a number of heads that is no power of two "
        "takes slopes from two of these rows.",
        "You may have read that the bias falls with |δ| on both sides. The paper's attention is "
        "causal, so keys after the query are masked; the symmetric form is what other libraries "
        "made of it for encoders.",
    )
    used_in: ClassVar[tuple[str, ...]] = ("BLOOM", "MPT", "Falcon-RW")
    snippet: ClassVar[str] = """
import numpy as np
positions = np.arange(16.0)
H, M, form, scale = $heads, $largest_exponent, $form, $slope_scale
n = $biased_heads or H
lower = 2 ** int(np.log2(n))
steps = np.arange(1, lower + 1) / lower
steps = np.concatenate((steps, np.arange(1, 2 * (n - lower), 2) / (2 * lower)))
slopes = np.pad(scale * 2.0 ** (-M * steps), (0, H - n))
distance = positions[:, None] - positions[None, :]
if form == "symmetric":
    distance = np.abs(distance)
if form == "key_only":
    distance = np.broadcast_to(-positions, distance.shape)
matrix = -slopes[:, None, None] * distance
"""
    snippet_gives: ClassVar[str] = "matrix"

    largest_exponent: Annotated[
        float,
        Gt(0),
        Le(64),
        Parameter(
            help="The last head of a power of two has the slope 2 to minus this (alibi_bias_max).",
            symbol="M",
            slider=(1, 16),
            step=1,
        ),
    ] = 8.0
    form: Annotated[
        Literal["causal", "symmetric", "key_only"],
        Parameter(
            help="causal: keys after the query are masked; symmetric: minus slope times |δ|, both "
            "ways; key_only: slope times the key's position, the same up to a shift per query, "
            "which the softmax drops (Bloom)."
        ),
    ] = "causal"
    slope_scale: Annotated[
        float,
        Gt(0),
        Le(1000),
        Parameter(
            help="Factor on all slopes: BiPE uses 96; Falcon divides the bias by √head_dim.",
            slider=(0.05, 100),
            scale="log",
        ),
    ] = 1.0
    biased_heads: Annotated[
        int | None,
        Ge(1),
        Le(512),
        Parameter(
            help="How many heads get a slope, as if there were only these; the others have no "
            "bias. Left out: all heads (x-transformers, NeMo).",
            slider=(1, 32),
            step=1,
        ),
    ] = None
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper, MPT": {"form": "causal", "slope_scale": 1.0},
        "Bloom": {"form": "key_only", "slope_scale": 1.0},
        "Falcon (head_dim 64)": {"form": "key_only", "slope_scale": 0.125},
        "BiPE (between segments)": {"form": "key_only", "slope_scale": 96.0},
    }

    def check_rules(self) -> None:
        super().check_rules()
        if self.biased_heads is not None and self.biased_heads > self.heads:
            raise ParameterError(
                f"{self.title}: biased_heads must be at most heads, which is {self.heads}; "
                f"got {self.biased_heads}."
            )

    @property
    def is_toeplitz(self) -> bool:
        return self.form != "key_only"

    @property
    def is_causal_only(self) -> bool:
        return self.form != "symmetric"

    def slopes(self, like: Array) -> Array:
        """(heads,) of the kind and type of ``like``."""
        sloped = self.biased_heads or self.heads
        values = self.slope_scale * alibi_slopes(sloped, self.largest_exponent)
        values = np.pad(values, (0, self.heads - sloped))
        return array_namespace(like).asarray(values, dtype=like.dtype, device=device_of(like))

    def bias(self, distance: Array, parts: Mapping[str, Array]) -> Array:
        return -per_head(self.slopes(distance), distance) * self.counted(distance)

    def counted(self, distance: Array) -> Array:
        """What a slope is multiplied with: δ, or |δ| in the symmetric form."""
        return array_namespace(distance).abs(distance) if self.form == "symmetric" else distance

    def head_bias(self, parts: Mapping[str, Array]) -> Callable[[Array, int], Array] | None:
        if not self.is_toeplitz:
            return None
        slopes = self.slopes(np.empty(0)).tolist()
        return lambda distance, head: -slopes[head] * self.counted(distance)

    def matrix(self, query: Array, key: Array, parts: Mapping[str, Array]) -> Array:
        # One row for all queries, and no copy of it for each.
        row = self.bias(-key, parts)
        shape = (self.heads, query.shape[0], key.shape[1])
        return array_namespace(query).broadcast_to(row, shape)

    def facts(self, result: AttentionBias, parts: Mapping[str, Array]) -> Mapping[str, Any]:
        return {"slopes": frozen(self.slopes(result.positions))}
