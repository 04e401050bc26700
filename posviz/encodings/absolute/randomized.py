"""Randomised positions: an ordered random subset of many more positions than the text has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.base import Source
from posviz.encodings.drawn_positions import WAVES_OF_USED, DrawnPositions, DrawSeed, in_kind
from posviz.encodings.token_index import token_index
from posviz.parameters import AcceptsList, Parameter, ParameterError
from posviz.results import Array, frozen


class Randomized(DrawnPositions):
    """n tokens get n positions of 1 … Lmax, drawn without replacement and sorted.

    The text is taken to end at the last of the given tokens.
    """

    title: ClassVar[str] = "Randomised positions"
    year: ClassVar[int] = 2023
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="Randomized Positional Encodings Boost Length Generalization of Transformers",
            authors="Ruoss et al.",
            year=2023,
            arxiv="2305.16843",
            place="section 3",
            code="github.com/dwzhu-pku/PoSE at a3d4ba8, train_preprocess_function_randomized",
        ),
    )
    formula: ClassVar[str] = (
        r"t \mapsto i_t,\quad \{i_1 < \dots < i_n\} \subset \{1, \dots, L_{\max}\},\quad "
        r"\mathrm{E}[i_{t+1} - i_t] = \frac{L_{\max} + 1}{n + 1}"
    )
    shows: ClassVar[str] = (
        "The order of the tokens is kept, their distances are not: gaps between neighbours vary "
        "around their mean, and a short text already reaches positions that only long ones have."
    )
    limits: ClassVar[str] = (
        "One draw for one text, shown as sinusoids; the paper applies the same draw to every kind "
        "of encoding, relative ones included."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that the positions are random. Their order is not: they are sorted, so "
        "a later token always has the larger position.",
        "You may have read of positions 1 … Lmax as well as 0 … Lmax-1: the paper writes the "
        "first, code draws the second. Distances are the same in both.",
    )
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"counts_from": "one"},
        "code (PoSE's comparison)": {"counts_from": "zero"},
    }
    snippet: ClassVar[str] = (
        """
import numpy as np
positions = np.arange(16.0)
d, b, layout, ladder, first = $model_dim, $base, $layout, $ladder, int($counts_from == "one")
n, given = int(positions.max()) + 1, $drawn_set
drawn = np.random.default_rng($seed).choice($max_position, n, replace=False) + first
used = np.sort(given or drawn)[positions.astype(int)].astype(float)
""".rstrip()
        + WAVES_OF_USED
    )
    snippet_gives: ClassVar[str] = "vectors"

    max_position: Annotated[
        int,
        Ge(1),
        Le(1 << 20),
        Parameter(
            help="How many positions there are to draw from.",
            symbol=r"L_{\max}",
            unit="positions",
            slider=(128, 8192),
            step=128,
        ),
    ] = 2048
    counts_from: Annotated[
        Literal["one", "zero"],
        Parameter(help="one: draws from 1 … Lmax; zero: draws from 0 … Lmax-1."),
    ] = "one"
    seed: DrawSeed = 0
    drawn_set: Annotated[
        tuple[Annotated[float, Ge(0), Le(1 << 20)], ...],
        AcceptsList,
        Parameter(
            help="The positions of this text in any order; empty, they are drawn with the seed."
        ),
    ] = ()

    def suited(self, length: int, longest: int) -> dict[str, Any]:
        return {**super().suited(length, longest), "max_position": longest}

    def check_rules(self) -> None:
        super().check_rules()
        inside = range(self.first, self.first + self.max_position)
        wrong = [one for one in self.drawn_set if one != int(one) or int(one) not in inside]
        if wrong or len(set(self.drawn_set)) < len(self.drawn_set):
            came = f"got {wrong[0]:g}" if wrong else "got one of them twice"
            raise ParameterError(
                f"{self.title}: drawn_set must be different whole numbers from {inside[0]} to "
                f"{inside[-1]}, which follows from max_position and counts_from; {came}."
            )

    @property
    def first(self) -> int:
        """The smallest position that may be drawn."""
        return int(self.counts_from == "one")

    @property
    def longest_text(self) -> int:
        """How many tokens have a position."""
        return len(self.drawn_set) or self.max_position

    def example_positions(self, count: int) -> Array:
        """0 … count-1, as far as there are positions to give."""
        return np.arange(float(min(count, self.longest_text)))

    def mean_gap(self, tokens: int) -> float:
        """Expected gap between neighbours of a text: (Lmax + 1) / (n + 1)."""
        return (self.max_position + 1) / (tokens + 1)

    def used(self, at: Array) -> Array:
        xp = array_namespace(at)
        why = (
            f"drawn_set has {len(self.drawn_set)} positions"
            if self.drawn_set
            else f"max_position is {self.max_position}"
        )
        index = token_index(self.title, at, end=self.longest_text, why=why)
        drawn = np.asarray(self.drawn_set)
        if not self.drawn_set:
            count = int(xp.max(index)) + 1 if index.shape[0] else 0
            rng = np.random.default_rng(self.seed)
            drawn = rng.choice(self.max_position, count, replace=False) + self.first
        return xp.take(in_kind(np.sort(drawn), at), index, axis=0)

    def facts(self, at: Array, used: Array) -> Mapping[str, Any]:
        xp = array_namespace(at)
        tokens = int(xp.max(at)) + 1 if at.shape[0] else 0
        before = xp.concat((xp.zeros_like(used[:1]) - (1 - self.first), used[:-1]))
        expected = (at + 1) * self.mean_gap(tokens) - (1 - self.first)
        return {
            "curves": {"gap to the token before": frozen(used - before)},
            "strips": {"expected position": frozen(expected)},
        }
