"""Every page, and the context-extension page with every method, without a browser."""

import json
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

import posviz
from posviz.encodings.rotary import RotaryEncoding

ROOT = Path(__file__).parents[2]
PAGE = "pages/context_extension.py"
ROTARY = [e.id for e in posviz.catalog() if issubclass(e, RotaryEncoding)]


def opened(page, **parameters):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.run()
    for name, value in parameters.items():
        app.query_params[name] = value
    app.switch_page(page).run()
    assert not app.exception
    return app


def session_of(app):
    return app.session_state["context_extension"]


def test_home_shows_a_picture_and_six_ways_in():
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    assert not app.exception
    drawn = json.loads(app.get("plotly_chart")[0].proto.spec)
    assert drawn["layout"]["xaxis"]["title"]["text"] == "pair (0 is the fastest)"
    ways = ["Teach it", "Tune it", "Check it", "Watch it", "Measure it", "Train it"]
    assert [heading.value for heading in app.subheader] == ways
    assert len(app.get("page_link")) == 8 + 6


@pytest.mark.parametrize("encoding_id", ROTARY)
def test_context_extension_page_runs_with_every_method(encoding_id):
    app = opened(PAGE, b=encoding_id)
    assert session_of(app).view.values["b"] == encoding_id
    assert len(app.get("bidi_component")) == 1
    assert not app.error
    assert not app.warning


def test_choosing_a_preset_opens_its_own_method():
    app = opened(PAGE)
    app.selectbox[0].select("llama-3.1-8b").run()
    assert not app.exception
    view = session_of(app).view
    assert view.values["a"] == "llama3"
    assert view.target_length == 131072  # its window: the factor 8 is no ratio of lengths


def test_every_resolved_number_stands_in_the_table_with_its_origin():
    app = opened(PAGE, model="llama-3.1-8b")
    table = next(one.proto.body for one in app.get("html") if "posviz-resolved" in one.proto.body)
    assert "<td>base</td><td>500000</td><td>rope_theta</td>" in table
    assert "<td>head_dim</td><td>128</td><td>hidden_size / num_attention_heads = 4096 / 32" in table


def test_a_pasted_configuration_is_read_and_its_messages_are_shown():
    app = opened(PAGE)
    config = {
        "hidden_size": 4096,
        "num_attention_heads": 32,
        "max_position_embeddings": 40960,
        "rope_theta": 1000000.0,
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 4.0,
            "original_max_position_embeddings": 32768,
        },
    }
    app.text_area(key="pasted").input(json.dumps(config))
    app.button[0].click().run()
    assert not app.exception
    assert session_of(app).view.trained_length == 32768
    assert any("131072" in warning.value and "40960" in warning.value for warning in app.warning)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{", "JSON"),
        ("[1, 2]", "object"),
        ("", "empty"),
    ],
)
def test_text_that_is_no_configuration_gives_a_sentence_and_the_page_stays(text, sentence):
    app = opened(PAGE)
    app.text_area(key="pasted").input(text)
    app.button[0].click().run()
    assert not app.exception
    assert sentence in app.error[0].value
    assert len(app.get("bidi_component")) == 1


def test_a_configuration_that_cannot_be_drawn_is_refused_in_words():
    app = opened(PAGE)
    config = {
        "hidden_size": 520,
        "num_attention_heads": 8,
        "max_position_embeddings": 2048,
        "rope_theta": 10000,
    }
    app.text_area(key="pasted").input(json.dumps(config))
    app.button[0].click().run()
    assert not app.exception
    assert app.error[0].value.startswith("Your configuration cannot be drawn, for the reasons")
    assert "The rotary dimension must be even" in app.error[1].value
    assert "65" in app.error[1].value
    assert session_of(app).view.source == "model=yarn-llama-2-7b-64k"


def test_a_bad_address_is_reported_on_the_page():
    app = opened(PAGE, model="lama-2")
    assert len(app.get("bidi_component")) == 1
    assert "There is no preset 'lama-2'" in session_of(app).problems[0]


def test_messages_quote_the_file_s_own_keys_literally():
    app = opened(PAGE)
    config = {
        "hidden_size": 512,
        "num_attention_heads": 8,
        "max_position_embeddings": 2048,
        "rope_theta": 10000,
        "rope_scaling": {"rope_type": "**bold** [x](http://a)"},
    }
    app.text_area(key="pasted").input(json.dumps(config))
    app.button[0].click().run()
    assert not app.exception
    assert r"\*\*bold\*\* \[x\]\(http\://a\)" in app.error[1].value


ALL = [encoding.id for encoding in posviz.catalog()]


@pytest.mark.parametrize("encoding_id", ALL)
def test_explore_page_runs_with_every_encoding(encoding_id):
    app = opened("pages/explore.py", encoding=encoding_id)
    encoding = posviz.get(encoding_id)
    assert app.session_state["explore"].view.values["encoding"] == encoding_id
    assert len(app.get("bidi_component")) == 1
    assert not app.error
    assert app.latex[0].value.strip("$\n ") == encoding.formula
    words = [one.value for one in app.markdown]
    assert encoding.shows in words
    assert encoding.limits in words
    for sentence in encoding.misread:
        assert f"- {sentence}" in words
    assert encoding.sources[0].text in [one.value for one in app.get("text")]
    cautions = [one.value for one in app.caption if encoding.title in one.value]
    assert bool(cautions) == encoding.is_learned


@pytest.mark.parametrize("encoding_id", ALL)
def test_compare_page_runs_with_every_encoding(encoding_id):
    app = opened("pages/compare.py", a=encoding_id)
    assert len(app.get("bidi_component")) == 1
    assert not app.error
    sentence = next(one.value for one in app.markdown if one.value.startswith("**A · "))
    assert posviz.get(encoding_id).title in sentence


def test_another_family_opens_its_first_encoding():
    app = opened("pages/explore.py")
    app.get("button_group")[0].set_value("bias").run()
    assert not app.exception
    chosen = app.session_state["explore"].view.values["encoding"]
    assert posviz.get(chosen).family == "bias"
    app.selectbox[0].select("alibi").run()
    assert app.session_state["explore"].view.values["encoding"] == "alibi"


def test_the_catalog_lists_all_and_finds_by_word_and_family():
    app = opened("pages/catalog.py")

    def table():
        return next(one.proto.body for one in app.get("html") if "posviz-catalog" in one.proto.body)

    assert all(f"encoding={each}'" in table() for each in ALL)
    app.text_input[0].set_value("press smith").run()
    assert "encoding=alibi'" in table()
    assert table().count("<tr>") < 6
    app.text_input[0].set_value("no such thing").run()
    assert app.info[0].value.startswith("No encoding fits.")
