"""Checks of models of several inputs."""

from __future__ import annotations

from typing import Any

import pytest

from posviz import configs

TEXT = {
    "model_type": "qwen2_5_vl_text",
    "hidden_size": 3584,
    "num_attention_heads": 28,
    "max_position_embeddings": 32768,
    "rope_theta": 1000000.0,
}
SECTIONS = {"mrope_section": [16, 24, 24]}
YARN = {
    "factor": 4.0,
    "original_max_position_embeddings": 32768,
    **SECTIONS,
}


def only(report: configs.Report, code: str) -> configs.Diagnosis:
    (found,) = report.of(code)
    return found


@pytest.mark.parametrize("name", ["text_config", "llm_config", "language_config", "text_model"])
@pytest.mark.parametrize(
    ("top", "inner"),
    [
        ({"rope_theta": 10000.0}, {}),
        ({"max_position_embeddings": 131072}, {}),
        ({"rope_scaling": {"type": "yarn", **YARN}}, {"rope_scaling": {"rope_type": "default"}}),
        ({"rope_scaling": {"type": "linear", "factor": 2.0}}, {"rope_parameters": SECTIONS}),
    ],
)
def test_two_levels_that_differ_are_a_warning(
    name: str, top: dict[str, Any], inner: dict[str, Any]
) -> None:
    report = configs.check({"model_type": "qwen2_5_vl", **top, name: {**TEXT, **inner}})
    assert report.severity == "warn"
    found = only(report, "PV340")
    assert found.fields == tuple(top)
    assert f"reads {name} only" in found.message


@pytest.mark.parametrize(
    ("top", "inner"),
    [
        ({"rope_theta": 1000000}, {}),
        ({"max_position_embeddings": 32768.0}, {}),
        # As transformers saves Qwen2.5-VL: both spellings of the plain type.
        (
            {"rope_scaling": {"type": "mrope", **SECTIONS}},
            {"rope_scaling": {"type": "default", "rope_type": "default", **SECTIONS}},
        ),
        (
            {"rope_scaling": SECTIONS},
            {"rope_parameters": {"rope_type": "default", "rope_theta": 1e6, **SECTIONS}},
        ),
        ({"rope_scaling": None}, {"rope_scaling": {"type": "mrope", **SECTIONS}}),
        ({"rope_scaling": {}}, {"rope_scaling": {"type": "mrope", **SECTIONS}}),
    ],
)
def test_two_levels_that_say_the_same_are_right(top: dict[str, Any], inner: dict[str, Any]) -> None:
    report = configs.check({"model_type": "qwen2_5_vl", **top, "text_config": {**TEXT, **inner}})
    assert report.of("PV340") == ()
    assert report.severity in ("ok", "info")


def test_the_library_does_not_read_the_top_level_beside_a_text_config() -> None:
    from transformers import Qwen2_5_VLConfig

    config = Qwen2_5_VLConfig(rope_theta=123.0, text_config={"rope_theta": 77.0})
    assert config.text_config.rope_parameters["rope_theta"] == 77.0


def test_the_rotation_of_another_part_is_not_this_one() -> None:
    report = configs.check({"text_config": TEXT, "vision_config": {"rope_theta": 100.0}})
    assert report.severity == "ok"
    assert report.values["base"] == 1000000
    assert only(report, "PV342").fields == ("vision_config.rope_theta",)


@pytest.mark.parametrize(
    "rope",
    [
        {"rope_scaling": {"type": "yarn", **YARN}},
        {"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e6, **YARN}},
    ],
)
def test_yarn_with_sections_lies_elsewhere_in_vllm(rope: dict[str, Any]) -> None:
    config = {**TEXT, "max_position_embeddings": 131072, **rope}
    found = only(configs.check(config), "PV225")
    assert found.severity == "info"
    assert (found.values["ramp_low"], found.values["ramp_high"]) == (23, 40)
    assert found.values["ramp_in_vllm"] == [30, 47]
    assert only(configs.check(config, runtime="vllm"), "PV225").severity == "warn"
    assert configs.check(config, runtime="transformers").of("PV225") == ()
    plain = {**config, **{key: {**value} for key, value in rope.items()}}
    for value in plain.values():
        if isinstance(value, dict):
            value.pop("mrope_section", None)
    assert configs.check(plain, runtime="vllm").of("PV225") == ()


def test_sections_are_told_by_their_input() -> None:
    config = {**TEXT, "rope_scaling": {"type": "mrope", **SECTIONS}}
    report = configs.check(config)
    found = only(report, "PV345")
    assert "16 + 24 + 24 = 64 pairs" in found.message
    assert "0 to 15" in found.message
    partial = {
        "model_type": "qwen3_5_text",
        "head_dim": 256,
        "max_position_embeddings": 262144,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 10000000,
            "partial_rotary_factor": 0.25,
            "mrope_section": [11, 11, 10],
            "mrope_interleaved": True,
        },
    }
    found = only(configs.check(partial), "PV345")
    assert dict(found.values) == {"section_sum": 32, "pairs": 32}
    assert "half of the rotary dimension 64" in found.message
    assert "interleaved" in found.message


def test_odd_sections() -> None:
    two = {**TEXT, "rope_scaling": {"rope_type": "default", "mrope_section": [32, 32]}}
    assert only(configs.check(two), "PV344").values["parts"] == 2
    none = {**TEXT, "rope_scaling": {"rope_type": "default", "mrope_interleaved": True}}
    assert only(configs.check(none), "PV343").severity == "warn"
    for odd in ("x", 3, [], [1.5, 2], [[16], 24, 24], {"a": 1}, [16] * 40):
        scaling = {"rope_type": "default", "mrope_section": odd}
        assert configs.check({**TEXT, "rope_scaling": scaling}).as_dict()
