"""What is measured of an extended model: declared parameters, as an encoding has them."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

from annotated_types import Ge, Le, MaxLen
from pydantic import model_validator

from posviz.parameters import (
    AcceptsList,
    Declared,
    Parameter,
    ParameterError,
)

LONGEST = 131072
"""Tokens of one run: on two CPU cores the time grows with their square."""
NumberFormat = Literal["float32", "bfloat16"]
Length = Annotated[
    int,
    Ge(16),
    Le(LONGEST),
    Parameter(
        help="Tokens of the text that the model reads. Time grows with the square of it.",
        symbol=r"\ell",
        unit="tokens",
        slider=(1024, 32768),
        scale="log",
    ),
]
MeanWindow = Annotated[
    int,
    Ge(2),
    Le(LONGEST),
    Parameter(
        help="Tokens over which the loss is averaged, centred at the position.",
        symbol="w",
        unit="tokens",
        slider=(32, 2048),
        scale="log",
    ),
]
ArtificialWindow = Annotated[
    int | None,
    Ge(64),
    Le(LONGEST),
    Parameter(
        help="A shorter window to look beyond, for a machine without a GPU: the base is lowered "
        "until the slowest pair has ended its trained arc there. None: the model's own window.",
        unit="tokens",
        slider=(512, 4096),
        scale="log",
    ),
]
KeySeed = Annotated[
    int,
    Ge(0),
    Le((1 << 32) - 1),
    Parameter(help="Seed of the pass keys and their owners.", slider=(0, 20), step=1),
]


class ExtendedRun(Declared):
    """What the runs have in common: the method, and how a text is read."""

    title: ClassVar[str] = "Extension"

    link: Annotated[
        str,
        MaxLen(4000),
        Parameter(
            help="The method, as a link: yarn?scaling_factor=2. What it leaves out of base, head "
            "size and trained length is the model's own; without a factor it is the smallest one "
            "that covers the length."
        ),
    ] = "rope"
    chunk: Annotated[
        int,
        Ge(8),
        Le(4096),
        Parameter(
            help="Queries at a time; earlier keys and values are kept. More of them cost memory.",
            unit="tokens",
            slider=(128, 2048),
            scale="log",
        ),
    ] = 512
    artificial_window: ArtificialWindow = None
    dtype: Annotated[
        NumberFormat,
        Parameter(help="Number format of weights, keys and values; losses are always float32."),
    ] = "float32"

    def with_values(self, **values: Any) -> Self:
        """The same plan with some values changed, checked like any other."""
        return type(self)(**{**self.model_dump(), **values})


class Plan(ExtendedRun):
    """One run for the loss: how far it goes, and what it is averaged over."""

    length: Length = 12288
    mean_window: MeanWindow = 512

    @model_validator(mode="after")
    def _check_window(self) -> Self:
        if self.mean_window >= self.length:
            raise ParameterError(
                f"{self.title}: mean_window must be less than length, so that there is a mean; got "
                f"mean_window {self.mean_window} and length {self.length}."
            )
        return self


class PasskeyPlan(ExtendedRun):
    """One retrieval grid: the lengths, and where the keys lie."""

    title: ClassVar[str] = "Pass keys"

    lengths: Annotated[
        tuple[Annotated[float, Ge(128), Le(LONGEST)], ...],
        AcceptsList,
        Parameter(
            help="Tokens that the model sees in all: the text with its keys, and a question with "
            "its answer.",
            unit="tokens",
        ),
    ] = (2048, 4096, 8192, 12288)
    depths: Annotated[
        int,
        Ge(1),
        Le(10),
        Parameter(
            help="Places of keys: the middles of so many equal parts of the text.",
            slider=(3, 10),
            step=1,
        ),
    ] = 5
    key_seed: KeySeed = 0
    repeats: Annotated[
        int,
        Ge(1),
        Le(20),
        Parameter(help="Texts at each length, with other keys and another part of the book."),
    ] = 1

    @model_validator(mode="after")
    def _check_lengths(self) -> Self:
        if not self.lengths or any(one != int(one) for one in self.lengths):
            raise ParameterError(
                f"{self.title}: lengths must be a list of whole numbers of at least 128; got "
                f"{list(self.lengths)}."
            )
        return self

    @property
    def longest(self) -> int:
        return int(max(self.lengths))
