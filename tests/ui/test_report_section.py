"""The report on the context-extension page, without a browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from posviz import configs
from posviz.ui.context_extension.address import pack, write_address

ROOT = Path(__file__).parents[2]
PAGE = "pages/context_extension.py"
STATE = "context_extension"
HEAD = {"hidden_size": 4096, "num_attention_heads": 32, "rope_theta": 1000000.0}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
WARNED = {**HEAD, "max_position_embeddings": 40960, "rope_scaling": YARN}
HALF = {"rope_type": "linear", "factor": 0.5}
WRONG = {**HEAD, "max_position_embeddings": 32768, "rope_scaling": HALF}


def opened(config: dict[str, Any] | None = None, **parameters: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    if config is not None:
        parameters["config"] = pack(config)
    for name, value in parameters.items():
        app.query_params[name] = value
    app.switch_page(PAGE).run()
    assert not app.exception
    return app


def pasted(app: AppTest, config: Any) -> AppTest:
    text = config if isinstance(config, str) else json.dumps(config)
    app.text_area[0].set_value(text)
    next(each for each in app.button if each.label == "Read it").click().run()
    assert not app.exception
    return app


def button(app: AppTest, start: str) -> Any:
    plain = {each.label.replace("\\", ""): each for each in app.button}
    return next(each for label, each in plain.items() if label.startswith(start))


def heading(app: AppTest) -> str:
    return next(
        each.value for each in app.markdown if "**" in each.value and "Report:" in each.value
    )


def test_a_warning_stands_open_with_its_code_and_sentence() -> None:
    app = opened(WARNED)
    assert "1 warning" in heading(app)
    (warning,) = app.warning
    assert warning.value.startswith("**PV121** factor × original = 131072 differs from")


def test_what_is_right_is_counted_and_folded_away() -> None:
    app = opened(model="llama-3.1-8b")
    assert not app.warning
    assert not app.error
    report = configs.check(app.session_state[STATE].view.model)
    right = sum(each.severity == "ok" for each in report.diagnoses)
    assert right > 0
    assert f"{right} checked and right" in heading(app)


def test_a_change_is_applied_by_one_click_and_undone_by_one() -> None:
    app = opened(WARNED)
    before = app.session_state[STATE].view
    told = [each.value.replace("\\", "") for each in app.markdown]
    assert "Suggested change: set max_position_embeddings to 131072." in told
    button(app, "Apply PV121").click().run()
    assert not app.exception
    changed = app.session_state[STATE].view
    assert changed.model.config["max_position_embeddings"] == 131072
    assert not any("PV121" in each.value for each in app.warning)
    button(app, "Undo PV121").click().run()
    assert app.session_state[STATE].view.source == before.source
    assert "PV121" in app.warning[0].value
    assert not any(each.label.startswith("Undo") for each in app.button)


def test_a_configuration_that_cannot_be_drawn_is_reported_and_can_be_mended() -> None:
    app = pasted(opened(), WRONG)
    assert "cannot be drawn" in app.error[0].value
    assert any("**PV113**" in each.value for each in app.error)
    first = app.session_state[STATE].view.source
    button(app, "Apply PV113").click().run()
    assert not any("cannot be drawn" in each.value for each in app.error)
    view = app.session_state[STATE].view
    assert view.model.config["rope_scaling"]["factor"] == 2.0
    assert view.values["a"] == "linear"
    button(app, "Undo PV113").click().run()
    assert "cannot be drawn" in app.error[0].value
    assert app.session_state[STATE].rejected[0].config == WRONG
    # The model that stood there before the paste is still the one that is drawn.
    assert app.session_state[STATE].view.source in (first, view.source)


def test_nothing_of_an_unreadable_text_is_lost() -> None:
    app = pasted(opened(), '{"rope_theta": 1e4,')
    assert app.error[0].value.startswith("This is not JSON")
    assert app.text_area[0].value == '{"rope_theta": 1e4,'


def test_a_diagnosis_leads_to_its_plot_and_its_pair() -> None:
    app = opened(model="gpt-oss-20b")
    app.selectbox(key="report_runtime").select("llama_cpp").run()
    session = app.session_state[STATE]
    shown = button(app, "Show pair")
    first = int(shown.label.split()[2])
    shown.click().run()
    assert session.view.values["pair"] == first
    assert (session.focus, session.pointed) == ("divisors", 1) or session.pointed == 1


def test_a_length_that_is_wanted_changes_the_report() -> None:
    app = opened(model="llama-2-7b") if _has("llama-2-7b") else opened(WARNED)
    before = heading(app)
    app.number_input(key="report_target").set_value(1_000_000).run()
    assert not app.exception
    assert heading(app) != before
    assert app.warning


def _has(preset_id: str) -> bool:
    return any(each.id == preset_id for each in configs.presets())


@pytest.mark.parametrize("preset", configs.presets(), ids=lambda preset: preset.id)
def test_every_released_model_has_a_report_without_an_error(preset: configs.Preset) -> None:
    report = configs.check(preset.config)
    assert report.severity in ("ok", "info") or preset.id == "qwen2.5-7b-yarn"
    assert report.diagnoses


def test_undo_brings_every_tuned_value_back() -> None:
    app = opened(model="qwen2.5-7b-yarn", **{"a.beta_fast": "16", "target": "65536", "b": "linear"})
    before = app.session_state[STATE].view
    button(app, "Apply PV121").click().run()
    assert app.session_state[STATE].view.source != before.source
    button(app, "Undo PV121").click().run()
    after = app.session_state[STATE].view
    assert after.values == before.values
    assert after.source == before.source


def test_undo_of_a_mended_file_shows_the_model_before_it_again() -> None:
    app = pasted(opened(model="gemma-3-4b"), WRONG)
    before = app.session_state[STATE].view
    button(app, "Apply PV113").click().run()
    button(app, "Undo PV113").click().run()
    assert app.session_state[STATE].view.source == before.source == "model=gemma-3-4b"


def test_the_length_that_is_wanted_moves_the_plots_and_the_factor_where_there_is_none() -> None:
    app = opened(model="llama-2-7b")
    app.number_input(key="report_target").set_value(20480).run()
    view = app.session_state[STATE].view
    assert (view.target_length, view.values["scaling_factor"]) == (20480, 5.0)
    extended = opened(model="llama-3.1-8b")
    extended.number_input(key="report_target").set_value(65536).run()
    own = extended.session_state[STATE].view
    assert (own.target_length, own.values["scaling_factor"]) == (65536, 8.0)


def test_a_length_that_no_plot_can_show_is_reported_all_the_same() -> None:
    app = opened(model="llama-2-7b")
    before = app.session_state[STATE].view.values
    app.number_input(key="report_target").set_value(1 << 30).run()
    session = app.session_state[STATE]
    assert session.view.values == before
    assert session.view.wanted == 1 << 30
    assert "The plots stay as they were." in session.problems[0]


def test_the_report_s_question_is_part_of_the_address() -> None:
    app = opened(model="llama-2-7b", runtime="vllm", wanted="8192")
    view = app.session_state[STATE].view
    assert (view.runtime, view.wanted) == ("vllm", 8192)
    assert app.selectbox(key="report_runtime").value == "vllm"
    assert write_address(view) == {"model": "llama-2-7b", "runtime": "vllm", "wanted": "8192"}
    assert "PV204" in app.warning[0].value
    bad = opened(model="llama-2-7b", runtime="vlm", wanted="many")
    first, second = bad.session_state[STATE].problems
    assert "there is no runtime 'vlm'; closest: vllm" in first
    assert "wanted must be a whole number from 1 to 1,073,741,824; got 'many'" in second


def test_a_choice_of_another_model_keeps_the_report_s_question() -> None:
    app = opened(model="llama-2-7b", runtime="sglang", wanted="8192")
    app.selectbox[0].select("llama-3.1-8b").run()
    view = app.session_state[STATE].view
    assert (view.source, view.runtime, view.wanted) == ("model=llama-3.1-8b", "sglang", 8192)


def test_a_text_and_a_file_are_not_read_one_for_the_other() -> None:
    app = opened()
    app.text_area[0].set_value(json.dumps(WRONG))
    app.file_uploader[0].set_value(("config.json", json.dumps(WARNED).encode(), "application/json"))
    button(app, "Read it").click().run()
    assert app.error[0].value.replace("\\", "") == (
        "There are a text and a file: empty the one that is not meant."
    )
    app.text_area[0].set_value("")
    button(app, "Read it").click().run()
    assert app.session_state[STATE].view.model.config == WARNED
    # The place for a file is empty again, so that a text is read next.
    pasted(app, {**WARNED, "max_position_embeddings": 131072})
    assert app.session_state[STATE].view.model.config["max_position_embeddings"] == 131072
