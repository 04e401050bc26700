"""What to run: the encoding, the shape of the tensors, the device, and how much it may cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from annotated_types import Ge, Le, MaxLen
from pydantic import model_validator

from posviz.parameters import (
    AcceptsList,
    Declaration,
    Declared,
    Parameter,
    ParameterError,
    sentence,
)

Dtype = Literal["float32", "bfloat16", "float16", "float64"]
Device = Literal["cpu", "cuda", "mps"]

KERNELS: Mapping[str, str] = {
    "naive": "Naive, whole matrix",
    "naive_blocks": "Naive, in blocks of queries",
    "sdpa": "SDPA, nothing materialised",
    "sdpa_matrix": "SDPA, bias as a matrix",
    "flex": "FlexAttention",
}
"""The variants that can be measured, with the names that people read."""

LONGEST = 1 << 20
Lengths = tuple[Annotated[float, Ge(2), Le(LONGEST)], ...]


class KernelPlan(Declared):
    """One comparison of kernels for one encoding."""

    title: ClassVar[str] = "Kernels"

    link: Annotated[
        str, MaxLen(4000), Parameter(help="The encoding as a link: rope?head_dim=64.")
    ] = "rope"
    batch: Annotated[
        int, Ge(1), Le(256), Parameter(help="Sequences at a time.", slider=(1, 8), step=1)
    ] = 1
    heads: Annotated[
        int | None,
        Ge(1),
        Le(512),
        Parameter(
            help="Attention heads, also of the encoding; left out: as many as the encoding has, "
            "or 4.",
            symbol="H",
            slider=(1, 32),
            step=1,
        ),
    ] = None
    head_dim: Annotated[
        int | None,
        Ge(1),
        Le(1024),
        Parameter(
            help="Size of one head, also of the encoding; left out: that of the encoding, or 64.",
            symbol="D",
            unit="dimensions",
            slider=(16, 256),
            step=2,
        ),
    ] = None
    lengths: Annotated[
        Lengths,
        AcceptsList,
        Parameter(help="Tokens of the sequences, ascending; none: doubled from shortest on."),
    ] = ()
    shortest: Annotated[
        int,
        Ge(2),
        Le(LONGEST),
        Parameter(help="The first length.", unit="tokens", slider=(64, 4096), scale="log"),
    ] = 256
    longest: Annotated[
        int,
        Ge(2),
        Le(LONGEST),
        Parameter(help="The last length.", unit="tokens", slider=(256, 65536), scale="log"),
    ] = 4096
    dtype: Annotated[
        Dtype, Parameter(help="Number format of queries, keys, values and of a bias matrix.")
    ] = "float32"
    device: Annotated[Device, Parameter(help="Where the kernels run.")] = "cpu"
    is_causal: Annotated[
        bool,
        Parameter(
            help="Whether keys after their query are masked; they always are where the encoding "
            "is causal only."
        ),
    ] = True
    kernels: Annotated[
        str,
        MaxLen(200),
        Parameter(help=f"What is measured, with commas between: {', '.join(KERNELS)}."),
    ] = ",".join(KERNELS)
    seed: Annotated[
        int,
        Ge(0),
        Le((1 << 32) - 1),
        Parameter(help="Seed of queries, keys and values.", slider=(0, 20), step=1),
    ] = 0
    most_seconds: Annotated[
        float,
        Ge(1),
        Le(3600),
        Parameter(
            help="No point is begun that would end later.",
            unit="s",
            slider=(10, 600),
            scale="log",
        ),
    ] = 60.0
    most_memory: Annotated[
        float,
        Ge(0.01),
        Le(1024),
        Parameter(
            help="No point is begun that would need more, nor more than 80 % of what is free.",
            unit="GiB",
            slider=(0.25, 64),
            scale="log",
        ),
    ] = 4.0

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        if not self.lengths and self.longest < self.shortest:
            raise ParameterError(
                f"{self.title}: longest must be at least shortest, which is {self.shortest}; got "
                f"longest {self.longest}."
            )
        unknown = [name for name in self.kernel_names if name not in KERNELS]
        if unknown or not self.kernel_names:
            allowed = f"one or more of {', '.join(KERNELS)}, with commas between"
            raise ParameterError(sentence(self.title, "kernels", allowed, self.kernels))
        if any(length != int(length) for length in self.lengths):
            allowed = "whole numbers of tokens"
            raise ParameterError(sentence(self.title, "lengths", allowed, list(self.lengths)))
        return self

    @property
    def kernel_names(self) -> tuple[str, ...]:
        """The kernels, each once, in the order in which they were asked for."""
        parts = (part.strip() for part in self.kernels.split(","))
        return tuple(dict.fromkeys(part for part in parts if part))

    @property
    def all_lengths(self) -> tuple[int, ...]:
        """The lengths to run, ascending; the longest is among those that are doubled."""
        if self.lengths:
            return tuple(sorted({int(length) for length in self.lengths}))
        found = {self.longest}
        length = self.shortest
        while length < self.longest:
            found.add(length)
            length *= 2
        return tuple(sorted(found))

    @property
    def arguments(self) -> dict[str, Any]:
        """What differs from the defaults, the link always among it: plain data."""
        given = self.model_dump()
        differs = {name: one.default for name, one in PLAN.items()}
        return {
            name: value for name, value in given.items() if name == "link" or value != differs[name]
        }


PLAN: Mapping[str, Declaration] = {one.name: one for one in KernelPlan.declarations()}
