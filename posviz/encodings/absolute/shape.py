"""SHAPE: a random shift of all positions of a training sequence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from annotated_types import Ge, Le
from array_api_compat import array_namespace

from posviz.encodings.base import Source
from posviz.encodings.drawn_positions import WAVES_OF_USED, DrawnPositions, DrawSeed, PhaseField
from posviz.parameters import Parameter, ParameterError
from posviz.results import Array, frozen


class Shape(DrawnPositions):
    """Token t of a training sequence gets the sinusoid of t + k, with one k for the sequence."""

    title: ClassVar[str] = "SHAPE"
    year: ClassVar[int] = 2021
    sources: ClassVar[tuple[Source, ...]] = (
        Source(
            title="SHAPE: Shifted Absolute Position Embedding for Transformers",
            authors="Kiyono et al.",
            year=2021,
            arxiv="2109.05644",
            place="section 3",
            code="github.com/butsugiri/shape at a2b04a2, PositionalEncoding",
        ),
    )
    formula: ClassVar[str] = r"t \mapsto t + k,\quad k \sim U\{0, \dots, K\}"
    shows: ClassVar[str] = (
        "All tokens move by the same shift, so distances stay as they were. The larger K, the less "
        "often a sequence trains any one row, and the fewer rows stay unseen behind the text."
    )
    limits: ClassVar[str] = (
        "One draw of one sequence; that the model then reads distances rather than places is what "
        "training is to bring about, and cannot be seen in the vectors."
    )
    misread: ClassVar[tuple[str, ...]] = (
        "You may have read that at test time the shift is 0. So says the paper; in the authors' "
        "code a test sequence starts at K, and training never draws K itself.",
    )
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "paper": {"form": "paper"},
        "authors' code": {"form": "code"},
    }
    snippet: ClassVar[str] = (
        """
import numpy as np
positions = np.arange(16.0)
d, b, layout, ladder = $model_dim, $base, $layout, $ladder
K, k, code = $largest_shift, $shift, $form == "code"
if $phase == "test":
    k = K if code else 0
elif k is None:
    k = np.random.default_rng($seed).integers(0, max(1, K) if code else K + 1)
used = positions + k
""".rstrip()
        + WAVES_OF_USED
    )
    snippet_gives: ClassVar[str] = "vectors"

    largest_shift: Annotated[
        int,
        Ge(0),
        Le(1 << 20),
        Parameter(
            help="Largest shift that training draws.",
            symbol="K",
            unit="tokens",
            slider=(0, 1000),
            step=10,
        ),
    ] = 500
    shift: Annotated[
        int | None,
        Ge(0),
        Le(1 << 20),
        Parameter(
            help="The shift of this training sequence; left out, it is drawn with the seed.",
            symbol="k",
            unit="tokens",
            slider=(0, 1000),
            step=1,
        ),
    ] = None
    phase: PhaseField = "training"
    form: Annotated[
        Literal["paper", "code"],
        Parameter(
            help="paper: shifts 0 … K in training, 0 at test; code: shifts 0 … K-1 in training, K "
            "at test."
        ),
    ] = "paper"
    seed: DrawSeed = 0

    def suited(self, length: int, longest: int) -> dict[str, Any]:
        return {**super().suited(length, longest), "largest_shift": longest - length}

    def at_test(self) -> Self:
        return self.with_values(phase="test")

    def check_rules(self) -> None:
        super().check_rules()
        if self.shift is not None and self.shift > self.largest_shift:
            raise ParameterError(
                f"{self.title}: shift must be at most largest_shift, which is "
                f"{self.largest_shift}; got {self.shift}."
            )

    @property
    def shifts(self) -> int:
        """How many different shifts training draws from, 0 the first of them."""
        return max(1, self.largest_shift) if self.form == "code" else self.largest_shift + 1

    @property
    def shift_used(self) -> int:
        """The shift of this sequence."""
        if self.phase == "test":
            return self.largest_shift if self.form == "code" else 0
        if self.shift is not None:
            return self.shift
        return int(np.random.default_rng(self.seed).integers(0, self.shifts))

    def used(self, at: Array) -> Array:
        return at + self.shift_used

    def facts(self, at: Array, used: Array) -> Mapping[str, Any]:
        length = float(array_namespace(at).max(at)) + 1 if at.shape[0] else 1.0
        return {
            "curves": {
                "share of sequences that train row t": frozen(self.trained(at, length)),
                "share of the text's rows that a sequence trains, if K were t": frozen(
                    trained_share(at, length)
                ),
            }
        }

    def trained(self, row: Array, length: float) -> Array:
        """Share of the training sequences of ``length`` tokens that train a row."""
        xp = array_namespace(row)
        most = xp.where(row < self.shifts - 1, row, xp.ones_like(row) * (self.shifts - 1))
        least = xp.where(row > length - 1, row - (length - 1), xp.zeros_like(row))
        count = xp.floor(most) - xp.ceil(least) + 1
        return xp.where(count > 0, count, xp.zeros_like(count)) / self.shifts


def trained_share(largest: Array, length: float) -> Array:
    """Share of the rows 0 … length-1 that a sequence of as many tokens trains, on average.

    Of shifts 0 … K each leaves length - k of the rows: Σ_k max(0, length - k) / ((K + 1) length).
    """
    xp = array_namespace(largest)
    far = xp.ones_like(largest) * (length - 1)
    last = xp.where(largest < far, largest, far)
    return (last + 1) * (length - last / 2) / ((largest + 1) * length)
