"""The second configuration of the context-extension page: choice, numbers, figures, link."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qsl

import pytest
from streamlit.testing.v1 import AppTest

from posviz import configs
from posviz.ui import exchange
from posviz.ui.context_extension.address import (
    LARGEST_PACKED,
    has_room,
    pack,
    read_address,
    source_of_config,
    write_address,
)
from posviz.ui.context_extension.board import DESK, Session, answer
from posviz.ui.context_extension.view import View

HARD_CODED = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "max_position_embeddings": 16384,
    "rope_theta": 10000.0,
}
TRAINED = {**HARD_CODED, "rope_theta": 1000000.0}


def section() -> None:
    import streamlit as st

    from posviz.ui.context_extension import ab
    from posviz.ui.context_extension.address import read_address
    from posviz.ui.context_extension.board import Session

    if "session" not in st.session_state:
        st.session_state["session"] = Session(*read_address(dict(st.query_params)))
    ab.show(st.session_state["session"])


def opened(**address: str) -> AppTest:
    app = AppTest.from_function(section, default_timeout=60)
    for name, value in address.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    return app


def compared(app: AppTest) -> str:
    return str(app.session_state["session"].view.compared)


def tables(app: AppTest) -> list[str]:
    return [one.proto.body for one in app.get("html") if "posviz-differences" in one.proto.body]


def charts(app: AppTest) -> list[dict[str, Any]]:
    return [json.loads(one.proto.spec) for one in app.get("plotly_chart")]


def bullets(app: AppTest) -> str:
    return "\n".join(one.value for one in app.markdown)


def view_of(**address: str) -> View:
    view, problems = read_address(address)
    assert problems == []
    return view


def test_without_a_second_configuration_there_is_a_choice_and_nothing_is_drawn() -> None:
    app = opened()
    assert compared(app) == ""
    assert app.selectbox[0].value == ""
    assert not tables(app)
    assert not charts(app)
    assert not app.expander[0].proto.expanded


def test_a_hard_coded_base_is_told_in_rows_sentences_and_figures() -> None:
    app = opened(config=pack(TRAINED), b_config=pack(HARD_CODED))
    differing, alike = tables(app)
    assert "<td>base</td><td>1000000</td><td>10000</td>" in differing
    assert differing.count("<tr>") == 2
    assert "<td>head_dim</td><td>128</td><td>128</td>" in alike
    said = bullets(app)
    # 100^(63/64) - 1
    assert "Largest relative frequency error 9205.7204%, at pair 63" in said
    assert "once in 5,063,255.79 tokens in A, in 54,410.14 in B" in said
    assert "At distance 2 the scores of equal q and k first differ by at least 1% of A's" in said
    assert "Neither has a factor on the logits." in said
    waves, scores, error = charts(app)
    assert [trace["name"] for trace in waves["data"]] == ["B", "A"]
    assert waves["layout"]["showlegend"] is True
    assert waves["data"][1]["line"]["width"] > waves["data"][0]["line"]["width"]
    assert waves["data"][1]["line"]["color"] != waves["data"][0]["line"]["color"]
    assert scores["layout"]["xaxis"]["title"]["text"] == "distance (tokens)"
    assert [trace["name"] for trace in error["data"]] == ["B against A"]


def test_the_same_configuration_differs_in_nothing() -> None:
    app = opened(model="llama-3-8b", b_model="llama-3-8b")
    assert len(tables(app)) == 1
    said = bullets(app)
    assert "No number that both have differs." in said
    assert "Every pair that turns in A turns as fast in B." in said
    assert "Within 8,192 tokens the scores of equal q and k never differ by at least 1%" in said
    assert len(charts(app)) == 2


def test_choosing_a_preset_and_none_again() -> None:
    app = opened(model="llama-2-7b")
    app.selectbox[0].select("llama-3-8b").run()
    assert not app.exception
    assert compared(app) == "model=llama-3-8b"
    assert app.selectbox[0].value == "llama-3-8b"
    assert len(charts(app)) == 3
    app.selectbox[0].select("").run()
    assert not app.exception
    assert compared(app) == ""
    assert not charts(app)


def test_a_pasted_configuration_becomes_b_and_its_messages_are_marked() -> None:
    app = opened(config=pack(TRAINED))
    yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8192}
    app.text_area(key="b_pasted").input(json.dumps({**TRAINED, "rope_scaling": yarn}))
    app.button(key="b_read").click().run()
    assert not app.exception
    assert compared(app).startswith("config=")
    assert app.selectbox[0].value == compared(app)
    assert any(one.value.startswith("B: ") and "16384" in one.value for one in app.warning)
    differing, in_one, _ = tables(app)
    assert "<td>rope_type</td><td>default</td><td>yarn</td>" in differing
    assert "<td>scaling_factor</td><td>—</td><td>4</td><td>no such number</td>" in in_one
    said = bullets(app)
    # m = 0.1 ln 4 + 1, squared on the logits
    assert "Attention factor 1 in A, 1.13863 in B" in said
    assert "all factors on the logits together 1 and 1.29648" in said
    assert "At distance 0 the scores of equal q and k first differ" in said
    assert "Without the factors on the logits they first do at" in said


@pytest.mark.parametrize(("text", "sentence"), [("{", "JSON"), ("[1]", "object"), ("", "empty")])
def test_text_that_is_no_configuration_gives_a_sentence(text: str, sentence: str) -> None:
    app = opened(b_model="llama-2-7b")
    app.text_area(key="b_pasted").input(text)
    app.button(key="b_read").click().run()
    assert not app.exception
    assert sentence in app.error[0].value
    assert compared(app) == "model=llama-2-7b"
    app.selectbox[0].select("llama-3-8b").run()
    assert not app.error


def test_each_layer_type_of_b_stands_beside_the_one_rotation_of_a() -> None:
    app = opened(model="llama-2-7b", b_model="gemma-3-1b")
    said = bullets(app)
    assert "**Layers of type full\\_attention**" in said
    assert "**Layers of type sliding\\_attention**" in said
    assert "A rotates 128 dimensions and B 256" in said
    assert len(charts(app)) == 4


def test_of_a_model_with_layer_types_the_one_on_the_page_is_compared() -> None:
    app = opened(model="gemma-3-1b", layer="sliding_attention", b_model="gemma-2-9b")
    said = bullets(app)
    assert "Layers of type sliding\\_attention" in said
    assert "Layers of type full" not in said
    assert "Every pair that turns in A turns as fast in B." in said


def test_a_model_without_rotation_leaves_the_rows_and_the_reason() -> None:
    alibi = {"model_type": "bloom", "n_head": 32, "hidden_size": 4096, "seq_length": 2048}
    app = opened(model="llama-2-7b", b_config=pack(alibi))
    assert "<td>base</td><td>10000</td><td>—</td>" in tables(app)[0]
    assert r"B cannot be compared\: This model does not rotate" in bullets(app)
    assert not charts(app)


def test_a_configuration_that_cannot_be_drawn_is_still_compared_in_rows() -> None:
    app = opened(model="llama-2-7b", b_model="llama-2-7b")
    rejected = configs.read({**HARD_CODED, "hidden_size": 520, "num_attention_heads": 8})
    app.session_state["session"].rejected = (rejected, "why")
    app.run()
    assert not app.exception
    assert "<td>head_dim</td><td>65</td><td>128</td>" in tables(app)[0]
    assert r"A cannot be compared\: " in bullets(app)


def test_what_a_file_says_is_shown_as_it_is() -> None:
    odd = {**HARD_CODED, "rope_scaling": {"rope_type": "<b>**x** [y](http://a)</b>"}}
    app = opened(model="llama-2-7b", b_config=pack(odd))
    assert any(r"\*\*x\*\* \[y\]\(http\://a\)" in one.value for one in app.error)
    assert not any("<b>" in one for one in tables(app))


def test_a_window_that_a_page_cannot_work_out_is_cut_and_told() -> None:
    large = {**HARD_CODED, "head_dim": 512, "max_position_embeddings": 8_000_000}
    app = opened(model="llama-2-7b", b_config=pack(large))
    # 2^28 cosines for 256 pairs
    told = "has 8,000,000 tokens; the page compares both at 1,048,576"
    assert any(told in one.value for one in app.caption)


@pytest.mark.parametrize("source", ["model=llama-3-8b", "config=" + pack(HARD_CODED)])
def test_an_address_restores_the_second_configuration(source: str) -> None:
    kind, _, name = source.partition("=")
    view = view_of(model="llama-2-7b", b="yarn", **{f"b_{kind}": name})
    assert view.compared == source
    written = write_address(view)
    assert written == {"model": "llama-2-7b", "b": "yarn", f"b_{kind}": name}
    assert read_address(written)[0] == view


def test_the_second_configuration_outlives_another_model_a_reset_and_moving_controls() -> None:
    view = view_of(b_model="llama-3-8b")
    session = Session(view)
    session.open(view_of(model="llama-2-7b"))
    assert session.view.compared == "model=llama-3-8b"
    answer(session, {"seq": 1, "values": {"target": 8192}})
    assert session.view.compared == "model=llama-3-8b"
    reply = answer(session, {"seq": 2, "action": "reset"})
    written = dict(parse_qsl(reply["address"]))
    assert written == {"model": "llama-2-7b", "b_model": "llama-3-8b"}
    question = {**reply["direct"]["question"], "values": DESK.values(session.view)}
    moving = exchange.live_answer(DESK, question)
    assert dict(parse_qsl(moving["address"])) == written


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ({"b_model": "lama-2"}, "There is no preset 'lama-2'"),
        ({"b_config": "@@@"}, "The configuration in the address is damaged"),
        ({"b_config": pack({"x": 1})}, "Nothing in this configuration is about rotary positions"),
    ],
)
def test_an_address_with_no_usable_second_configuration_says_so(
    address: dict[str, str], sentence: str
) -> None:
    view, problems = read_address(address)
    assert view.compared == ""
    assert len(problems) == 1
    assert problems[0].startswith(f"From the address: {sentence}")
    assert problems[0].endswith("There is no second configuration now.")


def test_two_configurations_that_fill_no_address_leave_the_second_out_and_tell() -> None:
    noise = "".join(chr(33 + (7 * i * i + i // 5) % 90) for i in range(9000))
    # Shuffled text hardly packs: each fits alone, both together do not.
    import random

    characters = list(noise)
    random.Random(1).shuffle(characters)
    long = {**HARD_CODED, "comment": "".join(characters)}
    source = source_of_config(configs.read(long))
    assert LARGEST_PACKED / 2 < len(source) <= LARGEST_PACKED + len("config=")
    packed = source.removeprefix("config=")
    view = view_of(config=packed, b_model="llama-2-7b")
    assert has_room(view)
    app = opened(config=packed, b_config=packed)
    session = app.session_state["session"]
    assert session.view.compared == source
    assert not has_room(session.view)
    assert "b_config" not in write_address(session.view)
    assert any("leaves the second configuration out" in one.value for one in app.caption)
