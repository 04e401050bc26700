"""What single keys of a GGUF file do in llama.cpp, and what is said where transformers has no
such thing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from posviz import configs
from posviz.configs import ConfigError
from posviz.configs.gguf import GgufConfig, read_gguf
from posviz.configs.gguf.header import Header
from posviz.configs.gguf.mapping import config_of
from posviz.configs.gguf.values import Omitted
from tests.configs.gguf_files import sizes, write

PLAIN: dict[str, Any] = {
    "general.architecture": "llama",
    "llama.context_length": 4096,
    "llama.embedding_length": 4096,
    "llama.attention.head_count": 32,
    "llama.block_count": 32,
}


def mapped(architecture: str = "llama", **keys: Any) -> GgufConfig:
    """A header with Llama 2's sizes and these keys; __ stands for a dot."""
    metadata = {key.replace("llama.", f"{architecture}."): value for key, value in PLAIN.items()}
    metadata["general.architecture"] = architecture
    metadata |= {f"{architecture}.{key.replace('__', '.')}": value for key, value in keys.items()}
    return config_of(Header(architecture, 3, "little", metadata, {}, {}))


def rope(found: GgufConfig) -> Any:
    return found.config["rope_parameters"]


def warnings(found: GgufConfig) -> list[str]:
    return [sentence for severity, sentence in found.notes if severity != "info"]


def test_a_factor_without_a_type_is_linear() -> None:
    found = mapped(rope__scaling__factor=4.0)
    assert rope(found) == {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}
    assert found.names["rope_parameters.rope_type"] == "llama.rope.scaling.factor"


def test_the_factor_of_2023_counts_where_the_new_key_is_absent() -> None:
    found = mapped(rope__scale_linear=2.0)
    assert rope(found)["factor"] == 2.0
    assert found.names["rope_parameters.factor"] == "llama.rope.scale_linear"
    assert rope(mapped(rope__scale_linear=2.0, rope__scaling__factor=4.0))["factor"] == 4.0


@pytest.mark.parametrize("keys", [{"rope__scaling__factor": 0.0}, {"rope__scaling__factor": 1.0}])
def test_a_factor_of_0_or_1_is_none(keys: dict[str, float]) -> None:
    assert rope(mapped(rope__scaling__type="linear", **keys))["rope_type"] == "default"


def test_type_none_switches_the_factor_off() -> None:
    found = mapped(rope__scaling__type="none", rope__scaling__factor=4.0)
    assert rope(found)["rope_type"] == "default"
    sentence = "llama.rope.scaling.factor is 4 without effect: the scaling type is none."
    assert ("info", sentence) in found.notes


def test_a_type_that_llama_cpp_does_not_load_is_an_error() -> None:
    found = mapped(rope__scaling__type="dynamic", rope__scaling__factor=4.0)
    assert found.notes[0] == (
        "error",
        "llama.rope.scaling.type is 'dynamic', which llama.cpp does not load; it knows none, "
        "linear, yarn, longrope.",
    )


def test_yarn_takes_its_betas_from_the_file() -> None:
    found = mapped(
        rope__scaling__type="yarn",
        rope__scaling__factor=4.0,
        rope__scaling__original_context_length=2048,
        rope__scaling__yarn_beta_fast=64.0,
        rope__scaling__yarn_beta_slow=2.0,
    )
    spec: Any = configs.read(found.config).spec()
    assert (spec.beta_fast, spec.beta_slow, spec.original_max_position_embeddings) == (64, 2, 2048)
    name = "llama.rope.scaling.yarn_beta_fast"
    assert found.names["rope_parameters.beta_fast"] == name


def test_yarn_multiplies_its_magnitude_by_attn_factor() -> None:
    found = mapped(
        rope__scaling__type="yarn", rope__scaling__factor=4.0, rope__scaling__attn_factor=0.5
    )
    factor = configs.read(found.config).rotation().attention_factor
    assert factor == pytest.approx(1.138629436111989 / 2, rel=1e-12)
    assert warnings(found) == []


def test_an_attn_factor_that_is_the_magnitude_itself_is_pointed_out() -> None:
    found = mapped(
        rope__scaling__type="yarn", rope__scaling__factor=4.0, rope__scaling__attn_factor=1.1386294
    )
    assert warnings(found) == [
        "llama.rope.scaling.attn_factor 1.1386294 multiplies YaRN's own magnitude 1.13862944, so "
        "cos and sin carry 1.29647695; it looks like that magnitude itself, counted twice."
    ]


def test_yarn_attn_factor_has_no_effect_with_a_ramp() -> None:
    found = mapped(
        rope__scaling__type="yarn", rope__scaling__factor=4.0, rope__scaling__yarn_attn_factor=1.0
    )
    assert configs.read(found.config).rotation().attention_factor == pytest.approx(1.138629436)
    assert warnings(found) == [
        "llama.rope.scaling.yarn_attn_factor 1 has no effect: with a ramp llama.cpp replaces it by "
        "its own magnitude, 1.13862944 for this factor."
    ]


def test_yarn_with_weight_0_is_plain_interpolation_with_its_own_magnitude() -> None:
    found = mapped(
        rope__scaling__type="yarn",
        rope__scaling__factor=4.0,
        rope__scaling__yarn_ext_factor=0.0,
        rope__scaling__yarn_attn_factor=1.25,
    )
    rotation = configs.read(found.config).rotation()
    np.testing.assert_allclose(rotation.inv_freq, 10000.0 ** (-np.arange(64) / 64) / 4, rtol=1e-12)
    assert rotation.attention_factor == 1.25


def test_the_two_attention_factors_multiply_without_a_ramp() -> None:
    found = mapped(rope__scaling__attn_factor=1.5, rope__scaling__yarn_attn_factor=0.5)
    rotation = configs.read(found.config).rotation()
    np.testing.assert_allclose(rotation.inv_freq, 10000.0 ** (-np.arange(64) / 64), rtol=1e-12)
    assert rotation.attention_factor == 0.75
    name = "llama.rope.scaling.attn_factor"
    assert found.names["rope_parameters.attention_factor"] == name


def test_linear_with_a_ramp_weight_is_yarn() -> None:
    found = mapped(
        rope__scaling__type="linear", rope__scaling__factor=4.0, rope__scaling__yarn_ext_factor=1.0
    )
    assert rope(found)["rope_type"] == "yarn"


def test_a_ramp_weight_between_0_and_1_is_said_to_be_left_out() -> None:
    found = mapped(
        rope__scaling__type="yarn", rope__scaling__factor=4.0, rope__scaling__yarn_ext_factor=0.5
    )
    assert warnings(found) == [
        "llama.rope.scaling.yarn_ext_factor is 0.5, the weight of YaRN's ramp; transformers has no "
        "such number, and the ramp is shown with weight 1."
    ]


def test_yarn_of_phi_3_is_yarn_in_llama_cpp() -> None:
    found = mapped(
        "phi3",
        rope__scaling__type="yarn",
        rope__scaling__factor=4.0,
        rope__scaling__original_context_length=2048,
    )
    assert configs.read(found.config).spec().id == "yarn"
    assert "model_type" not in found.config


def test_alpha_is_said_to_be_left_out() -> None:
    assert warnings(mapped("hunyuan-dense", rope__scaling__alpha=1000.0)) == [
        "hunyuan-dense.rope.scaling.alpha is 1000; it is not part of what is shown here."
    ]


def test_part_of_a_head_rotates_where_the_class_would_rotate_it_whole() -> None:
    found = mapped("qwen2", rope__dimension_count=64)
    model = configs.read(found.config)
    assert model.rotation().inv_freq.shape == (32,)
    assert warnings(found) == [
        "qwen2.rope.dimension_count is 64 of 128 dimensions, which llama.cpp obeys; qwen2 of "
        "transformers always rotates whole heads, so no model type is given here."
    ]


def test_part_of_a_head_is_refused_for_llama() -> None:
    assert warnings(mapped(rope__dimension_count=64))[0] == (
        "llama.rope.dimension_count is 64 and a head has 128 dimensions; llama.cpp refuses that "
        "for llama."
    )


def test_m_rope_sections_lose_the_empty_fourth() -> None:
    found = mapped("qwen3vl", rope__dimension_sections=[24, 20, 20, 0])
    assert rope(found)["mrope_section"] == [24, 20, 20]
    assert rope(found)["mrope_interleaved"] is True
    name = "qwen3vl.rope.dimension_sections"
    assert found.names["rope_parameters.mrope_section"] == name
    assert "mrope_interleaved" not in rope(mapped("qwen2vl", rope__dimension_sections=[16, 24, 24]))


def test_sliding_layers_of_olmo_are_not_scaled() -> None:
    found = mapped(
        "olmo2",
        attention__sliding_window=4096,
        rope__scaling__type="yarn",
        rope__scaling__factor=8.0,
    )
    model = configs.read(found.config)
    assert model.spec("full_attention").id == "yarn"
    assert model.spec("sliding_attention").id == "rope"


def test_a_list_per_layer_gives_its_first_number_that_is_not_0() -> None:
    found = mapped(attention__head_count=[0, 32, 16])
    assert found.config["num_attention_heads"] == 32


@pytest.mark.parametrize(
    ("architecture", "words"),
    [
        ("bloom", "Positions come from ALiBi"),
        ("mpt", "Positions come from ALiBi"),
        ("t5", "Positions come from T5's bucketed bias"),
        ("gpt2", "Positions come from a learned table of 4096 rows"),
        ("bert", "Positions come from a learned table of 4096 rows"),
    ],
)
def test_models_without_rotation_are_told(architecture: str, words: str) -> None:
    model = configs.read(mapped(architecture).config)
    assert model.layers == ()
    assert model.messages[0].text.startswith(words)


@pytest.mark.parametrize("architecture", ["nemotron_h", "nemotron_h_moe", "kimi-linear", "jamba"])
def test_attention_without_positions_is_told(architecture: str) -> None:
    for keys in ({}, {"rope__freq_base": 10000.0, "rope__dimension_count": 64}):
        model = configs.read(mapped(architecture, **keys).config)
        assert model.layers == ()
        assert "No layer has positions" in model.messages[0].text


NEVER_ROTATE = [
    *("gpt2", "mpt", "refact", "bloom", "mamba", "mamba2", "jamba", "jina-bert-v2", "t5"),
    *("t5encoder", "jais", "rwkv6", "rwkv6qwen2", "rwkv7", "arwkv7", "wavtokenizer-dec"),
    *("nemotron_h", "nemotron_h_moe", "kimi-linear"),
]
"""llama_model_rope_type gives LLAMA_ROPE_TYPE_NONE for these, and for clip and gptj, which
llama.cpp does not run as language models."""


@pytest.mark.parametrize("architecture", NEVER_ROTATE)
def test_no_rotation_is_shown_where_llama_cpp_has_none(architecture: str) -> None:
    found = mapped(architecture, rope__freq_base=10000.0)
    assert "rope_parameters" not in found.config


def test_an_architecture_that_llama_cpp_only_names_is_a_warning() -> None:
    assert warnings(mapped("gptj")) == [
        "llama.cpp knows the name gptj, but does not run this architecture."
    ]


@pytest.mark.parametrize(
    ("architecture", "told"),
    [
        ("llama", True),
        ("mistral3", True),
        ("granite", True),
        ("command-r", False),
        ("cohere2", False),
        ("llama4", False),
        ("deepseek2", False),
        ("ernie4_5", False),
        ("glm4", False),
        ("qwen2", False),
    ],
)
def test_reordered_rows_are_told_only_where_the_model_rotates_halves(
    architecture: str, told: bool
) -> None:
    notes = [sentence for _, sentence in mapped(architecture).notes]
    assert any("pairs of neighbours" in note for note in notes) == told


def test_recurrent_models_have_nothing_to_show() -> None:
    with pytest.raises(ConfigError, match="Nothing in this configuration is about rotary"):
        configs.read(mapped("mamba").config)


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("rope__freq_base", "1e6", "llama.rope.freq_base must be a finite number; got '1e6'."),
        ("rope__freq_base", float("nan"), "llama.rope.freq_base must be a finite number; got nan."),
        ("context_length", True, "llama.context_length must be a finite number; got True."),
        ("rope__scaling__type", 1, "llama.rope.scaling.type must be a text; got 1."),
        (
            "rope__dimension_sections",
            Omitted("array", 5000),
            "llama.rope.dimension_sections must be a short list; got array of length 5000.",
        ),
        (
            "attention__key_length",
            1 << 40,
            "llama.attention.key_length must be at most 1048576, larger than in any model; got "
            "1.09951e+12.",
        ),
    ],
)
def test_a_value_of_the_wrong_kind_is_named(key: str, value: Any, sentence: str) -> None:
    with pytest.raises(ConfigError) as caught:
        mapped(**{key: value})
    assert str(caught.value) == sentence


def test_a_later_part_of_a_split_file_sends_to_the_first() -> None:
    metadata = {"split.no": 1, "split.count": 3, "split.tensors.count": 300}
    with pytest.raises(ConfigError) as caught:
        config_of(Header("", 3, "little", metadata, {}, {}))
    assert str(caught.value) == "This GGUF file is part 2 of 3; the metadata stand in part 1."


def test_the_first_part_of_a_split_file_says_what_it_cannot_see(tmp_path: Path) -> None:
    def fill(writer: gguf.GGUFWriter) -> None:
        sizes(writer, width=4096, heads=32, window=4096, base=10000.0)
        writer.add_uint16("split.no", 0)
        writer.add_uint16("split.count", 3)
        writer.add_int32("split.tensors.count", 291)

    found = read_gguf(write(tmp_path / "a-00001-of-00003.gguf", "llama", fill))
    assert warnings(found) == [
        "The file is part 1 of 3 and holds 1 of 291 tensors; whether rope_freqs.weight, "
        "rope_factors_long.weight, rope_factors_short.weight stand in another part cannot be seen "
        "here."
    ]


def test_files_that_hold_no_language_model_are_refused() -> None:
    metadata = {"general.architecture": "clip", "general.type": "mmproj"}
    with pytest.raises(ConfigError) as caught:
        config_of(Header("clip", 3, "little", metadata, {}, {}))
    assert str(caught.value) == (
        "This GGUF file holds no language model: its general.architecture is 'clip' and its "
        "general.type 'mmproj'."
    )
    with pytest.raises(ConfigError, match="so it is no model"):
        config_of(Header("", 3, "little", {}, {}, {}))
