"""Checks of layer types, of two bases, and of layers without rotation."""

from __future__ import annotations

from typing import Any

import pytest

from posviz import configs

GEMMA = {
    "model_type": "gemma3_text",
    "hidden_size": 2560,
    "num_attention_heads": 8,
    "head_dim": 256,
    "num_hidden_layers": 34,
    "max_position_embeddings": 131072,
    "rope_theta": 1000000.0,
    "rope_local_base_freq": 10000.0,
}
LINEAR = {"rope_type": "linear", "factor": 8.0}
PER_LAYER = {
    "full_attention": {"rope_type": "default", "rope_theta": 1e6},
    "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
}
SMOL = {
    "model_type": "smollm3",
    "hidden_size": 2048,
    "num_attention_heads": 16,
    "num_hidden_layers": 8,
    "max_position_embeddings": 65536,
    "rope_theta": 5000000.0,
}
LLAMA4 = {
    "model_type": "llama4_text",
    "hidden_size": 5120,
    "num_attention_heads": 40,
    "head_dim": 128,
    "num_hidden_layers": 48,
    "max_position_embeddings": 1048576,
    "rope_theta": 500000.0,
}
EVERY_FOURTH = [1, 1, 1, 0] * 2


def only(report: configs.Report, code: str) -> configs.Diagnosis:
    (found,) = report.of(code)
    return found


def typed(types: list[str], count: int, **more: Any) -> dict[str, Any]:
    return {
        "head_dim": 128,
        "max_position_embeddings": 32768,
        "num_hidden_layers": count,
        "layer_types": types,
        "rope_parameters": PER_LAYER,
        **more,
    }


def test_two_bases_are_two_schedules_with_their_layers() -> None:
    report = configs.check({**GEMMA, "rope_scaling": LINEAR})
    assert report.severity == "ok"
    found = only(report, "PV283")
    assert "Two layer types, two schedules" in found.message
    assert "linear with factor 8 in layers 5, 11, 17, 23, 29" in found.message
    assert "sliding_attention has base 10000, unscaled" in found.message
    assert found.values["full_attention.layers"] == (5, 11, 17, 23, 29)


@pytest.mark.parametrize(
    "config",
    [
        GEMMA,
        {"text_config": GEMMA, "model_type": "gemma3"},
        {
            "model_type": "modernbert",
            "hidden_size": 768,
            "num_attention_heads": 12,
            "max_position_embeddings": 8192,
            "global_rope_theta": 160000.0,
            "local_rope_theta": 10000.0,
        },
        typed(["sliding_attention", "full_attention"], 2),
        typed(["sliding_attention", "full_attention"], 2.0),
    ],
)
def test_two_schedules_in_every_spelling_are_right(config: dict[str, Any]) -> None:
    report = configs.check(config)
    assert report.severity == "ok"
    assert only(report, "PV283").severity == "ok"


def test_one_base_where_the_class_has_two_is_noted() -> None:
    report = configs.check({**GEMMA, "rope_local_base_freq": 1000000.0})
    assert report.severity == "info"
    assert "sliding_attention 10000" in only(report, "PV284").message
    bert = {"model_type": "modernbert", "hidden_size": 768, "num_attention_heads": 12}
    both = {**bert, "global_rope_theta": 160000.0, "local_rope_theta": 160000.0}
    assert only(configs.check(both), "PV284").values["base"] == 160000
    assert configs.check(GEMMA).of("PV284") == ()


def test_layer_types_of_another_length_are_refused_as_in_the_library() -> None:
    from transformers import Gemma3TextConfig

    types = ["sliding_attention", "full_attention"]
    config = {**GEMMA, "num_hidden_layers": 4, "layer_types": types}
    report = configs.check(config)
    assert report.severity == "error"
    assert "has 2 entries, but there are 4 layers" in only(report, "PV280").message
    with pytest.raises(Exception, match="must be equal to the number of"):
        Gemma3TextConfig(num_hidden_layers=4, layer_types=types)
    assert only(configs.check(typed(types, 4)), "PV280").severity == "warn"
    assert configs.check(typed(types, 2)).of("PV280") == ()


def test_a_type_without_a_dict_is_an_error_and_a_dict_without_a_layer_a_note() -> None:
    report = configs.check(typed(["chunked_attention", "full_attention"], 2))
    assert report.severity == "error"
    assert "'chunked_attention'" in only(report, "PV281").message
    assert "'sliding_attention'" in only(report, "PV282").message
    assert configs.check(typed(["full_attention"] * 2, 2)).severity == "info"


def test_a_type_without_a_dict_stops_the_library_with_a_key_error() -> None:
    from transformers import Gemma3TextConfig
    from transformers.models.gemma3.modeling_gemma3 import Gemma3RotaryEmbedding

    config = Gemma3TextConfig(num_hidden_layers=1, layer_types=["chunked_attention"])
    with pytest.raises(KeyError, match="chunked_attention"):
        Gemma3RotaryEmbedding(config)


@pytest.mark.parametrize("name", ["linear_attention", "conv", "mamba"])
def test_layers_that_have_nothing_to_rotate_need_no_dict(name: str) -> None:
    report = configs.check(typed([name, "full_attention", "sliding_attention"], 3))
    assert report.of("PV281") == ()


def test_one_marks_the_layers_that_rotate() -> None:
    report = configs.check({**SMOL, "no_rope_layers": EVERY_FOURTH})
    assert report.severity == "info"
    found = only(report, "PV285")
    assert "the layers 3, 7 carry no rotation" in found.message
    assert found.values["rotating_layers"] == [0, 1, 2, 4, 5, 6]
    assert report.model.unrotated_layers == (3, 7)


@pytest.mark.parametrize(
    "model", [SMOL, {**LLAMA4, "num_hidden_layers": 8}, {**SMOL, "model_type": ""}]
)
@pytest.mark.parametrize("true", [1, True, 1.0])
def test_a_list_written_the_wrong_way_round_comes_with_its_inverse(
    model: dict[str, Any], true: Any
) -> None:
    backwards = [0 if mark else true for mark in EVERY_FOURTH]
    report = configs.check({**model, "no_rope_layers": backwards})
    found = only(report, "PV286")
    assert found.severity == "warn"
    assert found.values["rotating_layers"] == [3, 7]
    repaired = report.patched("PV286")
    assert repaired["no_rope_layers"] == EVERY_FOURTH
    assert configs.read(repaired).unrotated_layers == (3, 7)
    assert configs.check(repaired).of("PV286") == ()


@pytest.mark.parametrize(
    ("marks", "inverted"),
    [
        ([0] * 8, True),
        ([0, 0, 1] * 2 + [0, 0], True),
        ([0, 0, 0, 0, 0, 1, 0, 0], True),
        ([1] * 8, False),
        ([0, 1] * 4, False),
        ([1, 0] * 4, False),
        ([1, 0, 0, 0] * 2, False),
        ([1, 1, 1, 1, 0, 0, 0, 0], False),
    ],
)
def test_only_the_pattern_of_such_models_counts_as_backwards(
    marks: list[int], inverted: bool
) -> None:
    report = configs.check({**SMOL, "no_rope_layers": marks})
    assert bool(report.of("PV286")) is inverted
    assert bool(report.of("PV285")) is not inverted


def test_a_list_of_layer_numbers_becomes_marks() -> None:
    report = configs.check({**SMOL, "no_rope_layers": [3, 7]})
    assert report.severity == "error"
    assert report.patched("PV287")["no_rope_layers"] == EVERY_FOURTH


def test_lists_of_another_length() -> None:
    from transformers import SmolLM3Config

    short = configs.check({**SMOL, "no_rope_layers": [1, 1, 1, 0]})
    assert only(short, "PV287").severity == "error"
    with pytest.raises(IndexError):
        SmolLM3Config(num_hidden_layers=8, no_rope_layers=[1, 1, 1, 0])
    longer = {**SMOL, "no_rope_layers": [*EVERY_FOURTH, 1]}
    assert only(configs.check(longer), "PV287").severity == "warn"
    llama4 = {**LLAMA4, "no_rope_layers": [1] * 49}
    assert only(configs.check(llama4), "PV287").severity == "error"


def test_an_empty_list_means_the_interval_of_the_class() -> None:
    # As in the released Llama 4 Scout.
    report = configs.check({**LLAMA4, "no_rope_layers": []})
    assert report.model.unrotated_layers == tuple(range(3, 48, 4))
    assert report.of("PV287") == ()
    broken = configs.check({**LLAMA4, "no_rope_layer_interval": 0})
    assert broken.severity == "error"
    assert broken.patched("PV287")["no_rope_layer_interval"] == 4


def test_the_temperature_of_layers_without_rotation() -> None:
    found = only(configs.check(LLAMA4), "PV288")
    assert found.severity == "ok"
    assert found.values["first_step_at"] == 8191
    assert found.values["multiplier_at_first_step"] == pytest.approx(1.0693147, rel=1e-7)
    assert configs.check({**LLAMA4, "attn_temperature_tuning": False}).of("PV288") == ()
    without = configs.check({**LLAMA4, "no_rope_layers": [1] * 48})
    assert "it has no effect" in only(without, "PV288").message
    assert configs.check(SMOL).of("PV288") == ()


def test_a_sliding_window_that_is_no_window() -> None:
    wide = {**GEMMA, "sliding_window": 131072}
    assert only(configs.check(wide), "PV289").severity == "info"
    for config in ({**GEMMA, "sliding_window": 1024}, {**wide, "use_sliding_window": False}):
        assert configs.check(config).of("PV289") == ()
    mistral = {"model_type": "mistral", "hidden_size": 4096, "num_attention_heads": 32}
    phi = {**mistral, "max_position_embeddings": 131072, "sliding_window": 262144}
    assert configs.check(phi).of("PV289") == ()


@pytest.mark.parametrize("odd", [3, "x", {}, [None], [[1]], [1, "x"], [{}], True, 1e9, [2.5]])
def test_values_of_any_kind_give_a_report(odd: Any) -> None:
    names = ("layer_types", "no_rope_layers", "no_rope_layer_interval", "num_hidden_layers")
    more = ("sliding_window", "floor_scale", "attn_scale", "attn_temperature_tuning")
    for name in names + more:
        for model in (SMOL, LLAMA4, GEMMA):
            assert configs.check({**model, name: odd}).as_dict()
