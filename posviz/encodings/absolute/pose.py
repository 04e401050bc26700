"""PoSE: a short training window whose chunks are moved apart to the distances of a long one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.base import Source
from posviz.encodings.chunk_coverage import distance_coverage
from posviz.encodings.drawn_positions import WAVES_OF_USED, DrawnPositions, DrawSeed, in_kind
from posviz.encodings.token_index import token_index
from posviz.parameters import AcceptsList, Parameter, ParameterError
from posviz.results import Array, frozen

Draws = tuple[Annotated[float, Ge(0), Le(1 << 24)], ...]


class Pose(DrawnPositions):
    """Chunk c of the window gets the positions st_c + u_c …, and its words from st_c + v_c on.

    The skips u and v of the first chunk are 0. With two chunks the cut is drawn from 1 … Lc/2, as
    in the authors' code; with more, from all cuts.
    """

    title: ClassVar[str] = "PoSE"
    year: ClassVar[int] = 2023
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="PoSE: Efficient Context Window Extension of LLMs via Positional Skip-wise "
            "Training",
            authors="Zhu et al.",
            year=2023,
            arxiv="2309.10400",
            place="section 3.2",
            code="github.com/dwzhu-pku/PoSE at a3d4ba8, train_preprocess_function_pose",
        ),
    )
    formula: ClassVar[str] = (
        r"t \mapsto t + u_c \;\text{ for }\; st_c \le t < st_{c+1},\quad u_0 = 0,\; "
        r"u_c \sim U\{u_{c-1}, \dots, L_t - L_c\}"
    )
    shows: ClassVar[str] = (
        "A jump between the chunks: the window keeps its length, its last token has a position of "
        "the long context. Over many examples every distance up to the target occurs."
    )
    limits: ClassVar[str] = (
        "A way to train, shown as sinusoids of its positions. The released models use them with "
        "RoPE and scale the frequencies by Lt/Lc besides (linear, NTK or YaRN)."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that PoSE trains on the long text itself. An example has Lc tokens and "
        "costs no more than before; only its positions reach as far as Lt.",
    )
    snippet: ClassVar[str] = (
        """
import numpy as np
positions = np.arange(16.0)
d, b, layout, ladder, N, Lc = $model_dim, $base, $layout, $ladder, $chunks, $window
rng, room = np.random.default_rng($seed), $target_length - Lc
drawn = rng.permutation(Lc - 1 if N > 2 else Lc // 2)[: N - 1] + 1
cuts = np.sort($cuts or drawn)
u = [0]
for _ in cuts: u.append(rng.integers(u[-1], room + 1))
used = positions + np.array([0, *$skips] if $skips else u)[(positions[:, None] >= cuts).sum(1)]
""".rstrip()
        + WAVES_OF_USED
    )
    snippet_gives: ClassVar[str] = "vectors"

    chunks: Annotated[
        int,
        Ge(1),
        Le(16),
        Parameter(
            help="Chunks that the window is cut into.",
            symbol="N",
            unit="chunks",
            slider=(1, 8),
            step=1,
        ),
    ] = 2
    window: Annotated[
        int,
        Ge(2),
        Le(1 << 17),
        Parameter(
            help="Tokens of a training example.",
            symbol="L_c",
            unit="tokens",
            slider=(64, 8192),
            scale="log",
        ),
    ] = 2048
    target_length: Annotated[
        int,
        Ge(2),
        Le(1 << 20),
        Parameter(
            help="Length of the context that is trained for.",
            symbol="L_t",
            unit="tokens",
            slider=(256, 131072),
            scale="log",
        ),
    ] = 16384
    text_length: Annotated[
        int,
        Ge(2),
        Le(1 << 24),
        Parameter(
            help="Tokens of the text that the words of the chunks are taken from; the code takes "
            "the first 5·Lc.",
            symbol="L_x",
            unit="tokens",
            slider=(256, 131072),
            scale="log",
        ),
    ] = 10240
    examples: Annotated[
        int,
        Ge(1),
        Le(4096),
        Parameter(
            help="Training examples over which distances are counted, drawn with the same seed.",
            unit="examples",
            slider=(1, 1000),
            scale="log",
        ),
    ] = 100
    seed: DrawSeed = 0
    cuts: Annotated[
        Draws,
        AcceptsList,
        Parameter(
            help="Where the later chunks start in the window; empty, drawn with the seed.",
            symbol="st_c",
            unit="tokens",
        ),
    ] = ()
    skips: Annotated[
        Draws,
        AcceptsList,
        Parameter(
            help="By how much the positions of the later chunks are moved; empty, drawn with the "
            "seed.",
            symbol="u_c",
            unit="tokens",
        ),
    ] = ()
    text_skips: Annotated[
        Draws,
        AcceptsList,
        Parameter(
            help="How many words are left out before each of the later chunks, in all; empty, "
            "drawn with the seed.",
            symbol="v_c",
            unit="tokens",
        ),
    ] = ()

    def suited(self, length: int, longest: int) -> dict[str, Any]:
        return {
            **super().suited(length, longest),
            "window": length,
            "target_length": longest,
            "text_length": longest,
            "examples": 1,
        }

    def at_test(self) -> Self:
        # Windows cut into chunks are for training alone; the target is then read as it stands.
        return self.with_values(chunks=1, window=self.target_length)

    def check_rules(self) -> None:
        super().check_rules()
        for name in ("target_length", "text_length"):
            if getattr(self, name) < self.window:
                raise ParameterError(
                    f"{self.title}: {name} must be at least window, which is {self.window}; got "
                    f"{getattr(self, name)}."
                )
        if self.chunks > 1 + self._most_cuts:
            raise ParameterError(
                f"{self.title}: chunks must be at most window, which is {self.window}; got "
                f"{self.chunks}."
            )
        for name, first, last, words in (
            ("cuts", 1, self.window - 1, "window"),
            ("skips", 0, self.target_length - self.window, "target_length - window"),
            ("text_skips", 0, self.text_length - self.window, "text_length - window"),
        ):
            self._check_draws(name, getattr(self, name), first, last, words)

    @property
    def _most_cuts(self) -> int:
        return self.window - 1 if self.chunks > 2 else self.window // 2

    def _check_draws(
        self, name: str, given: tuple[float, ...], first: int, last: int, words: str
    ) -> None:
        """Given draws are whole, ascending, in their range, and one for each later chunk."""
        if not given:
            return
        rises = np.diff(given) >= (1 if name == "cuts" else 0)
        whole = all(one == int(one) for one in given)
        fits = len(given) == self.chunks - 1 and first <= given[0] and given[-1] <= last
        if not (fits and whole and bool(np.all(rises))):
            raise ParameterError(
                f"{self.title}: {name} must be chunks - 1 = {self.chunks - 1} ascending whole "
                f"numbers from {first} to {last}, which follows from {words}; got {list(given)}."
            )

    def example_positions(self, count: int) -> Array:
        """Evenly over the whole window."""
        return np.floor(np.arange(float(count)) * self.window / max(1, count))

    def drawn(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """First token, skip of the positions and skip of the words of each chunk."""
        cuts = np.sort(rng.permutation(self._most_cuts)[: self.chunks - 1] + 1)
        skips, words = [0], [0]
        for found, length in ((skips, self.target_length), (words, self.text_length)):
            for _ in cuts:
                found.append(int(rng.integers(found[-1], length - self.window + 1)))
        return np.array([0, *cuts]), np.array(skips), np.array(words)

    def example(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """As :meth:`drawn`, with what is given in place of what is drawn."""
        found = self.drawn(np.random.default_rng(self.seed))
        given = (self.cuts, self.skips, self.text_skips)
        starts, skips, words = (
            np.array([0, *instead], dtype=float) if instead else one.astype(float)
            for one, instead in zip(found, given, strict=True)
        )
        return starts, skips, words

    def used(self, at: Array) -> Array:
        return self._moved(at, self.example()[1])

    def _moved(self, at: Array, by: np.ndarray) -> Array:
        """Tokens moved by the skip of their chunk. ParameterError beyond the window."""
        xp = array_namespace(at)
        token_index(self.title, at, end=self.window, why=f"window is {self.window} tokens")
        starts = in_kind(self.example()[0], at)
        chunk = xp.sum(xp.astype(at[:, None] >= starts[None, :], xp.int64), axis=1) - 1
        return at + xp.take(in_kind(by, at), chunk, axis=0)

    def facts(self, at: Array, used: Array) -> Mapping[str, Any]:
        xp = array_namespace(at)
        stretch = self.target_length / self.window
        # Whole positions below 2^17 times at most 2^20 are exact in float64.
        distance = xp.astype(xp.floor(xp.astype(at, xp.float64) * stretch), xp.int64)
        share = xp.take(in_kind(self.coverage(), at), distance, axis=0)
        name = f"share of {self.examples} examples that hold the distance {stretch:.4g} t"
        return {
            "curves": {name: frozen(share)},
            "strips": {"word of the text": frozen(self._moved(at, self.example()[2]))},
        }

    def coverage(self) -> np.ndarray:
        """Share of the examples that hold each distance 0 … target_length-1."""
        rng = np.random.default_rng(self.seed)
        drawn = [self.drawn(rng)[:2] for _ in range(self.examples)]
        cuts, skips = (np.stack(parts) for parts in zip(*drawn, strict=True))
        lengths = np.diff(cuts, axis=1, append=self.window)
        return distance_coverage(cuts + skips, lengths, self.target_length)
