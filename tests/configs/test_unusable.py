"""Input that cannot be used: one sentence, never another exception, never a silent default."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posviz import configs
from posviz.configs.json_limits import MAX_BYTES
from posviz.configs.messages import CODES

LLAMA = {"model_type": "llama", "head_dim": 128, "max_position_embeddings": 4096}


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {"rope_theta": 1e4}
    for _ in range(depth):
        value = {"inner": value}
    return {**LLAMA, **value}


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        ("", "This is not JSON: Expecting value at line 1, column 1."),
        ("{'a': 1}", "This is not JSON: "),
        ("config.json", "This is not JSON: "),
        ("[1, 2]", "must be a JSON object; this is a list"),
        ("null", "must be a JSON object; this is null"),
        ("4", "must be a JSON object; this is a number"),
        (b"\xff\xfe\x00", "not a text file in UTF-8"),
        (" " * (MAX_BYTES + 1), "at most 1,000,000 bytes"),
        ("[" * 100_000, "nested deeper than 50 levels"),
        ('{"rope_theta": NaN}', "rope_theta must be a finite number; got nan."),
        ('{"rope_theta": 1e999}', "rope_theta must be a finite number; got inf."),
        ('{"rope_theta": ' + "9" * 5000 + "}", "far too large"),
        ({"rope_theta": 10**400}, "rope_theta is far too large"),
        ({"rope_theta": math.nan}, "rope_theta must be a finite number"),
        ({"rope_theta": {1, 2}}, "rope_theta must be a JSON value; got set."),
        ({1: 2}, "Every key of a configuration is text"),
        (4, "must be a mapping, JSON text or a path; got int."),
        ({}, "Nothing in this configuration is about rotary positions"),
        ({"model_type": "resnet"}, "the model type 'resnet' is not known"),
        ({"hidden_size": 4096}, "no model_type"),
        ({"text_config": 3}, "text_config must be a JSON object; got 3."),
        (nested(51), "nested deeper than 50 levels"),
        ('{"rope_scaling": {"\\ud800": 1}}', "The keys of rope_scaling hold half a character"),
        ('{"\\udfff": 1}', "The keys of the top level hold half a character"),
        ('{"rope_scaling": {"type": "a\\ud800"}}', "rope_scaling.type holds half a character"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_what_is_no_configuration_is_refused_in_a_sentence(config: Any, sentence: str) -> None:
    with pytest.raises(configs.ConfigError) as refused:
        configs.read(config)
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_mapping_that_holds_itself_is_refused() -> None:
    config: dict[str, Any] = {**LLAMA}
    config["inner"] = config
    with pytest.raises(configs.ConfigError, match="nested deeper"):
        configs.read(config)


def test_files_are_read_by_path(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text("\ufeff" + json.dumps(LLAMA), encoding="utf-8")
    assert configs.read(path).spec() == configs.read(LLAMA).spec()
    assert configs.read(path.read_bytes()).spec() == configs.read(LLAMA).spec()
    with pytest.raises(configs.ConfigError, match="cannot be read: No such file"):
        configs.read(tmp_path / "none.json")
    with pytest.raises(configs.ConfigError, match="cannot be read: Is a directory"):
        configs.read(tmp_path)


def test_a_key_that_stands_twice_is_reported() -> None:
    text = (
        '{"model_type": "llama", "head_dim": 64, "head_dim": 128, "rope_theta": 1, "rope_theta": 2}'
    )
    model = configs.read(text)
    assert [message.code for message in model.messages] == ["PV190", "PV190"]
    assert model.messages[0].text == (
        "head_dim stands twice in the file, as 64 and as 128; the last one counts."
    )


ERRORS = [
    ({"rope_scaling": {"type": "linear"}}, "PV110", "needs factor"),
    ({"rope_scaling": {"type": "linear", "factor": None}}, "PV111", "factor is null"),
    ({"rope_scaling": {"type": "linear", "factor": "4"}}, "PV112", "write 4 without quotes"),
    ({"rope_scaling": {"type": "linear", "factor": "NaN"}}, "PV112", "got the text 'NaN'"),
    ({"rope_scaling": {"type": "linear", "factor": True}}, "PV112", "got a switch"),
    ({"rope_scaling": {"type": "linear", "factor": [2]}}, "PV112", "got a list"),
    ({"rope_scaling": {"type": "linear", "factor": 0.25}}, "PV113", "the factor would be 4"),
    ({"rope_scaling": {"type": "dynamic", "factor": 0}}, "PV113", "at least 1; got 0."),
    ({"rope_scaling": {"type": "yarn", "factor": -2.0}}, "PV113", "at least 1; got -2."),
    ({"rope_scaling": {"type": "yarn", "factor": 1e9}}, "PV114", ": factor must be"),
    ({"rope_scaling": {"type": "yan", "factor": 2.0}}, "PV101", "closest: yarn"),
    ({"rope_scaling": {"type": 7}}, "PV101", "must be a name; got 7."),
    ({"rope_scaling": {"type": "axial"}}, "PV101", "belongs to vision towers"),
    ({"rope_scaling": "yarn"}, "PV107", "must be an object or null; got 'yarn'."),
    ({"rope_scaling": {"type": "longrope", "short_factor": 1, "long_factor": []}}, "PV112", "list"),
    ({"rope_scaling": {"type": "longrope", "long_factor": [1.0] * 64}}, "PV110", "short_factor"),
    ({"rope_scaling": {"type": "yarn", "factor": 2, "truncate": "no"}}, "PV112", "true or false"),
    ({"rope_scaling": {"mrope_section": [16, "24", 24]}}, "PV150", "list of whole numbers"),
    ({"rope_theta": None}, "PV111", "rope_theta is null"),
    ({"rope_theta": "1e6"}, "PV112", "write 1000000 without quotes"),
    ({"rope_theta": 0.5}, "PV114", "rope_theta must be a number above 1"),
    ({"max_position_embeddings": -1}, "PV130", "positive integer; got -1."),
    ({"max_position_embeddings": 4096.5}, "PV112", "whole number; got 4096.5."),
    ({"max_position_embeddings": "4k"}, "PV112", "got the text '4k'"),
    ({"head_dim": 0}, "PV142", "positive integer; got 0."),
    ({"head_dim": 127}, "PV141", "must be even"),
    ({"model_type": "", "rope_theta": 1e4, "head_dim": None}, "PV142", "cannot be derived"),
    ({"head_dim": 10**6}, "PV114", "head_dim must be"),
    ({"model_type": "phi", "partial_rotary_factor": 1.5}, "PV141", "above 0 and at most 1"),
    ({"model_type": "phi", "partial_rotary_factor": 0.01}, "PV141", "gives 1."),
]


@pytest.mark.parametrize(("changes", "code", "words"), ERRORS, ids=lambda value: str(value)[:40])
def test_an_unusable_number_is_an_error_and_refuses_the_spec(
    changes: dict[str, Any], code: str, words: str
) -> None:
    model = configs.read({**LLAMA, **changes})
    messages = [message for message in model.messages if message.code == code]
    assert messages, [message.text for message in model.messages]
    assert messages[0].severity == "error"
    assert words in messages[0].text
    assert model.resolved
    with pytest.raises(configs.ConfigError) as refused:
        model.spec()
    assert messages[0].text in str(refused.value)
    with pytest.raises(configs.ConfigError):
        configs.export(model, "transformers")


def test_dynamic_without_a_window_says_what_it_needs() -> None:
    model = configs.read(
        {"head_dim": 64, "rope_theta": 1e4, "rope_scaling": {"type": "dynamic", "factor": 2}}
    )
    assert [message.code for message in model.messages] == ["PV131"]


@pytest.mark.parametrize("length", [0, -1, 1.5, True, 1 << 25])
def test_a_length_that_cannot_be_shown_is_refused(length: Any) -> None:
    with pytest.raises(configs.ConfigError, match="length must be a whole number from 1 to"):
        configs.read(LLAMA).rotation(length=length)


KEYS = st.sampled_from(
    [
        "model_type",
        "hidden_size",
        "num_attention_heads",
        "num_hidden_layers",
        "head_dim",
        "max_position_embeddings",
        "original_max_position_embeddings",
        "rope_theta",
        "rope_scaling",
        "rope_parameters",
        "partial_rotary_factor",
        "rotary_dim",
        "qk_rope_head_dim",
        "layer_types",
        "no_rope_layers",
        "sliding_window_pattern",
        "text_config",
        "rope_type",
        "type",
        "factor",
        "beta_fast",
        "beta_slow",
        "truncate",
        "mscale",
        "mscale_all_dim",
        "attention_factor",
        "short_factor",
        "long_factor",
        "mrope_section",
        "full_attention",
        "sliding_attention",
        "rope_local_base_freq",
        "alibi",
        "alpha",
    ]
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-4, 200_000),
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["yarn", "linear", "dynamic", "llama3", "longrope", "default", "su", "mrope"]),
    st.sampled_from(["llama", "gemma3_text", "deepseek_v3", "gpt_neox", "phi3", "modernbert", "x"]),
    st.text("aé0.\\", max_size=4),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=8)),
    max_leaves=30,
)


MODELS = st.sampled_from([preset.config for preset in configs.presets()])


@st.composite
def damaged(draw: st.DrawFn) -> dict[str, Any]:
    """A released model's configuration with some of its values replaced or added."""
    config = dict(draw(MODELS))
    config |= draw(st.dictionaries(KEYS, VALUES, max_size=4))
    for name in ("rope_scaling", "rope_parameters"):
        if isinstance(config.get(name), dict):
            config[name] = {**config[name], **draw(st.dictionaries(KEYS, VALUES, max_size=4))}
    return config


def sentences_of(config: dict[str, Any]) -> list[str]:
    """Every refusal that reading and rotating gives; any other exception fails the test."""
    try:
        model = configs.read(config)
    except configs.ConfigError as refused:
        return [str(refused)]
    assert all(message.code in CODES for message in model.messages)
    said = [message.text for message in model.messages]
    for name in model.layer_types:
        try:
            rotation = model.rotation(name, length=3)
        except configs.ConfigError as refused:
            said.append(str(refused))
        else:
            assert all(math.isfinite(value) for value in rotation.inv_freq)
    return said


@given(st.one_of(damaged(), st.dictionaries(KEYS, VALUES, max_size=12)))
@settings(deadline=None)
def test_no_configuration_raises_anything_but_a_config_error(config: dict[str, Any]) -> None:
    for sentence in sentences_of(config):
        assert sentence.endswith(".")


@given(st.text('{}[]":,0aé \\n', max_size=60))
def test_no_text_raises_anything_but_a_config_error(text: str) -> None:
    with pytest.raises(configs.ConfigError):
        configs.read(text)


def test_every_code_s_meaning_is_a_sentence() -> None:
    assert all(text.endswith(".") for text in CODES.values())
    assert all(len(code) == 5 and code.startswith("PV") for code in CODES)


@pytest.mark.parametrize(("value", "written"), [(None, "null"), (True, "true"), (False, "false")])
def test_messages_write_values_as_the_file_does(value: Any, written: str) -> None:
    scaling = {"rope_type": "longrope", "short_factor": value, "long_factor": [1.0] * 64}
    model = configs.read({**LLAMA, "rope_scaling": scaling})
    texts = [message.text for message in model.messages]
    assert f"rope_scaling.short_factor must be a list of numbers; got {written}." in texts


def test_a_null_beta_is_called_null() -> None:
    scaling = {"rope_type": "yarn", "factor": 4.0, "beta_fast": None}
    model = configs.read({**LLAMA, "rope_scaling": scaling})
    texts = [message.text for message in model.messages]
    assert "rope_scaling.beta_fast is null, which transformers reads as 32." in texts
