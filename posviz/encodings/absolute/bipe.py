"""BiPE: one index inside a segment of the text, another that counts the segments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, MaxLen
from array_api_compat import array_namespace

from posviz.encodings.absolute import AbsoluteEncoding
from posviz.encodings.base import Source
from posviz.encodings.learned_parts import LearnedParts, NumpyParts
from posviz.encodings.learned_table import INITIAL_DEVIATION, rows_taken
from posviz.encodings.sinusoids import ModelDim, wave_frequencies, waves
from posviz.encodings.slopes import alibi_slopes
from posviz.encodings.token_index import token_index
from posviz.parameters import Parameter
from posviz.results import Array, PositionTable, device_of, frozen

_MOST_TOKENS = 1 << 21
_ENDS = (".", "\n")
"""Words that end a segment; they belong to the segment that they end."""


class Bipe(LearnedParts, AbsoluteEncoding):
    """The index inside the segment gets a vector; between segments a relative encoding acts.

    ``embeds.0.weight`` is (rows, model_dim), as in the released models; sinusoids learn nothing.
    """

    title: ClassVar[str] = "BiPE"
    year: ClassVar[int] = 2024
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Two Stones Hit One Bird: Bilevel Positional Encoding for Better Length "
            "Extrapolation",
            authors="He et al.",
            year=2024,
            arxiv="2401.16421",
            place="section 3",
            code="github.com/zhenyuhe00/BiPE at 3dddab3, get_bilevel_ids, _init_alibi_mul96",
        ),
    )
    formula: ClassVar[str] = (
        r"x_t \mapsto x_t + P[\mathrm{intra}(t)],\quad "
        r"z_{mn} = f(q_m, k_n, \mathrm{seg}(m) - \mathrm{seg}(n))"
    )
    shows: ClassVar[str] = (
        "Two indices per token: one starts anew with each sentence, the other counts sentences. "
        "A long text only brings more segments; the index inside one stays small."
    )
    limits: ClassVar[str] = (
        "The vectors show the index inside the segment alone; what RoPE or ALiBi does between "
        "segments is shown as distances and biases. Words stand for the tokens of a tokenizer."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that the segment index is added to the input as in BERT. It is not: it "
        "takes the place of the position in RoPE or ALiBi, inside attention.",
        "You may have read that BiPE-ALiBi uses ALiBi's slopes. In the authors' code they are 96 "
        "times as steep, since a step is now a whole segment.",
    )
    used_in: ClassVar[tuple[str, ...]] = ("BiPE_RoPE-151M", "BiPE_ALiBi-151M")
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "BiPE-RoPE": {"between": "rope"},
        "BiPE-ALiBi": {"between": "alibi"},
    }
    snippet: ClassVar[str] = """
import numpy as np
positions = np.arange(16.0)
L, d, at = $rows, $model_dim, positions.astype(int)
text = $text
words = text.replace(".", " . ").replace("\\n", " \\n ").split(" ")
words = [word for word in words if word] or [" "]
ends = np.resize([word in (".", "\\n") for word in words], at.max() + 1)
count = np.arange(len(ends))
starts = np.maximum.accumulate(np.where(np.roll(ends, 1), count, 0))
intra, segment = np.minimum(count - starts, L - 1)[at], (np.cumsum(ends) - ends)[at]
if $within == "learned":
    vectors = np.random.default_rng($seed).normal(0, 0.02, (L, d))[intra]
else:
    angles = intra[:, None] * 10000 ** (-np.arange(0, d, 2) / d)  # an even d
    vectors = np.stack((np.sin(angles), np.cos(angles)), axis=2).reshape(len(at), d)
"""
    snippet_gives: ClassVar[str] = "vectors"
    most_positions: ClassVar[int] = 512
    longest_read_off: ClassVar[int] = 256

    text: Annotated[
        str,
        MaxLen(400),
        Parameter(
            help="Words and punctuation marks, repeated as far as the positions go; a segment ends "
            "with each full stop and each new line."
        ),
    ] = "the cat sat . the dog ran off . the end ."
    rows: Annotated[
        int,
        Ge(1),
        Le(8192),
        Parameter(
            help="Indices inside a segment that have a row; later tokens share the last one.",
            unit="rows",
            slider=(2, 1024),
            step=1,
        ),
    ] = 1024
    model_dim: ModelDim = 768
    within: Annotated[
        Literal["learned", "sinusoidal"],
        Parameter(
            help="What the index inside the segment is turned into: a learned row, or waves."
        ),
    ] = "learned"
    between: Annotated[
        Literal["rope", "alibi"],
        Parameter(help="What acts on the distance between segments."),
    ] = "rope"
    heads: Annotated[
        int,
        Ge(1),
        Le(64),
        Parameter(help="Number of attention heads.", symbol="H", slider=(1, 32), step=1),
    ] = 12
    slope_scale: Annotated[
        float,
        Gt(0),
        Le(1e4),
        Parameter(
            help="Factor on ALiBi's slopes; the authors' code has 96.",
            slider=(1, 128),
            step=1,
        ),
    ] = 96.0

    def words(self) -> list[str]:
        """The words, full stops and new lines of the text; a text of blanks is one blank."""
        parted = self.text.replace(".", " . ").replace("\n", " \n ").split(" ")
        return [word for word in parted if word] or [" "]

    def slopes(self) -> np.ndarray:
        """(heads,) how much a segment adds to the bias of its keys."""
        return self.slope_scale * alibi_slopes(self.heads)

    def initial(self, rng: np.random.Generator) -> NumpyParts:
        """Normal with deviation 0.02, as the authors draw it; nothing for sinusoids."""
        if self.within == "sinusoidal":
            return {}
        return {"embeds.0.weight": rng.normal(0, INITIAL_DEVIATION, (self.rows, self.model_dim))}

    def caution(self) -> str:
        return super().caution() if self.within == "learned" else ""

    def both_levels(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Index inside the segment, not yet limited to the rows, and segment: (count,) each."""
        ends = np.resize([word in _ENDS for word in self.words()], count)
        tokens = np.arange(count)
        after_end = np.concatenate((np.zeros(1, dtype=bool), ends[:-1]))
        starts = np.maximum.accumulate(np.where(after_end, tokens, 0))
        return tokens - starts, np.cumsum(ends) - ends

    def encode(
        self, positions: Any, *, parameters: Mapping[str, Any] | None = None
    ) -> PositionTable:
        """The vectors of the indices inside the segments, and the distances between segments.

        Parameters
        ----------
        positions : (positions,) whole tokens of the repeated text, from 0.
        parameters : ``embeds.0.weight`` (rows, model_dim), where ``within`` is learned; by default
            the initialisation drawn with ``seed``.

        Returns
        -------
        PositionTable with vectors (positions, model_dim), both indices as strips, and maps of the
        segment distance and, for ALiBi, of the bias.

        Raises
        ------
        ParameterError : positions that are not whole tokens from 0, or a parameter of another name
            or shape.
        """
        at = self.position_row(positions)
        xp = array_namespace(at)
        why = "it is a token of a text"
        index = token_index(self.title, at, end=_MOST_TOKENS, why=why)
        count = int(xp.max(index)) + 1 if index.shape[0] else 1
        intra, segment = (
            xp.take(xp.asarray(one, dtype=xp.int64, device=device_of(at)), index, axis=0)
            for one in self.both_levels(count)
        )
        intra = xp.where(intra < self.rows, intra, xp.ones_like(intra) * (self.rows - 1))
        words = self.words()
        return PositionTable(
            positions=frozen(xp.asarray(at, copy=True)),
            vectors=frozen(self._vectors(at, intra, self.parts(parameters, at))),
            labels=tuple(words[int(one) % len(words)] for one in index),
            strips={"index inside the segment": frozen(intra), "segment": frozen(segment)},
            maps=self._maps(xp.astype(segment, at.dtype)),
        )

    def _vectors(self, at: Array, intra: Array, parts: Mapping[str, Array]) -> Array:
        xp = array_namespace(at)
        if self.within == "learned":
            return rows_taken(parts["embeds.0.weight"], intra)
        inv_freq = wave_frequencies(self.model_dim, 10000.0, xp=xp, device=device_of(at))
        return waves(xp.astype(intra, at.dtype), inv_freq, self.model_dim, "alternating")

    def _maps(self, segment: Array) -> dict[str, Array]:
        """Distance between segments (queries, keys); ALiBi's bias (heads, queries, keys)."""
        xp = array_namespace(segment)
        maps = {"distance between segments": frozen(segment[:, None] - segment[None, :])}
        if self.between == "alibi":
            slopes = xp.asarray(self.slopes(), dtype=segment.dtype, device=device_of(segment))
            # Of the key alone, as in the authors' code: the softmax over keys sees no difference.
            rows = slopes[:, None, None] * segment[None, None, :]
            shape = (self.heads, segment.shape[0], segment.shape[0])
            maps["bias between segments"] = frozen(xp.broadcast_to(rows, shape))
        return maps
