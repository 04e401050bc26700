"""Configurations on which real tools went wrong: severity, numbers and what the message says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from posviz import configs
from posviz.configs.messages import Message
from tests.configs.case_files import by_id

CASES = by_id("practice_cases.json")
READ = [name for name, case in CASES.items() if case["input"]["action"] == "import_config"]


def read(name: str) -> configs.Model:
    return configs.read(CASES[name]["input"]["config"])


def texts(messages: Sequence[Message]) -> str:
    return " ".join(message.text for message in messages)


def value(model: configs.Model, name: str) -> Any:
    return next(message.values[name] for message in model.messages if name in message.values)


@pytest.mark.parametrize("name", READ)
def test_severity(name: str) -> None:
    assert read(name).severity == CASES[name]["expect"]["severity"]


@pytest.mark.parametrize("name", [name for name in READ if name not in ("B105",)])
def test_an_error_refuses_the_spec_with_its_sentence_and_anything_else_does_not(name: str) -> None:
    model = read(name)
    if model.severity != "error":
        assert model.spec().encode([0.0]) is not None  # type: ignore[attr-defined]
        return
    with pytest.raises(configs.ConfigError) as refused:
        model.spec()
    first = next(message.text for message in model.messages if message.severity == "error")
    assert first in str(refused.value)
    with pytest.raises(configs.ConfigError):
        model.rotation()


@pytest.mark.parametrize(("name", "kept", "blended"), [("B01", 29, 6), ("B94", 15, 3)])
def test_llama3_has_its_three_bands(name: str, kept: int, blended: int) -> None:
    spec: Any = read(name).spec()
    ratio = spec.frequencies(1) / spec.trained_frequencies()
    assert np.count_nonzero(ratio == 1) == kept
    divided = np.isclose(ratio, 1 / spec.scaling_factor, rtol=1e-12)
    assert np.count_nonzero(divided) == spec.pairs - kept - blended


def test_llama3_ratios_and_frequencies() -> None:
    spec: Any = read("B01").spec()
    ratio = spec.frequencies(1) / spec.trained_frequencies()
    assert ratio[29] == pytest.approx(0.8281684118, rel=1e-6)
    assert ratio[63] == pytest.approx(0.125, rel=1e-12)
    small = read("B94").rotation()
    assert small.inv_freq[31] == pytest.approx(9.418306725e-08, rel=1e-6)
    assert small.inv_freq[16] == pytest.approx(0.0004295567966, rel=1e-6)


def test_an_unknown_type_and_a_null_factor_are_both_named() -> None:
    said = texts(read("B06").messages)
    assert "no rope type 'video_rope'" in said
    assert "factor is null" in said
    assert "known types: " in said
    assert "yarn" in said


def test_whole_numbers_and_their_decimals_are_the_same_number() -> None:
    config = CASES["B09"]["input"]["config"]
    decimal = {**config, "rope_scaling": {**config["rope_scaling"]}}
    for key in CASES["B09"]["input"]["compare_with"]:
        name = key.rpartition(".")[2]
        decimal["rope_scaling"][name] = float(decimal["rope_scaling"][name])
    assert configs.read(decimal).spec() == configs.read(config).spec()
    assert configs.read(decimal).messages == ()
    spec: Any = configs.read(config).spec()
    assert spec.bounds == (10, 23)


def test_a_padded_table_names_its_usable_positions() -> None:
    model = read("B105")
    assert model.layer_types == ()
    assert value(model, "usable_positions") == 510
    assert value(model, "first_position_id") == 4
    assert "padding index 3" in texts(model.messages)
    with pytest.raises(configs.ConfigError, match=r"does not rotate.*510 positions"):
        model.spec()


def test_a_missing_original_window_is_named_with_its_fallback() -> None:
    model = read("B11")
    spec: Any = model.spec()
    assert spec.bounds == (30, 47)
    assert spec.with_values(original_max_position_embeddings=32768).bounds == (23, 40)
    said = texts(model.messages)
    assert "original_max_position_embeddings is missing" in said
    assert "max_position_embeddings = 131072" in said
    assert "may already be the extended length" in said
    row = next(row for row in model.resolved if row.name == "original_max_position_embeddings")
    assert (row.value, row.origin) == (
        131072,
        "max_position_embeddings, because original_max_position_embeddings is missing",
    )


def test_a_factor_below_one_comes_with_its_reciprocal() -> None:
    model = read("B14")
    assert value(model, "suggested_factor") == 2.0
    assert "must be at least 1; got 0.5. 0.5 looks like a frequency scale" in texts(model.messages)


def test_layer_types_have_their_own_schedules() -> None:
    model = read("B16")
    full: Any = model.spec("full_attention")
    sliding: Any = model.spec("sliding_attention")
    assert (full.rotary_dim, sliding.rotary_dim) == (64, 128)
    assert full.bounds == (5, 16)
    assert model.rotation("full_attention").attention_factor == 1.0
    assert full.with_values(attention_factor=None).magnitude(1) == pytest.approx(1.415888308)
    assert [layer.indices for layer in model.layers] == [(3,), (0, 1, 2)]
    assert any("two layer types" in row.origin for row in model.resolved)


def test_latent_attention_without_scaling_is_plain() -> None:
    rotation = read("B19").rotation()
    assert rotation.rotary_dim == 64
    assert rotation.inv_freq[1] == pytest.approx(0.6493816316, rel=1e-9)


def test_an_unusable_window_is_the_only_complaint() -> None:
    (message,) = read("B21").messages
    assert message.text == "max_position_embeddings must be a positive integer; got 0."
    assert message.fields == ("max_position_embeddings",)


def test_the_explicit_factor_counts_and_the_contradiction_shows() -> None:
    model = read("B22")
    assert model.rotation().attention_factor == pytest.approx(1.138629436, rel=1e-9)
    assert value(model, "effective_factor") == 4.0
    assert value(model, "implicit_factor") == 1.25
    assert value(model, "extended_context") == 131072
    expected = "factor × original = 131072 differs from max_position_embeddings = 40960"
    assert expected in texts(model.messages)


def test_a_vendor_s_alias_does_not_scale_the_window_twice() -> None:
    model = read("B25")
    extended = [row.value for row in model.resolved if row.name == "nominal_extended_context"]
    assert extended == [1048576]
    assert "33554432" not in str(model.resolved)


@pytest.mark.parametrize("name", ["B27", "B35", "B38"])
def test_dynamic_follows_the_length_and_does_nothing_within_the_window(name: str) -> None:
    case = CASES[name]
    model = read(name)
    lengths = {
        "B27": {2048: 10000.0, 2380: 13301.34634, 4096: 30527.73675},
        "B35": {100: 10000.0, 4096: 30527.73675},
        "B38": {1: 1000.0, 512: 1000.0, 2047: 1000.0, 2048: 1000.0, 4096: 3108.223667},
    }[name]
    head_dim = (
        case["input"]["config"]["hidden_size"] // case["input"]["config"]["num_attention_heads"]
    )
    for length, base in lengths.items():
        second = model.rotation(length=length).inv_freq[1]
        assert second ** (-head_dim / 2) == pytest.approx(base, rel=1e-6)
    assert value(model, "nominal_extended_context") == 4096
    assert "depends on the engine" in texts(model.messages)


def test_latent_attention_has_two_separate_corrections() -> None:
    model = read("B53")
    rotation = model.rotation()
    assert rotation.attention_factor == 1.0
    assert rotation.softmax_factor == pytest.approx(1.589626165, rel=1e-9)
    assert value(model, "softmax_scale_multiplier") == pytest.approx(1.589626165, rel=1e-9)
    assert "two separate corrections" in texts(model.messages)


def test_unrounded_bounds_are_kept() -> None:
    spec: Any = read("B58").spec()
    assert spec.bounds == pytest.approx((8.092779115512402, 17.39802450158856), rel=1e-12)
    assert spec.frequencies(1)[17] == pytest.approx(0.0001293187012, rel=1e-6)
    rounded = spec.with_values(truncate=True)
    assert rounded.bounds == (8, 18)
    assert rounded.frequencies(1)[17] == pytest.approx(0.0002279477958, rel=1e-6)


def test_partial_rotation_squeezes_a_whole_ladder() -> None:
    model = read("B61")
    rotation = model.rotation()
    assert (rotation.rotary_dim, rotation.inv_freq.shape) == (64, (32,))
    assert rotation.inv_freq[1] == pytest.approx(0.6042963902, rel=1e-6)
    assert rotation.wavelengths[-1] == pytest.approx(37969062.0, rel=1e-6)
    assert [row.value for row in model.resolved if row.name == "unrotated_dims"] == [192]


def test_an_odd_rotary_dimension_is_refused() -> None:
    model = read("B64")
    assert value(model, "head_dim") == 65
    assert "rotary dimension must be even" in texts(model.messages)


def test_mrope_sections_must_cover_the_rotary_dimension() -> None:
    model = read("B86")
    assert (value(model, "sum"), value(model, "expected")) == (60, 64)
    assert "mrope_section sum" in texts(model.messages)
    fine = read("B89")
    sections = [row.value for row in fine.resolved if row.name == "mrope_section"]
    assert sections == [(11, 11, 10)]
    assert fine.rotation().rotary_dim == 64


def test_longrope_lists_are_counted_against_the_rotary_dimension() -> None:
    model = read("B91")
    assert (value(model, "expected_length"), value(model, "got")) == (48, 64)
    assert "short_factor length: 64" in texts(model.messages)
    config = CASES["B91"]["input"]["config"]
    lists = {key: [1.0] * 48 for key in ("short_factor", "long_factor")}
    fitting = {**config, "rope_scaling": {"type": "longrope", **lists}}
    assert configs.read(fitting).severity == "ok"


def test_gemma3_has_two_bases_and_scales_only_its_full_layers() -> None:
    model = read("B96")
    assert model.layer("full_attention").indices == (5, 11, 17, 23, 29)
    full, sliding = model.rotation("full_attention"), model.rotation("sliding_attention")
    assert (full.inv_freq[0], sliding.inv_freq[0]) == (0.125, 1.0)
    assert full.wavelengths[-1] == pytest.approx(45122676.81, rel=1e-6)
    assert sliding.wavelengths[-1] == pytest.approx(58469.56575, rel=1e-6)
    assert any("two schedules" in row.origin for row in model.resolved)


def test_export_of_the_practice_case_is_labelled_and_quoted() -> None:
    model = read("B109")
    for runtime in ("transformers", "transformers_v4", "vllm", "sglang", "llama_cpp"):
        settings = configs.export(model, runtime)
        assert configs.read_export(settings).spec() == model.spec()
        assert any("Version assumed" in note for note in settings.notes)
    flags = configs.export(model, "llama_cpp").data
    expected = CASES["B109"]["expect"]["values"]["llama_cpp"]
    assert {name: flags[name] for name in expected} == expected
