"""Encodings whose logits depend on queries and keys: given, seeded, typed, or of a sentence."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le, MaxLen
from array_api_compat import array_namespace

from posviz.encodings.learned_parts import LearnedParts
from posviz.parameters import AcceptsList, Parameter, ParameterError
from posviz.results import Array, AttentionTerms, device_of, frozen

Content = Literal["seeded", "sentence", "typed"]
Numbers = tuple[Annotated[float, Ge(-100), Le(100)], ...]
_STRENGTH = 4.0
"""q·k/√D between any query and a separator of the sentence; minus that for any other word."""


class ContentEncoding(LearnedParts):
    """Base of encodings that need queries and keys; a subclass gives :meth:`terms`.

    Without given ones, :meth:`encode` makes some: ``seeded`` draws q and k from a normal
    distribution; ``sentence`` gives equal words equal vectors, with every query drawn to
    punctuation marks; ``typed`` makes q·k/√D of query m and key n the product of two typed numbers.
    """

    most_positions: ClassVar[int] = 512
    longest_read_off: ClassVar[int] = 256

    heads: Annotated[
        int,
        Ge(1),
        Le(64),
        Parameter(help="Number of attention heads.", symbol="H", slider=(1, 16), step=1),
    ] = 4
    head_dim: Annotated[
        int,
        Ge(1),
        Le(512),
        Parameter(
            help="Size of one attention head.",
            symbol="D",
            unit="dimensions",
            slider=(4, 128),
            step=4,
        ),
    ] = 64
    content: Annotated[
        Content,
        Parameter(
            help="Where the queries and keys come from: drawn with the seed, words of a sentence, "
            "or typed numbers."
        ),
    ] = "seeded"
    sentence: Annotated[
        str,
        MaxLen(400),
        Parameter(
            help="Words and punctuation marks, repeated as far as the positions go; equal words "
            "have equal vectors, and every query is drawn to the punctuation marks."
        ),
    ] = "the cat sat . the dog ran off . the end ."
    typed_queries: Annotated[
        Numbers,
        AcceptsList,
        Parameter(
            help="One number per query, repeated as far as the positions go: q·k/√D is the "
            "product of the two numbers."
        ),
    ] = (1.0, 2.0)
    typed_keys: Annotated[
        Numbers,
        AcceptsList,
        Parameter(help="One number per key, repeated as far as the positions go."),
    ] = (1.0, -1.0, 0.0)

    def matrix_numbers(self, count: int) -> int:
        return self.heads * count**2

    def terms(
        self, at: Array, queries: Array, keys: Array, parts: Mapping[str, Array]
    ) -> dict[str, Any]:
        """Fields of the result: ``terms`` and whatever else there is to show.

        ``queries`` and ``keys`` are (heads, positions, head_dim), of the kind of ``at``.
        """
        raise NotImplementedError

    def encode(
        self,
        positions: Any,
        *,
        queries: Any = None,
        keys: Any = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> AttentionTerms:
        """The terms of the logits between all positions.

        Parameters
        ----------
        positions : (positions,) tokens; NumPy, torch, or a list of numbers.
        queries, keys : (heads, positions, head_dim), after their projections; by default what
            ``content`` says.
        parameters : learned numbers by name; by default the initialisation drawn with ``seed``.

        Returns
        -------
        AttentionTerms

        Raises
        ------
        ParameterError : positions that are not finite numbers in one row; queries, keys or
            parameters of other shapes than the spec has; only one of queries and keys.
        """
        at = self.position_row(positions)
        xp = array_namespace(at)
        if (queries is None) != (keys is None):
            raise ParameterError(f"{self.title}: queries and keys must be given together.")
        labels: tuple[str, ...] = ()
        if queries is None:
            labels, made = self.made(at.shape[0])
            queries, keys = (xp.asarray(one, dtype=at.dtype, device=device_of(at)) for one in made)
        expected = (self.heads, at.shape[0], self.head_dim)
        for name, vectors in (("queries", queries), ("keys", keys)):
            if tuple(vectors.shape) != expected:
                raise ParameterError(
                    f"{self.title}: {name} must have the axes ({expected[0]} heads, {expected[1]} "
                    f"positions, {expected[2]} head dimensions); got {tuple(vectors.shape)}."
                )
        found = self.terms(at, queries, keys, self.parts(parameters, at))
        return AttentionTerms(
            positions=frozen(xp.asarray(at, copy=True)), **{"labels": labels, **found}
        )

    def check_rules(self) -> None:
        super().check_rules()
        chosen = {
            "sentence": bool(self.words()),
            "typed": bool(self.typed_queries and self.typed_keys),
        }
        if not chosen.get(self.content, True):
            lacking = "sentence" if self.content == "sentence" else "typed_queries and typed_keys"
            raise ParameterError(
                f"{self.title}: {lacking} must not be empty while content is {self.content}."
            )

    def code(self) -> str:
        """The snippet with this spec's values, ``$made`` being the lines that make q and k.

        They are arrays (H, 16, D); the words of a sentence need posviz for their numbers.
        """
        made = {
            "seeded": "q, k = np.moveaxis(np.random.default_rng([$seed, 1])"
            ".standard_normal((16, 2, H, D)), 0, 2)",
            "typed": "typed = [np.resize(row, 16) for row in ($typed_queries, $typed_keys)]\n"
            "q, k = (np.ones((H, 1, D)) * row[:, None] * D**-0.25 for row in typed)",
            "sentence": "from posviz import get\n"
            'words = dict(content="sentence", sentence=$sentence)\n'
            f'q, k = get("{self.id}")(heads=H, head_dim=D, seed=$seed, **words).made(16)[1]',
        }[self.content]
        return self.filled(self.snippet.replace("$made", made))

    def words(self) -> list[str]:
        """The words and punctuation marks of the sentence."""
        return re.findall(r"\w+|[^\w\s]", self.sentence)

    def made(self, count: int) -> tuple[tuple[str, ...], tuple[np.ndarray, np.ndarray]]:
        """Labels, and queries and keys as (heads, positions, head_dim)."""
        if self.content == "sentence":
            return self._of_sentence(count)
        if self.content == "typed":
            unit = np.full(self.head_dim, self.head_dim**-0.25)
            typed = [np.resize(row, count) for row in (self.typed_queries, self.typed_keys)]
            wide = [np.ones(self._shape(count)) * row[:, None] * unit for row in typed]
            return (), (wide[0], wide[1])
        # Position by position, so that a longer sequence starts with the same vectors.
        rng = np.random.default_rng([self.seed, 1])
        drawn = rng.standard_normal((count, 2, self.heads, self.head_dim))
        queries, keys = np.moveaxis(drawn, 0, 2)
        return (), (queries, keys)

    def _shape(self, count: int) -> tuple[int, int, int]:
        return self.heads, count, self.head_dim

    def _of_sentence(self, count: int) -> tuple[tuple[str, ...], tuple[np.ndarray, np.ndarray]]:
        words = self.words()
        labels = tuple(words[place % len(words)] for place in range(count))
        drawn = {word: self._word(word) for word in dict.fromkeys(labels)}
        both = np.stack([drawn[word] for word in labels], axis=2)
        return labels, (both[0], both[1])

    def _word(self, word: str) -> np.ndarray:
        """Query and key of a word: (2, heads, head_dim)."""
        number = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
        rng = np.random.default_rng([self.seed, 2, number])
        common = np.full(self.head_dim, self.head_dim**-0.25) * math.sqrt(_STRENGTH)
        side = 1.0 if re.fullmatch(r"\W", word) else -1.0
        own = rng.standard_normal((2, self.heads, self.head_dim)) / math.sqrt(self.head_dim)
        # Without their share along the common direction, the own parts leave q·k/√D there exact.
        own -= own.mean(axis=-1, keepdims=True)
        return np.stack((own[0] + common, own[1] + side * common))
