"""What is measured of an extended model: declared parameters, as an encoding has them."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from annotated_types import Ge, Le, MaxLen
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from posviz.parameters import (
    AcceptsList,
    Declaration,
    Parameter,
    ParameterError,
    declarations,
    parameter_error,
)

LONGEST = 131072
"""Tokens of one run: on two CPU cores the time grows with their square."""
NumberFormat = Literal["float32", "bfloat16"]


class Plan(BaseModel):
    """One run: the method, how far it goes, and how it is read."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)
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
    length: Annotated[
        int,
        Ge(16),
        Le(LONGEST),
        Parameter(
            help="Tokens of the text that the model reads.",
            symbol=r"\ell",
            unit="tokens",
            slider=(1024, 32768),
            scale="log",
        ),
    ] = 12288
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
    window: Annotated[
        int,
        Ge(2),
        Le(LONGEST),
        Parameter(
            help="Tokens over which the loss is averaged, centred at the position.",
            unit="tokens",
            slider=(32, 2048),
            scale="log",
        ),
    ] = 512
    seed: Annotated[
        int,
        Ge(0),
        Le((1 << 32) - 1),
        Parameter(help="Seed of the pass keys and their owners.", slider=(0, 20), step=1),
    ] = 0
    artificial_window: Annotated[
        int | None,
        Ge(64),
        Le(LONGEST),
        Parameter(
            help="A shorter window to look beyond, for a machine without a GPU: the base is "
            "lowered until the slowest pair has ended its trained arc there.",
            unit="tokens",
            slider=(512, 4096),
            scale="log",
        ),
    ] = None
    dtype: Annotated[
        NumberFormat,
        Parameter(help="Number format of weights, keys and values; losses are always float32."),
    ] = "float32"

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise parameter_error(type(self), self.title, error) from None

    @model_validator(mode="after")
    def _check_window(self) -> Plan:
        if self.window >= self.length:
            raise ParameterError(
                f"{self.title}: window must be less than length, so that there is a mean; got "
                f"window {self.window} and length {self.length}."
            )
        return self

    def with_values(self, **values: Any) -> Plan:
        """The same plan with some values changed, checked like any other."""
        return Plan(**{**self.model_dump(), **values})

    @classmethod
    def declarations(cls) -> tuple[Declaration, ...]:
        return declarations(cls)


class PasskeyPlan(BaseModel):
    """One retrieval grid: the method, the lengths, and where the keys lie."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)
    title: ClassVar[str] = "Pass keys"

    link: Annotated[
        str, MaxLen(4000), Parameter(help="The method, as a link; completed by the model.")
    ] = "rope"
    lengths: Annotated[
        tuple[Annotated[float, Ge(128), Le(LONGEST)], ...],
        AcceptsList,
        Parameter(help="Tokens of the haystacks, keys included.", unit="tokens"),
    ] = (2048, 4096, 8192, 12288)
    depths: Annotated[
        int,
        Ge(1),
        Le(10),
        Parameter(
            help="Places of keys: the middles of so many equal parts of the haystack.",
            slider=(3, 10),
            step=1,
        ),
    ] = 5
    chunk: Annotated[int, Ge(8), Le(4096), Parameter(help="Queries at a time.", unit="tokens")] = (
        512
    )
    seed: Annotated[
        int, Ge(0), Le((1 << 32) - 1), Parameter(help="Seed of the pass keys and their owners.")
    ] = 0
    repeats: Annotated[
        int,
        Ge(1),
        Le(20),
        Parameter(help="Haystacks at each length, with other keys and another part of the text."),
    ] = 1
    artificial_window: Annotated[
        int | None,
        Ge(64),
        Le(LONGEST),
        Parameter(help="A shorter window to look beyond, as for the loss.", unit="tokens"),
    ] = None
    dtype: Annotated[NumberFormat, Parameter(help="Number format of weights and keys.")] = "float32"

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise parameter_error(type(self), self.title, error) from None

    @model_validator(mode="after")
    def _check_lengths(self) -> PasskeyPlan:
        if not self.lengths or any(one != int(one) for one in self.lengths):
            raise ParameterError(
                f"{self.title}: lengths must be a list of whole numbers of at least 128; got "
                f"{list(self.lengths)}."
            )
        return self

    @property
    def longest(self) -> int:
        return int(max(self.lengths))

    @classmethod
    def declarations(cls) -> tuple[Declaration, ...]:
        return declarations(cls)
