"""The four terms of Transformer-XL, which XLNet and the Conformer share."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import numpy as np
from array_api_compat import array_namespace

from posviz.encodings.absolute import WaveBase, WaveLayoutField
from posviz.encodings.learned_parts import NumpyParts
from posviz.encodings.relative import RelativeEncoding, gaps
from posviz.encodings.sinusoids import wave_frequencies, waves
from posviz.parameters import Parameter, ParameterError
from posviz.results import Array, device_of, distances_of, frozen

START = 0.02
"""Deviation of the normal numbers that the authors' code starts from."""
Term = Annotated[bool, Parameter(help="Whether this term of the logit is taken in.")]
FOUR_TERMS_SNIPPET = """
import numpy as np
positions, H, D = np.arange(16.0), $heads, $head_dim
$made
rng, d, by = np.random.default_rng($seed), H * D, -1 if $layout == "cos_first" else 1
w, u, v = (rng.normal(0, 0.02, size) for size in ((d, d), (H, 1, D), (H, 1, D)))
x = np.arange(-15.0, 16)[:, None] * $base ** (-np.arange(0, d, 2) / d)
pair = np.stack((np.sin(x), np.cos(x))[::by], 1 if $layout == "halves" else -1)
R = (pair.reshape(31, -1) @ w.T).reshape(31, H, D).transpose(1, 2, 0)
gap = np.tile((positions[:, None] - positions[None, :]).astype(int) + 15, (H, 1, 1))
row = lambda rows: np.take_along_axis(rows @ R, gap, axis=-1)
a = $content_content * (q @ k.swapaxes(1, 2)) + $content_position * row(q)
b = $u_content * (u @ k.swapaxes(1, 2)) + $v_position * row(np.tile(v, (1, 16, 1)))
logits = (a + b) / np.sqrt(D)
"""


class FourTerms(RelativeEncoding):
    """q·k + q·W R + u·k + v·W R, each of which can be left out.

    ``r`` is (heads·head_dim, heads·head_dim) and projects the sinusoid of a distance; ``u`` and
    ``v`` are (heads, head_dim).
    """

    base: WaveBase = 10000.0
    layout: WaveLayoutField = "halves"
    content_content: Term = True
    content_position: Term = True
    u_content: Term = True
    v_position: Term = True

    is_causal_only: ClassVar[bool] = False

    def check_rules(self) -> None:
        super().check_rules()
        if self.heads * self.head_dim % 2:
            raise ParameterError(
                f"{self.title}: heads times head_dim must be even, the size of the sinusoids; got "
                f"heads {self.heads} and head_dim {self.head_dim}."
            )
        if not self.kept:
            raise ParameterError(
                f"{self.title}: one of content_content, content_position, u_content and "
                "v_position must be true; got none."
            )

    @property
    def kept(self) -> list[str]:
        """Names of the terms that are taken in."""
        names = ("content_content", "content_position", "u_content", "v_position")
        return [name for name in names if getattr(self, name)]

    def initial(self, rng: np.random.Generator) -> NumpyParts:
        size = self.heads * self.head_dim
        return {
            "r": rng.normal(0, START, (size, size)),
            "u": rng.normal(0, START, (self.heads, self.head_dim)),
            "v": rng.normal(0, START, (self.heads, self.head_dim)),
        }

    def projected(self, at: Array, weight: Array) -> tuple[Array, Array]:
        """W R of every distance, and which of them each pair has.

        Returns (heads, distances, head_dim) and whole numbers (queries, keys).
        """
        xp = array_namespace(at)
        distances = distances_of(at)
        size = self.heads * self.head_dim
        inv_freq = wave_frequencies(size, self.base, xp=xp, device=device_of(at))
        rows = xp.matmul(waves(distances, inv_freq, size, self.layout), xp.matrix_transpose(weight))
        heads = xp.reshape(rows, (-1, self.heads, self.head_dim))
        flat = xp.searchsorted(distances, xp.reshape(gaps(at), (-1,)))
        return xp.moveaxis(heads, 0, 1), xp.reshape(flat, (at.shape[0], at.shape[0]))

    def four(
        self, at: Array, queries: Array, keys: Array, parts: Mapping[str, Array]
    ) -> dict[str, Array]:
        """The terms that are kept, by the words that figures show: (heads, queries, keys) each."""
        xp = array_namespace(at)
        rows, index = self.projected(at, parts["r"])
        scale = 1 / math.sqrt(self.head_dim)
        wide = xp.broadcast_to(index[None, ...], (self.heads, *index.shape))

        def by_distance(vectors: Array) -> Array:
            met = xp.matmul(vectors, xp.matrix_transpose(rows))
            met = xp.broadcast_to(met, (self.heads, at.shape[0], rows.shape[1]))
            return xp.take_along_axis(met, wide, axis=-1) * scale

        def by_key(vectors: Array) -> Array:
            met = xp.matmul(vectors, xp.matrix_transpose(keys)) * scale
            return met + xp.zeros((1, at.shape[0], 1), dtype=at.dtype, device=device_of(at))

        u, v = parts["u"][:, None, :], parts["v"][:, None, :]
        made: dict[str, Any] = {
            "content_content": lambda: self.content_logits(queries, keys),
            "content_position": lambda: by_distance(queries),
            "u_content": lambda: by_key(u),
            "v_position": lambda: by_distance(v),
        }
        words = {
            "content_content": "q · k",
            "content_position": "q · W R",
            "u_content": "u · k",
            "v_position": "v · W R",
        }
        return {words[name]: frozen(made[name]()) for name in self.kept}
