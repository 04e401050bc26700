"""Words as waves: a complex number per word, dimension and position."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le, MaxLen
from array_api_compat import array_namespace

from posviz.encodings.absolute import AbsoluteEncoding, WaveBase
from posviz.encodings.base import Source
from posviz.encodings.learned_parts import LearnedParts, NumpyParts
from posviz.parameters import Parameter, ParameterError
from posviz.results import PositionTable, device_of, frozen


class ComplexEmbedding(LearnedParts, AbsoluteEncoding):
    """Each word has an amplitude, a frequency and a phase for each dimension, all learned.

    The tables are (distinct words, complex_dim). The columns of the result are the real parts of
    all dimensions, then the imaginary parts.
    """

    title: ClassVar[str] = "Complex embedding"
    year: ClassVar[int] = 2019
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Encoding word order in complex embeddings",
            authors="Wang, Zhao, Lioma, Li, Zhang, Simonsen",
            year=2019,
            arxiv="1912.12333",
            code="github.com/FreedomIntelligence/complex-order f75864d (text classification, "
            "translation)",
        ),
    )
    formula: ClassVar[str] = (
        r"f(w, t)_k = r_{w,k}\, e^{\mathrm{i} (\omega_{w,k} t + \varphi_{w,k})}"
    )
    shows: ClassVar[str] = (
        "The product of a word vector and a rotation: the length of a dimension says which word it "
        "is, its angle where it stands. Each word turns at its own speed, a spiral over the "
        "positions."
    )
    limits: ClassVar[str] = (
        "A random start, in which the number of a word sets its speed or all words turn alike; the "
        "speeds that training finds, which say how much a word's place matters, are not shown."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that the phases are learned as well. The paper's formula has them, but "
        "its code for classification and for translation leaves them out: they are 0.",
    )
    snippet: ClassVar[str] = """
import numpy as np, re
positions = np.arange(16.0)
d, b, which, rng = $complex_dim, $base, $frequencies, np.random.default_rng($seed)
words = re.findall(r"\\w+|[^\\w\\s]", $sentence)
names, k = list(dict.fromkeys(words)), np.arange(d)
shape = len(names), d
amplitude = rng.uniform(-1, 1, shape)
frequency = np.outer(1 + np.arange(len(names)), b ** (-2 * k / d))
if which == "shared":
    frequency = np.broadcast_to(b ** (-2 * (k // 2) / d), shape)
phase = rng.uniform(0, 2 * np.pi, shape) if $draws_phases else np.zeros(shape)
row = [names.index(words[int(t) % len(words)]) for t in positions]
wave = amplitude[row] * np.exp(1j * (frequency[row] * positions[:, None] + phase[row]))
vectors = np.concatenate((wave.real, wave.imag), axis=1)
"""
    snippet_gives: ClassVar[str] = "vectors"

    complex_dim: Annotated[
        int,
        Ge(1),
        Le(4096),
        Parameter(
            help="Complex dimensions; each gives two columns, a real and an imaginary part.",
            symbol="d",
            unit="dimensions",
            slider=(4, 256),
            step=4,
        ),
    ] = 64
    base: WaveBase = 10000.0
    frequencies: Annotated[
        Literal["per_word", "shared"],
        Parameter(
            help="Where the frequencies start. per_word: the number of the word, from 1, times "
            "b^(-2k/d) (the classification code); shared: b^(-2⌊k/2⌋/d) for every word, the "
            "sinusoid's (the translation code)."
        ),
    ] = "per_word"
    draws_phases: Annotated[
        bool,
        Parameter(help="Whether phases are drawn from 0 to 2π; else all are 0, as in the code."),
    ] = False
    sentence: Annotated[
        str,
        MaxLen(400),
        Parameter(
            help="Words and punctuation marks, repeated as far as the positions go; equal words "
            "share a row of each table."
        ),
    ] = "the cat saw the other cat"

    def check_rules(self) -> None:
        super().check_rules()
        if not self.words():
            raise ParameterError(
                f"{self.title}: sentence must have a word that amplitudes and frequencies belong "
                f"to; got {self.sentence!r}."
            )

    def words(self) -> list[str]:
        """The words and punctuation marks of the sentence."""
        return re.findall(r"\w+|[^\w\s]", self.sentence)

    def initial(self, rng: np.random.Generator) -> NumpyParts:
        """Amplitudes uniform from -1 to 1, as the authors' classification code draws them."""
        shape = len(dict.fromkeys(self.words())), self.complex_dim
        amplitude = rng.uniform(-1, 1, shape)
        index = np.arange(self.complex_dim)
        if self.frequencies == "shared":
            ladder = self.base ** (-2.0 * (index // 2) / self.complex_dim)
            frequency = np.tile(ladder, (shape[0], 1))
        else:
            ladder = self.base ** (-2.0 * index / self.complex_dim)
            frequency = np.outer(np.arange(1, shape[0] + 1), ladder)
        phase = rng.uniform(0, 2 * math.pi, shape) if self.draws_phases else np.zeros(shape)
        return {"amplitude": amplitude, "frequency": frequency, "phase": phase}

    def encode(
        self, positions: Any, *, parameters: Mapping[str, Any] | None = None
    ) -> PositionTable:
        """Each position's word as a wave, at that position.

        Parameters
        ----------
        positions : (positions,) tokens; the word of t is word ⌊t⌋ of the repeated sentence.
        parameters : ``amplitude``, ``frequency`` (radians per token) and ``phase`` (radians), each
            (distinct words, complex_dim) in the order in which words first occur; by default the
            initialisation drawn with ``seed``.

        Returns
        -------
        PositionTable with vectors (positions, 2·complex_dim), words as labels.

        Raises
        ------
        ParameterError : positions that are not finite numbers in one row, or a parameter of another
            name or shape.
        """
        at = self.position_row(positions)
        xp = array_namespace(at)
        words = self.words()
        names = list(dict.fromkeys(words))
        rows = [names.index(words[int(place) % len(words)]) for place in xp.floor(at)]
        row = xp.asarray(rows, dtype=xp.int64, device=device_of(at))
        amplitude, frequency, phase = (
            xp.take(part, row, axis=0) for part in self._tables(parameters, at)
        )
        angles = frequency * at[:, None] + phase
        return PositionTable(
            positions=frozen(xp.asarray(at, copy=True)),
            labels=tuple(names[one] for one in rows),
            vectors=frozen(
                xp.concat((amplitude * xp.cos(angles), amplitude * xp.sin(angles)), axis=1)
            ),
            operation="multiplied",
            columns=tuple(
                f"{part} {k}" for part in ("re", "im") for k in range(1, self.complex_dim + 1)
            ),
            strips={"number of the word": frozen(row + 1)},
        )

    def _tables(self, parameters: Mapping[str, Any] | None, like: Any) -> list[Any]:
        parts = self.parts(parameters, like)
        return [parts[name] for name in ("amplitude", "frequency", "phase")]
