"""What every encoding is: a small frozen spec whose fields are declared parameters."""

# Annotations stay objects in this file: as text, each subclass would evaluate them
# again, a tenth of the time that the catalog takes to load.

from collections.abc import Mapping
from string import Template
from typing import Any, ClassVar, Self

import numpy as np
from array_api_compat import array_namespace
from pydantic import BaseModel, ConfigDict, model_validator

from posviz.parameters import Declared, ParameterError
from posviz.results import Array, LogitRow, Result, as_positions

LARGEST_POSITION = 1 << 53
"""Beyond this float64 no longer tells neighbouring tokens apart."""


PLAIN = np.empty(0)
"""An array of the usual kind: NumPy, float64."""


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


class Encoding(Declared):
    """A positional encoding: its facts are class attributes, its parameters are fields.

    A subclass in ``posviz/encodings/<family>/<id>.py`` is found by the catalog without any other
    edit; the file's stem is its id and appears in links.
    """

    # Classes build what they validate with when it is first needed, not when they load.
    model_config = ConfigDict(defer_build=True)

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
    misread: ClassVar[tuple[str, ...]] = ()
    """What a reader may have read elsewhere that is wrong, and what is right: whole sentences."""
    used_in: ClassVar[tuple[str, ...]] = ()
    """Released models that use it."""
    snippet: ClassVar[str]
    """NumPy code that gives the same numbers, with ``$name`` for the value of a parameter; at most
    15 lines, its imports and its positions included."""
    snippet_gives: ClassVar[str]
    """The attribute of the result that the snippet's variable of the same name must equal;
    ``terms:name`` for an entry of a mapping."""
    picture: ClassVar[str] = ""
    """The figure to look at first, by its id; empty for the first one that accepts the result."""
    opens_with: ClassVar[int] = 128
    """How many positions a page shows at first."""
    most_positions: ClassVar[int] = 8192
    """Most positions that a page asks for at once."""
    longest_row: ClassVar[int] = 1 << 22
    """Longest context whose :meth:`logit_row` is quick enough to be asked for."""
    longest_read_off: ClassVar[int] = 512
    """The same where there is no such row, and the last one of all pairs is read off."""
    is_learned: ClassVar[bool] = False
    """True where numbers are trained; those shown are then an initialisation."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.id = cls.__module__.rpartition(".")[2]

    # Type checkers would otherwise refuse `get("yarn")(scaling_factor=8)`, for want of fields here.
    def __init__(self, **values: Any) -> None:
        super().__init__(**values)

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

    def suited(self, length: int, longest: int) -> dict[str, Any]:
        """Values that suit a causal model trained on ``length`` tokens and tested on ``longest``.

        For fields whose declared default is that of a large model: windows and distances in
        proportion to the training, tables long enough for the test, keys before the query only.
        """
        return {}

    def at_test(self) -> Self:
        """The spec as it is used after training: another one where training draws positions."""
        return self

    def untrained_from(self, length: int, longest: int) -> int | None:
        """The first position whose learned row a training on ``length`` tokens never meets though
        a test on ``longest`` does; None where there are no such rows."""
        return None

    def encode(self, *args: Any, **kwargs: Any) -> Result:
        """The result for some positions; each family says what else it takes."""
        raise NotImplementedError

    def logit_row(self, length: int, *, like: Array = PLAIN) -> LogitRow | None:
        """What the last query of ``length`` tokens makes of the keys before it, by distance.

        None where the encoding says nothing by distance alone. ``like`` is an array of the kind,
        type and device that the row's arrays shall have.
        """
        return None

    def example_positions(self, count: int) -> Array:
        """About ``count`` positions to show the encoding on: 0 … count-1 unless it says more."""
        return np.arange(float(count))

    def matrix_numbers(self, count: int) -> int:
        """How many numbers a matrix over all pairs of positions holds; 0 where there is none."""
        return 0

    def caution(self) -> str:
        """What a reader must know before trusting the numbers; empty for most encodings."""
        return ""

    def missing(self) -> str:
        """What must be installed before this spec can be encoded here, and how to get it; empty
        where nothing is missing, as for nearly every spec."""
        return ""

    def code(self) -> str:
        """The snippet with this spec's values in it."""
        return self.filled(self.snippet)

    def filled(self, snippet: str) -> str:
        """Code with the value of a parameter wherever ``$name`` stands."""
        values = {name: repr(value) for name, value in self.model_dump().items()}
        return Template(snippet).substitute(values).strip() + "\n"

    def position_row(self, positions: Any) -> Array:
        """Positions as one row of finite numbers, each a token that float64 can name.

        Raises ParameterError for anything else.
        """
        at = as_positions(positions)
        if at.ndim != 1:
            raise ParameterError(f"positions must be one row of numbers; got {at.ndim} axes.")
        xp = array_namespace(at)
        if at.shape[0] and float(xp.max(xp.abs(at))) > LARGEST_POSITION:
            raise ParameterError(
                f"{self.title}: positions must be at most 2^53 from 0; "
                f"got {float(xp.max(xp.abs(at)))}."
            )
        return at
