"""What every encoding is: a small frozen spec whose fields are declared parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from posviz.parameters import Declaration, declarations, parameter_error


class Source(BaseModel):
    """Where an encoding comes from, precisely enough to look it up."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    authors: str
    year: int
    arxiv: str = ""
    place: str = ""
    """Equation, section or function inside the source."""
    code: str = ""
    """Code that was followed, with its version or commit."""

    @property
    def text(self) -> str:
        """One line for a bibliography."""
        parts = [f"{self.authors} ({self.year}). {self.title}"]
        parts += [f"arXiv:{self.arxiv}"] if self.arxiv else []
        parts += [self.place] if self.place else []
        parts += [f"code: {self.code}"] if self.code else []
        return ". ".join(parts)


class Encoding(BaseModel):
    """A positional encoding: its facts are class attributes, its parameters are fields.

    A subclass in ``posviz/encodings/<family>/<id>.py`` is found by the catalog without any other
    edit; the file's stem is its id and appears in links.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    id: ClassVar[str]
    family: ClassVar[str]
    title: ClassVar[str]
    year: ClassVar[int]
    sources: ClassVar[tuple[Source, ...]]
    formula: ClassVar[str]
    """LaTeX, in the symbols of the declared parameters."""
    shows: ClassVar[str]
    """What to look at in its figures."""
    limits: ClassVar[str]
    """What its figures do not show."""
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Who computes this encoding how: a name, and the values of the switches that give it."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.id = cls.__module__.rpartition(".")[2]

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise parameter_error(type(self), self.title, error) from None

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        self.check_rules()
        return self

    def check_rules(self) -> None:
        """Rules between parameters; raises ParameterError naming both of them."""

    def with_values(self, **values: Any) -> Self:
        """The same spec with some values changed, checked like any other."""
        return type(self)(**{**self.model_dump(), **values})

    @classmethod
    def starting_values(cls, **known: Any) -> dict[str, Any]:
        """Values to start from beside known ones, where declared defaults would not fit them."""
        return {}

    @classmethod
    def declarations(cls) -> tuple[Declaration, ...]:
        return declarations(cls)
