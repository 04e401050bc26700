"""Numbers that a file lost or never had where its class reads them: the base, truncate."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from posviz import configs

LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}
SIZES = {"model_type": "llama", "head_dim": 128, "max_position_embeddings": 131072}


@pytest.mark.parametrize("place", ["rope_scaling", "rope_parameters"])
@pytest.mark.parametrize("key", ["rope_type", "type"])
def test_bands_of_llama3_over_the_class_default(place: str, key: str) -> None:
    rope = {(key if name == "rope_type" else name): value for name, value in LLAMA3.items()}
    report = configs.check({**SIZES, place: rope})
    [found] = report.of("PV145")
    assert found.severity == "warn"
    assert "the default of the class llama is used, 10000" in found.message
    assert report.values["base"] == 1e4
    for given in (
        {**SIZES, "rope_theta": 5e5, place: rope},
        {**SIZES, place: {**rope, "rope_theta": 5e5}},
    ):
        assert not configs.check(given).of("PV145")


@pytest.mark.parametrize("rope", [{"rope_type": "default"}, {"rope_type": "linear", "factor": 2.0}])
def test_the_new_dict_without_a_base(rope: dict[str, Any]) -> None:
    new, old = {**SIZES, "rope_parameters": rope}, {**SIZES, "rope_scaling": rope}
    assert [each.severity for each in configs.check(new).of("PV145")] == ["warn"]
    assert not configs.check(old).of("PV145")
    nested = configs.check({"model_type": "llava", "text_config": new})
    assert nested.of("PV145")


@pytest.mark.parametrize("model_type", ["llama", "mixtral", "gemma3_text", "gpt_oss", "cwm"])
def test_a_file_that_says_nothing_leans_on_its_class_quietly(model_type: str) -> None:
    assert not configs.check({"model_type": model_type}).of("PV145")


YARN = {
    "rope_type": "yarn",
    "factor": 32.0,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
    "original_max_position_embeddings": 4096,
}
GPT_OSS = {
    "model_type": "gpt_oss",
    "head_dim": 64,
    "max_position_embeddings": 131072,
    "rope_theta": 150000,
}


@pytest.mark.parametrize("place", ["rope_scaling", "rope_parameters"])
def test_a_dict_of_gpt_oss_that_lost_truncate(place: str) -> None:
    report = configs.check({**GPT_OSS, place: YARN})
    [found] = report.of("PV227")
    assert found.severity == "warn"
    # 64·ln(4096/(2π·32))/(2·ln 150000) = 8.0928 and 64·ln(4096/(2π))/(2·ln 150000) = 17.398
    assert found.values["ramp_of_the_class"] == pytest.approx([8.0927791, 17.3980245])
    assert "Pair 17 differs by 0.763" in found.message
    after = report.patched("PV227")
    assert after[place]["truncate"] is False
    right: Any = configs.read({**GPT_OSS, place: {**YARN, "truncate": False}}).spec()
    mended: Any = configs.read(after).spec()
    np.testing.assert_array_equal(mended.frequencies(1), right.frequencies(1))


@pytest.mark.parametrize("value", [True, False, None])
def test_a_truncate_that_is_given_is_meant(value: bool | None) -> None:
    report = configs.check({**GPT_OSS, "rope_scaling": {**YARN, "truncate": value}})
    assert not report.of("PV227")
    other = configs.check({**GPT_OSS, "model_type": "llama", "rope_scaling": YARN})
    assert not other.of("PV227")
    assert not configs.check(GPT_OSS).of("PV227")


DBRX = {
    "model_type": "dbrx",
    "d_model": 6144,
    "n_heads": 48,
    "max_seq_len": 32768,
    "attn_config": {"clip_qkv": 8, "kv_n_heads": 8, "rope_theta": 500000},
}


def test_dbrx_keeps_its_base_where_transformers_does_not_look() -> None:
    report = configs.check(DBRX)
    [found] = report.of("PV271")
    assert (report.values["base"], report.values["head_dim"]) == (1e4, 128)
    assert found.severity == "warn"
    assert "attn_config.rope_theta = 500000" in found.message
    assert set(found.runtimes) == {"transformers", "vllm"}
    after = configs.check(report.patched("PV271"))
    assert after.values["base"] == 5e5
    assert not after.of("PV271")


def test_transformers_does_not_read_dbrx_s_base_in_attn_config() -> None:
    from transformers import DbrxConfig

    assert DbrxConfig(attn_config={"rope_theta": 500000}).rope_parameters["rope_theta"] == 10000


@pytest.mark.parametrize("rope", [{"rope_type": None}, {"type": None}])
def test_an_explicit_null_type_is_said_to_stop_once(rope: dict[str, Any]) -> None:
    config = {**SIZES, "rope_theta": 1e4, "rope_scaling": {**rope, "factor": 4.0}}
    report = configs.check(config)
    [unscaled] = report.of("PV275")
    assert "transformers" not in unscaled.runtimes
    assert "KeyError" in report.of("PV102")[0].runtimes["transformers"]
    absent = configs.check({**SIZES, "rope_theta": 1e4, "rope_scaling": {"factor": 4.0}})
    assert "rotates unscaled" in absent.of("PV275")[0].runtimes["transformers"]
