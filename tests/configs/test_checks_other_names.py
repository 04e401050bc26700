"""Other tools' names for a share or a factor, and values of theirs that change nothing."""

from __future__ import annotations

from typing import Any

import pytest

from posviz import configs

MODEL = {"head_dim": 80, "rope_theta": 1e4, "max_position_embeddings": 16384}
NAMES = (
    "rotary_scaling_factor",
    "rope_alpha",
    "rope_condense_ratio",
    "rope_pct",
    "compress_pos_emb",
    "rope_freq_base",
    "original_seq_len",
    "yarn_mscale",
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("inside", [False, True])
def test_a_null_of_another_tool_says_nothing(name: str, inside: bool) -> None:
    config: dict[str, Any] = {**MODEL, "rope_scaling": {"rope_type": "linear", "factor": 1.0}}
    place = config["rope_scaling"] if inside else config
    place[name] = None
    assert not configs.check(config).of("PV272")


@pytest.mark.parametrize("slip", ["rope_scalling", "rope_tetha", "max_position_embedding"])
def test_a_null_under_a_misspelt_key_says_nothing(slip: str) -> None:
    assert configs.check({**MODEL, slip: 8}).of("PV270")
    assert not configs.check({**MODEL, slip: None}).of("PV270")


@pytest.mark.parametrize(
    "name",
    ["rotary_scaling_factor", "rope_condense_ratio", "compress_pos_emb", "rope_freq_scale",
     "rope_alpha", "alpha_value", "rope_pct", "rotary_percent"],
)  # fmt: skip
@pytest.mark.parametrize("one", [1, 1.0])
def test_a_scaling_by_one_and_a_whole_share_say_nothing(name: str, one: float) -> None:
    assert not configs.check({**MODEL, name: one}).of("PV272")


@pytest.mark.parametrize("model_type", ["", "nomic_bert", "stablelm_epoch"])
def test_rotary_scaling_factor_means_two_things_so_nothing_is_changed(model_type: str) -> None:
    named = {"model_type": model_type} if model_type else {}
    [found] = configs.check({**named, **MODEL, "rotary_scaling_factor": 2}).of("PV272")
    assert "Megatron-LM and Nomic" in found.message
    assert not found.patch


@pytest.mark.parametrize("name", ["rope_pct", "rope_percent", "rotary_percent"])
def test_a_share_under_another_name_gets_the_name_that_is_read(name: str) -> None:
    # StableLM-3B-4E1T's first file: 80 dimensions, of which a quarter rotates.
    report = configs.check({"model_type": "stablelm_epoch", **MODEL, name: 0.25})
    assert report.values["rotary_dim"] == 80
    assert report.of("PV272")[0].severity == "warn"
    after = report.patched("PV272")
    assert name not in after
    assert configs.check(after).values["rotary_dim"] == 20


def test_a_class_with_its_own_name_for_the_share_gets_that() -> None:
    report = configs.check({"model_type": "gpt_neox", **MODEL, "rope_pct": 0.5})
    after = report.patched("PV272")
    assert after["rotary_pct"] == 0.5
    assert configs.check(after).values["rotary_dim"] == 40


def test_longchat_s_ratio_is_linear_interpolation() -> None:
    # longchat-7b-16k: positions are divided by 8 over a window of 2048.
    report = configs.check({**MODEL, "model_type": "llama", "rope_condense_ratio": 8})
    [found] = report.of("PV272")
    assert "FastChat" in found.message
    after = configs.read(report.patched("PV272"))
    plain = configs.read({**MODEL, "model_type": "llama"})
    assert after.rotation().inv_freq * 8 == pytest.approx(plain.rotation().inv_freq)


@pytest.mark.parametrize("model_type", ["lilt", "markuplm"])
@pytest.mark.parametrize(("padding", "told"), [(0, False), (1, False), (2, True)])
def test_the_padding_of_released_weights_is_no_alarm(
    model_type: str, padding: int, told: bool
) -> None:
    report = configs.check(
        {
            "model_type": model_type,
            "hidden_size": 768,
            "num_attention_heads": 12,
            "max_position_embeddings": 514,
            "pad_token_id": padding,
        }
    )
    assert bool(report.of("PV301")) == told


YARN = {
    "rope_type": "yarn",
    "factor": 32.0,
    "original_max_position_embeddings": 4096,
    "truncate": False,
}


@pytest.mark.parametrize(
    ("runtime", "who"),
    [
        (None, "llama.cpp and MLX round"),
        ("llama_cpp", "llama.cpp rounds"),
        ("ollama", "Ollama rounds"),
        ("mlx", "MLX rounds"),
        ("vllm_old", "Older vLLM rounds"),
    ],
)
def test_unrounded_bounds_are_told_about_the_runtime_that_was_asked(
    runtime: str | None, who: str
) -> None:
    config = {"head_dim": 64, "rope_theta": 15e4, "max_position_embeddings": 131072}
    [found] = configs.check({**config, "rope_scaling": YARN}, runtime=runtime).of("PV223")
    assert who in found.message
    if runtime not in (None, "llama_cpp"):
        assert "llama.cpp" not in found.message


LLAMA = {"model_type": "llama", "hidden_size": 256, "num_attention_heads": 4}
RUNS: dict[str, dict[str, Any]] = {
    "yarn": {"factor": 4.0, "original_max_position_embeddings": 4096},
    "llama3": {
        "factor": 8.0,
        "original_max_position_embeddings": 4096,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
    },
    "linear": {"factor": 2.0},
    "dynamic": {"factor": 2.0},
}


@pytest.mark.parametrize("value", ["4", [4.0], {"a": 4.0}], ids=["text", "list", "object"])
@pytest.mark.parametrize(
    ("rope_type", "key"),
    [
        ("yarn", "factor"),
        ("yarn", "attention_factor"),
        ("yarn", "beta_fast"),
        ("yarn", "rope_theta"),
        ("yarn", "original_max_position_embeddings"),
        ("llama3", "low_freq_factor"),
        ("llama3", "factor"),
        ("linear", "factor"),
        ("dynamic", "factor"),
        ("dynamic", "rope_theta"),
    ],
)
def test_what_transformers_does_with_what_is_no_number(
    rope_type: str, key: str, value: Any
) -> None:
    rope = {"rope_type": rope_type, "rope_theta": 1e4, **RUNS[rope_type], key: value}
    config = {**LLAMA, "max_position_embeddings": 16384, "rope_parameters": rope}
    codes = configs.check(config)
    told = [each for code in ("PV112", "PV114") for each in codes.of(code) if each.runtimes]
    assert _outcome(config) in told[0].runtimes["transformers"]


@pytest.mark.parametrize("key", ["max_position_embeddings", "head_dim", "hidden_size"])
def test_a_size_as_text_is_refused_on_loading(key: str) -> None:
    config = {**LLAMA, "max_position_embeddings": 16384, "rope_theta": 1e4, key: "64"}
    [found] = configs.check(config).of("PV112")
    assert _outcome(config) == "refuses it on loading"
    assert found.runtimes["transformers"].startswith("refuses it on loading")


def _outcome(config: dict[str, Any]) -> str:
    import torch
    from huggingface_hub.errors import StrictDataclassError
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    try:
        loaded = LlamaConfig.from_dict({**config})
    except StrictDataclassError:
        return "refuses it on loading"
    try:
        module = LlamaRotaryEmbedding(loaded)
    except TypeError:
        return "module is built"
    with pytest.raises(TypeError):
        module(torch.zeros(1, 1, 1), torch.tensor([[5000]]))
    return "first call"
