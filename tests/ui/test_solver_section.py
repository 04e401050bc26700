"""The solver on the context-extension page, without a browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).parents[2]
PAGE = "pages/context_extension.py"


def opened(**parameters: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    for name, value in parameters.items():
        app.query_params[name] = value
    app.session_state["solver_open"] = True
    app.switch_page(PAGE).run()
    assert not app.exception
    return app


def tables(app: AppTest) -> str:
    return " ".join(each.proto.body for each in app.get("html"))


def number(app: AppTest, label: str):
    return next(each for each in app.number_input if each.label == label)


def test_every_rule_stands_beside_the_others_with_its_source() -> None:
    app = opened(model="llama-2-7b", wanted="16384")
    shown = tables(app)
    # b·s^(d/(d-2)) for 10000, 4, 128
    assert "rope_theta = 40889.94243" in shown
    assert "rope_type = yarn, factor = 4" in shown
    assert "arXiv:2309.00071" in shown
    assert "Smallest base by Men" in shown


def test_a_length_within_the_window_needs_nothing() -> None:
    app = opened(model="llama-2-7b")
    number(app, "Length to reach (tokens)").set_value(4096).run()
    assert "No extension" in tables(app)


def test_alpha_is_read_under_every_definition() -> None:
    app = opened(model="llama-2-7b")
    number(app, "Its value").set_value(20.0).run()
    shown = tables(app)
    assert "209740.0009" in shown
    assert ">200000<" in shown
    assert any("6 definitions" in each.value for each in app.markdown)


@pytest.mark.parametrize(("label", "value"), [("Its value", 0.0), ("Its value", -1.0)])
def test_what_cannot_be_converted_is_a_sentence(label: str, value: float) -> None:
    app = opened(model="llama-2-7b")
    number(app, label).set_value(value).run()
    assert not app.exception
    assert "must be" in app.error[0].value


def test_nothing_is_worked_out_while_it_is_closed() -> None:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    app.switch_page(PAGE).run()
    assert "posviz-rules" not in tables(app)
