"""One row per encoding: what the catalog page, the documentation and the README all show."""

from __future__ import annotations

import functools
from dataclasses import dataclass

from posviz.catalog import catalog
from posviz.encodings.base import Encoding
from posviz.measures import Property, properties


@dataclass(frozen=True)
class Row:
    """What a table of encodings says about one of them."""

    id: str
    title: str
    family: str
    year: int
    source: str
    """First author and year."""
    arxiv: str
    used_in: tuple[str, ...]
    properties: tuple[Property, ...]

    def value(self, name: str) -> str:
        """The value of a property, or a dash where it does not apply."""
        return next((one.value for one in self.properties if one.name == name), "–")

    def how(self, name: str) -> str:
        """How that value was found."""
        return next((one.how for one in self.properties if one.name == name), "does not apply")


@functools.cache
def rows() -> tuple[Row, ...]:
    """A row for every encoding, by family and year; properties at the default parameters."""
    return tuple(_row(encoding) for encoding in catalog())


def _row(encoding: type[Encoding]) -> Row:
    first = encoding.sources[0]
    return Row(
        id=encoding.id,
        title=encoding.title,
        family=encoding.family,
        year=encoding.year,
        source=f"{first.authors} {first.year}",
        arxiv=first.arxiv,
        used_in=encoding.used_in,
        properties=properties(encoding()),
    )
