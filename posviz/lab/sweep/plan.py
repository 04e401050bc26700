"""What a sweep measures: every link at every length, alone or in every model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

from posviz.catalog import parse
from posviz.lab.errors import LabError
from posviz.parameters import ParameterError, sentence, shortened

if TYPE_CHECKING:
    from posviz.lab.language_model.sources import Source

ALONE = "none"
"""In the place of a model: the encoding by itself, with the measures of the core."""
MOST_CELLS = 100_000
LONGEST = 1 << 22


@dataclass(frozen=True)
class Cell:
    """One row of the table: an encoding at a length, alone or in a model."""

    link: str
    length: int
    model: str = ALONE

    @property
    def is_alone(self) -> bool:
        return self.model == ALONE

    def __str__(self) -> str:
        where = "" if self.is_alone else f" in {self.model}"
        return f"{self.link} at {self.length} tokens{where}"


@dataclass(frozen=True)
class Sweep:
    """Links × lengths × models, and what all of their cells share.

    Attributes
    ----------
    links : the text of specs; in a model, what they leave out is the model's own.
    lengths : tokens.
    models : short names or paths, as :func:`posviz.lab.language_model.sources.find` takes them;
        ``none`` measures the encoding alone.
    text : what the models read.

    Raises
    ------
    ParameterError : an unknown link, a length that is none, a part that is empty.
    LabError : no text for a model, or more cells than anybody can wait for.
    """

    links: tuple[str, ...]
    lengths: tuple[int, ...]
    models: tuple[str, ...] = (ALONE,)
    text: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        # What is named twice is measured once.
        object.__setattr__(self, "links", _texts(self.links, "links"))
        object.__setattr__(self, "lengths", _lengths(self.lengths))
        object.__setattr__(self, "models", _texts(self.models, "models"))
        for link in self.links:
            parse(link)
        if not isinstance(self.text, str):
            raise ParameterError(sentence("Sweep", "text", "text", self.text))
        if self.models != (ALONE,) and not self.text.strip():
            raise LabError("Sweep: a model needs a text to read; the one that is given is empty.")
        if self.count > MOST_CELLS:
            raise LabError(
                f"Sweep: links × lengths × models must be at most {MOST_CELLS:,} cells; got "
                f"{self.count:,}."
            )

    @property
    def count(self) -> int:
        return len(self.links) * len(self.lengths) * len(self.models)

    def cells(self) -> tuple[Cell, ...]:
        """In the order of the table: by model, then by link, then by length."""
        every = product(self.models, self.links, self.lengths)
        return tuple(Cell(link, length, model) for model, link, length in every)

    def sources(self) -> Mapping[str, Source]:
        """Where every model is; LabError names the first that is not there."""
        from posviz.lab.language_model.sources import find  # slow; a worker need not load it

        return {name: find(name) for name in self.models if name != ALONE}


def _texts(values: object, name: str) -> tuple[str, ...]:
    given = _entries(values, name)
    for one in given:
        if not isinstance(one, str) or not one.strip():
            raise ParameterError(sentence("Sweep", name, "a list of texts", one))
    return tuple(dict.fromkeys(one.strip() for one in given))


def _lengths(values: object) -> tuple[int, ...]:
    given = _entries(values, "lengths")
    for one in given:
        _whole("lengths", one, 1, LONGEST)
    return tuple(dict.fromkeys(given))


def _entries(values: object, name: str) -> Sequence[Any]:
    if isinstance(values, str) or not isinstance(values, Sequence) or not values:
        raise ParameterError(
            f"Sweep: {name} must be a list of at least one entry; got {_got(values)}."
        )
    return values


def _got(values: object) -> str:
    return "none" if isinstance(values, Sequence) and not values else shortened(values)


def _whole(name: str, value: object, low: int, high: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        allowed = f"a whole number of at least {low} and at most {high}"
        raise ParameterError(sentence("Sweep", name, allowed, value))
