"""The rows that the catalog page, the documentation and the README share."""

from __future__ import annotations

import csv
import io

import pytest

from posviz import overview
from posviz.catalog import catalog
from posviz.encodings.base import Source
from posviz.measures import Property
from posviz.overview import HEADINGS, NONE, Row


@pytest.fixture(scope="module")
def rows() -> dict[str, Row]:
    return {row.id: row for row in overview.rows()}


def row_by(authors: str, **more: str) -> Row:
    source = Source(title="A title", authors=authors, year=2020, **more)
    found = (Property("numbers", "learned", "trained"),)
    return Row("x", "X", "bias", 2019, (source,), (), found)


def test_every_encoding_has_a_row_in_the_order_of_the_catalog(rows: dict[str, Row]) -> None:
    assert list(rows) == [encoding.id for encoding in catalog()]


@pytest.mark.parametrize("name", HEADINGS)
def test_a_column_speaks_of_a_property_that_some_encoding_has(
    rows: dict[str, Row], name: str
) -> None:
    assert {row.value(name) for row in rows.values()} != {NONE}


def test_properties_stand_in_the_columns_as_short_words(rows: dict[str, Row]) -> None:
    alibi, sinusoidal, rope = rows["alibi"].cells, rows["sinusoidal"].cells, rows["rope"].cells
    assert (alibi["gives"], sinusoidal["gives"], rope["gives"]) == ("bias", "vector", "rotation")
    assert (alibi["causal only"], rope["causal only"]) == ("yes", NONE)
    assert (alibi["falls always"], rope["falls always"]) == ("yes", "no")
    assert (alibi["numbers"], rows["t5"].cells["numbers"]) == ("designed", "learned")
    assert (rope["relative"], rows["fire"].cells["relative"]) == ("yes", "no")
    assert rows["learned"].cells["any position"] == "no"
    longest = max(len(row.value(name)) for row in rows.values() for name in HEADINGS)
    assert longest <= len("designed")


def test_how_a_property_was_found_says_the_property_and_its_full_value(
    rows: dict[str, Row],
) -> None:
    how = rows["alibi"].how("gives")
    assert how == "gives: a number per head, query and key; added to the logits in every layer"
    assert rows["rope"].how("needs a causal mask") == "needs a causal mask: does not apply"


@pytest.mark.parametrize(
    ("authors", "words"),
    [
        ("Su", "Su 2020"),
        ("Wennberg, Henter", "Wennberg & Henter 2020"),
        ("Press, Smith, Lewis", "Press et al. 2020"),
        ("Vaswani et al.", "Vaswani et al. 2020"),
    ],
)
def test_many_authors_become_the_first_of_them(authors: str, words: str) -> None:
    assert row_by(authors).source == words
    assert row_by(authors, arxiv="2000.1").cells["source"] == f"{words}, arXiv:2000.1"


def test_what_is_not_known_is_a_dash_and_the_year_is_the_encoding_s() -> None:
    cells = row_by("Su").cells
    assert (cells["used in"], cells["relative"], cells["year"]) == (NONE, NONE, "2019")


def test_models_are_claimed_by_an_encoding_itself_and_not_by_the_one_it_builds_on() -> None:
    heirs = [one.id for one in catalog() if one.used_in and "used_in" not in vars(one)]
    assert heirs == []


def test_the_csv_has_the_id_and_every_column(rows: dict[str, Row]) -> None:
    chosen = [rows["yarn"], rows["alibi"]]
    lines = list(csv.DictReader(io.StringIO(overview.csv_text(chosen))))
    assert [line.pop("id") for line in lines] == ["yarn", "alibi"]
    assert lines == [row.cells for row in chosen]
    assert overview.csv_text([]) == "id\n"
