"""Settings beside a GGUF file: Ollama's Modelfile, and llama.cpp's --override-kv."""

from __future__ import annotations

import shlex
from typing import Any

import pytest

from posviz import configs, get
from tests.configs.case_files import LLAMA_4096, QWEN_YARN


def llama(**more: Any) -> configs.Model:
    return configs.read(LLAMA_4096 | more)


def released(name: str) -> configs.Model:
    return configs.read(next(item for item in configs.presets() if item.id == name).config)


def test_ollama_gets_a_length_and_says_where_the_rotation_comes_from() -> None:
    written = configs.export(configs.read(QWEN_YARN), "ollama", target_length=65536)
    assert written.text == "FROM ./model.gguf\nPARAMETER num_ctx 65536\n"
    assert written.data == {"num_ctx": 65536}
    assert any("all of it comes from the GGUF file" in note for note in written.notes)


def test_ollama_refuses_a_rotation_that_the_file_does_not_hold() -> None:
    model = configs.read(QWEN_YARN)
    tuned = model.with_spec(model.spec().with_values(scaling_factor=8.0))
    reason = "num_ctx only, and the rotation comes from the GGUF file; .*gguf-set-metadata"
    with pytest.raises(configs.ExportError, match=reason):
        configs.export(tuned, "ollama")
    with pytest.raises(configs.ExportError, match="262144 is cut to the context_length"):
        configs.export(model, "ollama", target_length=262144)


def test_ollama_refuses_what_llama_cpp_cannot_run_or_conversion_drops() -> None:
    scaling = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}
    for more, reason in (
        ({"truncate": False}, "always rounds the bounds"),
        ({"attention_factor": 1.0}, "does not carry its attention factor over"),
        ({"rope_type": "dynamic"}, "does not carry it over"),
    ):
        model = llama(rope_theta=1e4, rope_scaling=scaling | more)
        with pytest.raises(configs.ExportError, match=reason):
            configs.export(model, "ollama")


def test_llama_cpp_gets_an_attention_factor_as_a_key_of_the_file() -> None:
    # Net factor (0.1·ln 16 + 1) × key; 1/1.277258872223978 = 0.782926642...
    spec = get("yarn")(scaling_factor=16.0, attention_factor=1.0)
    words = shlex.split(configs.export(llama().with_spec(spec), "llama_cpp").text)
    key, value = words[words.index("--override-kv") + 1].split("=float:")
    assert key == "llama.rope.scaling.attn_factor"
    assert float(value) == pytest.approx(1 / 1.277258872223978, rel=1e-15)


def test_llama_cpp_gets_deepseek_s_correction_as_a_tenth_of_mscale_all_dim() -> None:
    lite = released("deepseek-v2-lite")
    words = shlex.split(configs.export(lite, "llama_cpp").text)
    override = words[words.index("--override-kv") + 1]
    assert override == "deepseek2.rope.scaling.yarn_log_multiplier=float:0.0707"
    again: Any = configs.read_export(configs.export(lite, "llama_cpp")).spec()
    # (0.1·0.707·ln 40 + 1)² = 1.589626165, published for DeepSeek-V2-Lite.
    assert again.encode([0.0]).softmax_factor == pytest.approx(1.589626165, rel=1e-9)
    assert again.encode([0.0]).attention_factor == 1.0


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"mscale": 0.5}, "leaves cos and sin as they are"),
        ({"mscale": None, "mscale_all_dim": None, "softmax_correction": False}, "any scaling"),
    ],
)
def test_llama_cpp_refuses_what_deepseek_s_architecture_ties_together(
    values: dict[str, Any], reason: str
) -> None:
    lite = released("deepseek-v2-lite")
    with pytest.raises(configs.ExportError, match=reason):
        configs.export(lite.with_spec(lite.spec().with_values(**values)), "llama_cpp")


def test_llama_cpp_undoes_betas_that_conversion_wrote_into_the_file() -> None:
    model = configs.read(
        {**QWEN_YARN, "rope_scaling": {**QWEN_YARN["rope_scaling"], "beta_fast": 64}}
    )
    tuned = model.with_spec(model.spec().with_values(beta_fast=32.0))
    assert configs.export(tuned, "llama_cpp").data["yarn_beta_fast"] == 32.0


@pytest.mark.parametrize("name", ["llama-3.1-8b", "phi-3-mini-128k"])
def test_llama_cpp_s_flags_cannot_remove_factors_that_stand_in_tensors(name: str) -> None:
    model = released(name)
    head = {key: getattr(model.spec(), key) for key in ("head_dim", "base")}
    with pytest.raises(configs.ExportError, match="tensors of its GGUF file, which no flag"):
        configs.export(model.with_spec(get("yarn")(**head)), "llama_cpp")
