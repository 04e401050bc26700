"""One row per encoding: what the catalog page, the documentation and the README all show."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from posviz.catalog import catalog
from posviz.encodings.base import Encoding, Source
from posviz.measures import Property, properties

HEADINGS: Mapping[str, str] = {
    "gives": "gives",
    "numbers": "numbers",
    "depends on the distance only": "relative",
    "the same in both directions": "symmetric",
    "falls with every step of distance": "falls always",
    "needs a causal mask": "causal only",
    "defined at any position": "any position",
}
"""Properties that a table has a column for, and the heading of each."""
NONE = "–"
"""What a cell says where a property does not apply, or where nothing is known."""
_SHORT = {
    "a vector per position": "vector",
    "an angle per position and pair": "rotation",
    "a number per head, query and key": "bias",
    "terms of the logit": "terms",
    "a mask": "mask",
    "a recipe": "recipe",
    "cannot be tried": "untried",
}


@dataclass(frozen=True)
class Row:
    """What a table of encodings says about one of them.

    Properties are those of the default parameters.
    """

    id: str
    title: str
    family: str
    year: int
    sources: tuple[Source, ...]
    used_in: tuple[str, ...]
    properties: tuple[Property, ...]

    @property
    def source(self) -> str:
        """The first source in two words: its authors, or the first of many, and its year."""
        names = self.sources[0].authors.split(", ")
        authors = f"{names[0]} et al." if len(names) > 2 else " & ".join(names)
        return f"{authors} {self.sources[0].year}"

    @property
    def arxiv(self) -> str:
        """Number of the first source on arXiv; empty where it has none."""
        return self.sources[0].arxiv

    @property
    def is_learned(self) -> bool:
        """Whether its numbers are trained."""
        return self.value("numbers") == "learned"

    def value(self, name: str) -> str:
        """A property in a word, or a dash where it does not apply."""
        value = next((one.value for one in self.properties if one.name == name), NONE)
        return _SHORT.get(value, value)

    def how(self, name: str) -> str:
        """What that word means, and how it was found."""
        found = next((one for one in self.properties if one.name == name), None)
        if found is None:
            return f"{name}: does not apply"
        return f"{name}: {found.value}; {found.how}"

    @property
    def cells(self) -> dict[str, str]:
        """Heading to text, for every column of a table of encodings."""
        return {
            "encoding": self.title,
            "family": self.family,
            "year": str(self.year),
            **{heading: self.value(name) for name, heading in HEADINGS.items()},
            "used in": ", ".join(self.used_in) or NONE,
            "source": self.source + (f", arXiv:{self.arxiv}" if self.arxiv else ""),
        }


def rows() -> tuple[Row, ...]:
    """A row for every encoding, by family and year."""
    return tuple(_row(encoding) for encoding in catalog())


def _row(encoding: type[Encoding]) -> Row:
    return Row(
        id=encoding.id,
        title=encoding.title,
        family=encoding.family,
        year=encoding.year,
        sources=encoding.sources,
        used_in=encoding.used_in,
        properties=properties(encoding()),
    )


def csv_text(chosen: Sequence[Row]) -> str:
    """Rows as a CSV file, the id before the columns that tables show."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    lines = [{"id": row.id, **row.cells} for row in chosen]
    writer.writerow(lines[0] if lines else ["id"])
    writer.writerows(line.values() for line in lines)
    return file.getvalue()
