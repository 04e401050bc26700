"""The state of the context-extension page: views, addresses, exchanges with the board."""

import base64
import csv
import io
import json
import zlib

import numpy as np
import pytest

import posviz
from posviz import configs
from posviz.configs import ConfigError
from posviz.encodings.rotary import RotaryEncoding
from posviz.ui.context_extension import address
from posviz.ui.context_extension.board import Session, answer
from posviz.ui.context_extension.panels import board_panels, scene
from posviz.ui.context_extension.texts import texts
from posviz.ui.context_extension.view import first_view, rotating_layers

ROTARY = [e.id for e in posviz.catalog() if issubclass(e, RotaryEncoding)]
PRESETS = [preset.id for preset in configs.presets()]


def opened(**parameters):
    view, problems = address.read_address({k.replace("__", "."): v for k, v in parameters.items()})
    assert problems == []
    return view


def asked(reply, number, **values):
    return {
        "seq": number,
        "values": {**reply["values"], **values},
        "have": {panel["id"]: panel["key"] for panel in reply["panels"]},
        "controls_key": reply["controls_key"],
        "texts_key": reply["texts_key"],
    }


def panel(reply, panel_id):
    return next(one for one in reply["panels"] if one["id"] == panel_id)


def trace(packed, name):
    return next(one for one in packed["figure"]["data"] if one["name"] == name)


@pytest.mark.parametrize("preset_id", PRESETS)
def test_every_preset_opens_with_an_extension_and_fills_every_panel(preset_id):
    view = opened(model=preset_id)
    at = scene(view)
    assert len(at.methods) == 2
    for _, make in board_panels(at).values():
        made = make(at)
        drawn = (one.get("z", one["y"]) for one in made.figure.data)
        assert all(np.isfinite(numbers).any() for numbers in drawn)


@pytest.mark.parametrize("preset_id", PRESETS)
def test_first_view_runs_with_the_frequencies_that_the_reader_gives(preset_id):
    model = configs.read(configs.presets()[PRESETS.index(preset_id)].config)
    view = opened(model=preset_id)
    own = model.spec(view.layer_type)
    shown = view.spec("a") if own.family == "extension" else view.unscaled
    length = 4 * view.trained_length
    np.testing.assert_array_equal(shown.frequencies(length), own.frequencies(length))
    assert shown.magnitude(length) == pytest.approx(own.magnitude(length), rel=1e-15)


@pytest.mark.parametrize("encoding_id", ROTARY)
def test_every_method_can_stand_in_a_slot_and_its_address_restores_it(encoding_id):
    view = opened(b=encoding_id, target="32768", pair="7")
    at = scene(view)
    for _, make in board_panels(at).values():
        make(at)
    again, problems = address.read_address(address.write_address(view))
    assert problems == []
    assert again.values == view.values
    assert again.source == view.source


@pytest.mark.parametrize("encoding_id", ROTARY)
def test_every_own_parameter_of_a_method_survives_the_address(encoding_id):
    spec = posviz.get(encoding_id)()
    session = Session(opened(a=encoding_id))
    reply = answer(session, None)
    number = 0
    for group in reply["controls"]:
        for item in group["items"]:
            if item["kind"] != "number" or not item["name"].startswith("a.") or not item["slider"]:
                continue
            low, high = item["slider"]
            value = low + (high - low) / 4
            number += 1
            answer(session, asked(reply, number, **{item["name"]: int(value) or 1}))
            again, problems = address.read_address(address.write_address(session.view))
            assert problems == []
            assert again.values == session.view.values
    assert spec.id == encoding_id


def test_address_of_the_first_view_is_empty_and_names_only_what_was_changed():
    assert address.write_address(opened()) == {}
    written = address.write_address(opened(model="llama-3.1-8b", b="yarn", b__beta_fast="16"))
    assert written == {"model": "llama-3.1-8b", "b": "yarn", "b.beta_fast": "16"}


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        (
            {"model": "lama-3.1-8b"},
            "From the address: There is no preset 'lama-3.1-8b'; closest: llama-3.1-8b",
        ),
        ({"b": "yarm"}, "From the address: Slot B: there is no method 'yarm'"),
        ({"colour": "red"}, "this page knows no setting 'colour'"),
        ({"base": "ten"}, "base must be a number above 1"),
        ({"base": "nan"}, "base must be a number above 1"),
        ({"scaling_factor": "0.5"}, "scaling_factor must be a number of at least 1"),
        ({"a.beta_fast": "0.5"}, "beta_fast must be at least beta_slow"),
        ({"pair": "64"}, "pair must be below the number of pairs, 64; got 64"),
        ({"target": "1"}, "target must be a whole number of at least 2"),
        ({"profile_a": "zzz"}, "there is no implementation 'zzz'"),
        ({"config": "é"}, "The configuration in the address is damaged"),
        ({"needle": "1"}, "needle must be a number above 0 and below 1"),
        (
            {"original_max_position_embeddings": "1"},
            "original_max_position_embeddings must be at least 2 to be drawn",
        ),
        (
            {"head_dim": "8192", "target": "4194304"},
            "pairs times target length must be at most 268,435,456",
        ),
        ({"scaling_factor": "10000"}, "the target length must be at most 4,194,304"),
        ({"head_dim": "65"}, "head_dim and partial_rotary_factor must give an even number"),
        ({"layer": "sliding_attention"}, "there is no layer type 'sliding_attention'"),
        ({"config": "@@@"}, "The configuration in the address is damaged"),
    ],
)
def test_what_an_address_holds_and_cannot_be_used_is_said(parameters, sentence):
    view, problems = address.read_address(parameters)
    assert any(sentence in problem for problem in problems), problems
    scene(view)


def test_a_pasted_configuration_travels_in_the_address():
    config = {
        "model_type": "llama",
        "hidden_size": 2048,
        "num_attention_heads": 32,
        "max_position_embeddings": 131072,
        "rope_theta": 500000.0,
        "rope_scaling": {
            "rope_type": "llama3",
            "factor": 32.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192,
        },
        "vision_config": {"hidden_size": 99, "layers": list(range(5000))},
    }
    view = first_view(address.source_of_config(configs.read(config)), configs.read(config))
    written = address.write_address(view)
    assert len(written["config"]) < 600
    again, problems = address.read_address(written)
    assert problems == []
    assert again.values == view.values
    assert again.values["a"] == "llama3"
    assert again.spec("a").encode([0.0]).inv_freq[31] == pytest.approx(9.418306725e-08)


def test_a_packed_configuration_that_unpacks_to_too_much_is_refused():
    bomb = base64.urlsafe_b64encode(zlib.compress(b" " * 50_000_000, 9)).decode()
    with pytest.raises(ConfigError, match="too large"):
        address.unpack(bomb)


def test_a_change_of_one_value_gives_the_numbers_of_the_changed_spec():
    session = Session(opened())
    reply = answer(session, None)
    reply = answer(session, asked(reply, 1, base=500000.0))
    drawn = trace(panel(reply, "wavelengths"), "unscaled RoPE")
    assert drawn["y"][63] == pytest.approx(2559195.5, rel=1e-6)
    assert reply["stamp"] == 1


def test_a_panel_that_the_browser_has_is_not_sent_again():
    session = Session(opened())
    reply = answer(session, None)
    reply = answer(session, asked(reply, 1, position=77))
    sent = [one["id"] for one in reply["panels"] if "figure" in one]
    assert sent == ["clock"]


def test_a_value_that_cannot_be_used_is_said_and_the_picture_stays():
    session = Session(opened())
    reply = answer(session, None)
    before = {one["id"]: one["key"] for one in reply["panels"]}
    reply = answer(session, asked(reply, 1, **{"a.beta_fast": 0.25}))
    assert (
        "beta_fast must be at least beta_slow; got beta_fast 0.25" in reply["problems"][0]["text"]
    )
    assert reply["problems"][0]["severity"] == "error"
    assert {one["id"]: one["key"] for one in reply["panels"]} == before
    reply = answer(session, asked(reply, 2, **{"a.beta_fast": 16}))
    assert reply["problems"] == []


def test_reset_returns_to_the_model_s_own_settings():
    session = Session(opened())
    first = answer(session, None)
    reply = answer(session, asked(first, 1, base=2e6, b="linear"))
    assert reply["values"]["b"] == "linear"
    reply = answer(session, {**asked(reply, 2), "action": "reset"})
    assert reply["values"] == first["values"]
    assert reply["epoch"] != first["epoch"]


def test_an_action_is_done_once_however_often_the_page_runs():
    session = Session(opened())
    reply = answer(session, None)
    request = {**asked(reply, 1), "action": "reset"}
    epoch = answer(session, request)["epoch"]
    assert answer(session, request)["epoch"] == epoch


def test_choosing_an_implementation_sets_its_switches():
    session = Session(opened())
    reply = answer(session, None)
    reply = answer(session, asked(reply, 1, **{"a.profile": "paper (ramp in turns)"}))
    assert reply["values"]["a.ramp"] == "turns"
    assert session.view.spec("a").ramp == "turns"
    assert reply["values"]["a.profile"] == "paper (ramp in turns)"


def test_a_switch_without_effect_is_not_offered():
    session = Session(opened())
    reply = answer(session, None)
    names = {item["name"] for group in reply["controls"] for item in group["items"]}
    assert {"a.truncate", "a.beta_fast", "base", "target"} <= names
    assert "layout" not in names
    assert "a.mscale" not in names  # alone it changes nothing under transformers' rule
    reply = answer(session, asked(reply, 1, **{"a.profile": "paper (ramp in turns)"}))
    names = {item["name"] for group in reply["controls"] for item in group["items"]}
    assert "a.truncate" not in names


def test_a_new_method_keeps_the_values_of_parameters_that_both_declare():
    session = Session(opened())
    reply = answer(session, None)
    reply = answer(session, asked(reply, 1, **{"a.beta_fast": 20}))
    reply = answer(session, asked(reply, 2, a="ntk_by_parts"))
    assert reply["problems"] == []
    assert reply["values"]["a.beta_fast"] == 20
    assert "a.truncate" not in reply["values"]


def test_csv_has_the_drawn_numbers_in_full_precision():
    session = Session(opened())
    reply = answer(session, None)
    reply = answer(session, {**asked(reply, 1), "action": {"csv": "wavelengths"}})
    rows = list(csv.DictReader(io.StringIO(reply["download"]["text"])))
    assert rows[63]["series"] == "unscaled RoPE"
    spec = posviz.parse("rope")
    assert float(rows[63]["tokens per turn"]) == spec.encode([0.0]).wavelengths[63]


def test_csv_of_the_map_is_a_table_of_queries_and_keys():
    session = Session(opened(target="512"))
    reply = answer(session, None)
    reply = answer(session, {**asked(reply, 1), "action": {"csv": "score_map"}})
    rows = list(csv.reader(io.StringIO(reply["download"]["text"])))
    assert len(rows) == 513
    assert rows[0][1:4] == ["0.0", "1.0", "2.0"]
    decay = posviz.measures.score_decay(session.view.spec("a"), length=512).scores
    assert [float(cell) for cell in rows[3][1:4]] == list(decay[[2, 1, 0]])
    assert rows[3][4] == ""


def test_settings_out_are_those_of_the_tuned_spec_and_say_what_cannot_be_said():
    view = opened(model="llama-2-7b", a="yarn", scaling_factor="8", b="rerope")
    blocks = {block["id"]: block for block in texts(view)}
    written = json.loads(blocks["a.transformers"]["text"])
    assert written["rope_parameters"]["factor"] == 8
    assert blocks["b.vllm"]["text"] == ""
    assert "ReRoPE" in blocks["b.vllm"]["notes"][0]


def test_the_code_that_is_shown_gives_the_numbers_that_are_shown(capsys):
    view = opened(target="4096")
    code = next(block for block in texts(view) if block["id"] == "code")["text"]
    scope = {}
    exec(code, scope)
    np.testing.assert_array_equal(
        scope["rotation"].inv_freq, view.spec("a").frequencies(view.target_length)
    )
    assert capsys.readouterr().out


@pytest.mark.parametrize("encoding_id", ROTARY)
@pytest.mark.parametrize("preset_id", ["pythia-160m", "gemma-3-4b", "phi-3-mini-128k", "phi-2"])
def test_every_method_starts_on_models_of_every_size(preset_id, encoding_id):
    view = opened(model=preset_id, a="off", c=encoding_id)
    assert scene(view).methods[1].spec.id == encoding_id


def test_needle_formula_counts_every_factor_on_the_logits():
    made = board_panels(scene(opened(model="deepseek-v2-lite")))["needle"][1](
        scene(opened(model="deepseek-v2-lite"))
    )
    assert made.slots["gain"] == {"text": "1.58963"}
    assert any("all factors G = 1.58963" in note for note in made.notes)


def test_two_implementations_name_the_number_once_where_it_is_the_same():
    at = scene(opened(model="yarn-llama-2-7b-64k"))
    made = board_panels(at)["profiles"][1](at)
    # 0.1 ln 16 + 1, and its square
    assert "m is 1.27726 in 1 and in 2" in made.notes
    assert "the logits' factor G is 1.63139 in 1 and in 2" in made.notes
    at = scene(opened(model="deepseek-v2-lite"))
    made = board_panels(at)["profiles"][1](at)
    assert not any(": 1 " in note for note in made.notes if not note.startswith("A ·"))


def test_one_bad_setting_of_an_address_does_not_cost_the_others():
    view, problems = address.read_address({"base": "1", "scaling_factor": "32", "b": "linear"})
    assert len(problems) == 1
    assert "base must be a number above 1" in problems[0]
    assert (view.values["scaling_factor"], view.values["b"]) == (32.0, "linear")


def test_fewer_pairs_move_the_cursor_that_nobody_set():
    view, problems = address.read_address({"head_dim": "32", "base": "7"})
    assert problems == []
    assert (view.values["pair"], view.values["base"]) == (15, 7.0)


def test_no_method_at_all_leaves_the_unscaled_model():
    view = opened(a="off")
    for _, make in board_panels(scene(view)).values():
        assert [one["name"] for one in make(scene(view)).figure.data]
    assert [block["id"] for block in texts(view)] == ["code"]


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [
        ({"head_dim": 3}, "head_dim and partial_rotary_factor must give an even number"),
        ({"target": 1}, "target must be a whole number of at least 2"),
        ({"a": "nonsense"}, "there is no method 'nonsense'"),
        ({"profile_b": "nonsense"}, "there is no implementation 'nonsense'"),
    ],
)
def test_what_is_typed_and_cannot_be_used_is_said_by_the_page(typed, sentence):
    session = Session(opened())
    reply = answer(session, None)
    reply = answer(session, asked(reply, 1, **typed))
    assert sentence in reply["problems"][0]["text"]


def test_a_window_that_nobody_can_draw_at_once_opens_at_the_longest_target():
    config = {
        "model_type": "llama",
        "hidden_size": 4096,
        "num_attention_heads": 32,
        "max_position_embeddings": 10_240_000,
        "rope_theta": 1e7,
    }
    model = configs.read(config)
    view, problems = address.read_address(
        address.write_address(first_view(address.source_of_config(model), model))
    )
    assert problems == []
    assert view.target_length == 1 << 22


def test_a_configuration_that_cannot_be_drawn_at_all_opens_the_first_model_and_says_why():
    config = {
        "model_type": "llama",
        "hidden_size": 512,
        "num_attention_heads": 8,
        "max_position_embeddings": 1,
        "rope_theta": 1e4,
    }
    source = address.source_of_config(configs.read(config)).removeprefix("config=")
    view, problems = address.read_address({"config": source})
    assert view.source == f"model={address.DEFAULT_PRESET}"
    assert "original_max_position_embeddings must be at least 2" in problems[0]


def test_implementations_that_nobody_chose_stay_out_of_the_address():
    session = Session(opened())
    reply = answer(session, None)
    for number, change in enumerate(
        ({"base": 1.0000001}, {"base": 7}, {"a": "longrope"}, {"a": "dynamic_ntk"}, {"a": "yarn"}),
        start=1,
    ):
        reply = answer(session, asked(reply, number, **change))
    assert "profile" not in reply["address"]


def test_a_layer_type_whose_numbers_are_refused_is_not_offered():
    config = {
        "model_type": "gemma3_text",
        "hidden_size": 2560,
        "num_attention_heads": 8,
        "head_dim": 256,
        "num_hidden_layers": 6,
        "max_position_embeddings": 131072,
        "rope_theta": 1e6,
        "rope_local_base_freq": "8",
    }
    assert rotating_layers(configs.read(config)) == ("full_attention",)


def test_epoch_is_short_whatever_the_source_is():
    assert len(answer(Session(opened()), None)["epoch"]) < 30


def test_score_at_the_cursor_is_its_own_and_not_that_of_a_drawn_neighbour():
    view = opened(distance="1000")
    made = board_panels(scene(view))["score_decay"][1](scene(view))
    line = made.figure.data[1]
    exact = posviz.measures.score_decay(view.spec("a"), length=view.target_length).scores[1000]
    assert line["y"][list(line["x"]).index(1000)] == exact


def test_llama_3_2_is_looked_at_and_exported_at_its_window_and_not_at_its_factor():
    view = opened(model="llama-3.2-1b")
    assert view.values["scaling_factor"] == 32
    assert view.target_length == 131072
    written = next(block for block in texts(view) if block["id"] == "a.vllm")["text"]
    assert "131072" in written
    assert "262144" not in written


def test_first_view_points_at_a_pair_that_never_finished_a_turn():
    view = opened()
    spectrum = scene(view).spectra[0].measure
    assert spectrum.unfinished[view.values["pair"]]


def test_a_configuration_without_a_window_is_refused_and_not_drawn_for_an_invented_one():
    model = configs.read({"rope_theta": 1e4, "head_dim": 64})
    with pytest.raises(posviz.ParameterError, match="names no window: add max_position_embeddings"):
        first_view("config=", model)
