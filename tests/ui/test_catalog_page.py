"""The catalog page: its rows, filters and order, without a browser."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import posviz
from posviz import overview
from posviz.encodings.base import Source
from posviz.measures import Property
from posviz.overview import NONE, Row
from posviz.ui import catalog_page
from posviz.ui.catalog_page import Wanted

ROOT = Path(__file__).parents[2]
COUNT = len(posviz.catalog())
BIASES = [encoding for encoding in posviz.catalog() if encoding.family == "bias"]


def opened(**parameters):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    for name, value in parameters.items():
        app.query_params[name] = value
    app.switch_page("pages/catalog.py").run()
    assert not app.exception
    return app


def table_of(app):
    bodies = [one.proto.body for one in app.get("html")]
    return next((body for body in bodies if "posviz-catalog'" in body), "")


def titles_of(app):
    return re.findall(r"<th scope='row'><a [^>]*>([^<]*)</a>", table_of(app))


def counted(app):
    return [caption.value for caption in app.caption if " of " in caption.value][-1]


@pytest.fixture(scope="module")
def everything():
    return overview.rows()


def test_every_encoding_has_a_row_that_leads_to_its_page():
    table = table_of(opened())
    links = re.findall(r"<a href='explore\?encoding=(\w+)'>([^<]*)</a>", table)
    assert links == [(encoding.id, encoding.title) for encoding in posviz.catalog()]


def test_the_picture_has_a_mark_for_every_encoding():
    drawn = json.loads(opened().get("plotly_chart")[0].proto.spec)
    texts = [text for trace in drawn["data"] for text in trace["text"]]
    assert len(texts) == COUNT
    assert "ALiBi" in texts


def test_families_words_and_numbers_narrow_the_table_and_the_count_is_said():
    app = opened()
    assert counted(app) == f"{COUNT} of {COUNT} encodings"
    app.pills(key="family").set_value(["bias"]).run()
    assert counted(app) == f"{len(BIASES)} of {COUNT} encodings"
    app.text_input(key="find").set_value("bloom").run()
    assert titles_of(app) == ["ALiBi"]
    app.text_input(key="find").set_value("").run()
    app.segmented_control(key="numbers").set_value("designed").run()
    assert titles_of(app) == [one.title for one in BIASES if not one.is_learned]
    assert not app.exception


def test_an_address_restores_filters_and_order():
    app = opened(family="mask", sort="year", reversed="true")
    assert titles_of(app) == ["Sliding window", "Causal mask"]
    assert "<th scope='col' aria-sort='descending'>year ▼</th>" in table_of(app)


def test_values_of_an_address_that_are_not_known_are_reported():
    app = opened(family="biass", sort="yaer")
    assert [warning.value for warning in app.warning] == [
        "The address has a value of family that is not known; closest: bias.",
        "The address has a value of sort that is not known; closest: year.",
    ]
    assert counted(app) == f"{COUNT} of {COUNT} encodings"


def test_an_empty_table_says_how_to_see_more():
    app = opened(family="bias", find="xyzzy", numbers="learned")
    assert counted(app) == f"0 of {COUNT} encodings"
    assert app.info[0].value == (
        "No encoding fits. To see some: search for fewer words; or choose more families, or none "
        "for all; or choose other numbers than learned."
    )
    assert table_of(app) == ""


@pytest.mark.parametrize("order", overview.rows()[0].cells)
def test_every_column_sorts_both_ways_with_the_unknown_last(everything, order):
    for is_reversed in (False, True):
        found = Wanted(order=order, is_reversed=is_reversed).rows(everything)
        assert sorted(row.id for row in found) == sorted(row.id for row in everything)
        cells = [row.cells[order] for row in found]
        known = [cell.lower() for cell in cells if cell != NONE]
        assert known == sorted(known, reverse=is_reversed)
        assert cells[len(known) :] == [NONE] * (len(cells) - len(known))


def test_every_word_must_fit_somewhere_in_the_row_or_its_sources(everything):
    found = Wanted(words="  attention VASWANI ").rows(everything)
    assert "sinusoidal" in [row.id for row in found]
    assert "alibi" not in [row.id for row in found]
    assert [row.id for row in Wanted(words="bloom 2108.12409").rows(everything)] == ["alibi"]


def test_text_of_an_encoding_is_never_markup():
    bad = "<b onclick='x'>\"&"
    source = Source(title=bad, authors=bad, year=2020, arxiv=bad)
    properties = (Property("gives", bad, bad), Property("numbers", "learned", bad))
    row = Row("a_b", bad, bad, 2020, (source,), (bad,), properties)
    table = catalog_page.table([row], Wanted())
    assert "<b " not in table
    assert "onclick='" not in table
    assert table.count("&lt;b onclick=&#x27;x&#x27;&gt;&quot;&amp;") >= 6


def test_the_shown_rows_download_as_csv():
    app = opened(family="mask")
    assert len(app.get("download_button")) == 1


def test_the_code_on_the_page_prints_every_encoding(capsys):
    app = opened()
    exec(app.code[0].value, {})
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == COUNT
    assert "alibi 2021 yes" in lines
