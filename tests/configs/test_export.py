"""Settings for each runtime: what they say, what is refused, and that they read back the same."""

from __future__ import annotations

import json
import shlex
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from posviz import catalog, configs, get
from posviz.encodings.base import Encoding
from posviz.encodings.rotary import RotaryEncoding
from tests.configs.case_files import QWEN_YARN
from tests.spec_strategies import specs

ROTARY = [item for item in catalog() if issubclass(item, RotaryEncoding)]


def text_of(config: dict[str, Any], runtime: str, **lengths: int) -> str:
    return configs.export(configs.read(config), runtime, **lengths).text


def test_transformers_5_has_one_dict_with_the_base_inside() -> None:
    assert json.loads(text_of(QWEN_YARN, "transformers")) == {
        "rope_parameters": {
            "rope_type": "yarn",
            "rope_theta": 1000000.0,
            "factor": 4.0,
            "original_max_position_embeddings": 32768,
        },
        "max_position_embeddings": 131072,
    }


def test_transformers_4_has_the_base_beside_rope_scaling() -> None:
    assert json.loads(text_of(QWEN_YARN, "transformers_v4")) == {
        "rope_theta": 1000000.0,
        "rope_scaling": QWEN_YARN["rope_scaling"],
        "max_position_embeddings": 131072,
    }


def test_vllm_gets_the_whole_dict_quoted_and_a_length() -> None:
    words = shlex.split(text_of(QWEN_YARN, "vllm", target_length=65536))
    assert words[0::2] == ["--hf-overrides", "--max-model-len"]
    assert words[3] == "65536"
    assert json.loads(words[1]) == json.loads(text_of(QWEN_YARN, "transformers"))
    assert "--rope-scaling" not in words


def test_sglang_gets_its_override_and_a_context_length() -> None:
    words = shlex.split(text_of(QWEN_YARN, "sglang"))
    assert words[0::2] == ["--json-model-override-args", "--context-length"]
    override = json.loads(words[1])
    assert override["rope_scaling"] == {**QWEN_YARN["rope_scaling"], "rope_theta": 1000000.0}
    assert (override["max_position_embeddings"], words[3]) == (131072, "131072")


def test_sglang_undoes_keys_that_its_override_cannot_remove() -> None:
    model = configs.read(
        {**QWEN_YARN, "rope_scaling": {**QWEN_YARN["rope_scaling"], "beta_fast": 64}}
    )
    tuned = model.with_spec(model.spec().with_values(beta_fast=32.0))
    override = json.loads(shlex.split(configs.export(tuned, "sglang").text)[1])
    assert override["rope_scaling"]["beta_fast"] == 32.0


def test_sglang_s_attention_factor_is_a_multiple_of_the_derived_one() -> None:
    spec = get("yarn")(scaling_factor=4.0, attention_factor=1.0)
    override = json.loads(shlex.split(configs.export(spec, "sglang").text)[1])
    assert override["rope_scaling"]["attn_factor"] == pytest.approx(1 / 1.138629436, rel=1e-9)


def test_llama_cpp_gets_flags() -> None:
    assert text_of(QWEN_YARN, "llama_cpp") == (
        "--rope-scaling yarn --rope-scale 4 --yarn-orig-ctx 32768 --rope-freq-base 1000000 "
        "--ctx-size 131072"
    )


def test_the_other_spelling_in_a_file_is_named() -> None:
    notes = configs.export(configs.read(QWEN_YARN), "transformers").notes
    assert any("Remove rope_scaling from the file" in note for note in notes)
    newer = configs.read(configs.export(configs.read(QWEN_YARN), "transformers").data)
    notes = configs.export(newer, "transformers_v4").notes
    assert any("Remove rope_parameters from the file" in note for note in notes)


def test_static_ntk_is_a_larger_base_everywhere() -> None:
    spec = get("ntk_aware")(scaling_factor=4.0)
    base = 10000.0 * 4.0 ** (128 / 126)
    for runtime in ("transformers", "vllm", "sglang"):
        data = configs.export(spec, runtime).data
        written = data.get("rope_parameters") or data["rope_scaling"]
        assert written == {"rope_type": "default", "rope_theta": pytest.approx(base)}
    assert configs.export(spec, "llama_cpp").data["rope_freq_base"] == pytest.approx(40889.942432)


def test_ntk_by_parts_is_llama3_exactly() -> None:
    spec = get("ntk_by_parts")(scaling_factor=16.0)
    written = configs.export(spec, "vllm").data["rope_parameters"]
    assert written["rope_type"] == "llama3"
    assert (written["low_freq_factor"], written["high_freq_factor"]) == (1.0, 32.0)


def test_a_multimodal_model_s_settings_stand_under_text_config() -> None:
    model = configs.read({"model_type": "mistral3", "text_config": QWEN_YARN})
    words = shlex.split(configs.export(model, "vllm").text)
    assert set(json.loads(words[1])) == {"text_config"}
    again = configs.read_export(configs.export(model, "vllm").text, "vllm", model.config)
    assert again.spec() == model.spec()


def test_phi3_s_top_level_window_follows_the_tuned_one() -> None:
    preset = next(item for item in configs.presets() if item.id == "phi-3-mini-128k")
    model = configs.read(preset.config)
    tuned = model.with_spec(model.spec().with_values(original_max_position_embeddings=8192))
    data = configs.export(tuned, "transformers").data
    assert data["original_max_position_embeddings"] == 8192
    assert configs.read(data).trained_window == 8192


def test_gpt_neox_keeps_its_own_names_in_version_4() -> None:
    preset = next(item for item in configs.presets() if item.id == "pythia-160m")
    model = configs.read(preset.config)
    written = json.loads(configs.export(model, "transformers_v4").text)
    assert written["rotary_emb_base"] == 10000.0
    assert written["rotary_pct"] == 0.25


def test_mrope_sections_survive() -> None:
    config = {
        **QWEN_YARN,
        "model_type": "qwen2_vl",
        "rope_scaling": {"type": "mrope", "mrope_section": [16, 24, 24]},
    }
    written = json.loads(text_of(config, "transformers"))["rope_parameters"]
    assert written["mrope_section"] == [16, 24, 24]


REFUSED = [
    ("yarn", {"attention_factor": 1.3}, "llama_cpp", "has no effect there"),
    ("yarn", {"truncate": False}, "llama_cpp", "always rounds the bounds"),
    ("yarn", {"ramp": "turns"}, "transformers", "export NTK-by-parts for exactly that"),
    ("yarn", {"ramp": "turns"}, "vllm", "linear in the pair index"),
    ("yarn", {"extrapolation_factor": 0.5}, "vllm", "does not read extrapolation_factor"),
    ("llama3", {}, "llama_cpp", "tensors of the GGUF file"),
    ("longrope", {}, "llama_cpp", "tensors of the GGUF file"),
    ("dynamic_ntk", {}, "llama_cpp", "no dynamic NTK at run time"),
    ("dynamic_ntk", {}, "vllm", "works its dynamic type out once"),
    ("dynamic_ntk", {}, "sglang", "works its dynamic type out once"),
    ("ntk_aware", {"variant": "vllm"}, "transformers", "in vLLM only"),
    ("p_rope", {}, "transformers_v4", "came with version 5"),
    ("rerope", {}, "transformers", "inside the attention kernel"),
    ("log_n", {}, "vllm", "scales the queries"),
    ("resonance", {}, "sglang", "rounds the wavelengths"),
    ("self_extend", {"group_size": 3}, "llama_cpp", "multiple of --grp-attn-n"),
    ("yarn", {"truncate": False}, "vllm_old", "not every release with --rope-scaling reads"),
    ("dynamic_ntk", {}, "vllm_old", "works its dynamic type out once"),
    ("ntk_aware", {"variant": "vllm"}, "vllm_old", "has the rope type ntk"),
    ("p_rope", {}, "vllm_old", "has the rope type proportional"),
    ("yarn", {}, "ollama", "a Modelfile sets num_ctx only"),
    ("llama3", {}, "ollama", "run it with llama.cpp's own flags"),
    ("yarn", {"truncate": False}, "mlx", "always rounds the bounds"),
    ("yarn", {"extrapolation_factor": 0.5}, "mlx", "does not read extrapolation_factor"),
    ("yarn", {"scaling_factor": 1.0, "attention_factor": 1.2}, "mlx", "by 1 where the factor is 1"),
    ("longrope", {}, "mlx", "divides by the long list at every length"),
    ("longrope", {"switch": "always_long", "attention_factor": 1.3}, "mlx", "here 1.19023807"),
    ("yarn", {"ramp": "turns"}, "mlx", "linear in the pair index"),
]


@pytest.mark.parametrize(("encoding", "values", "runtime", "reason"), REFUSED)
def test_what_a_runtime_cannot_express_is_refused_with_the_reason(
    encoding: str, values: dict[str, Any], runtime: str, reason: str
) -> None:
    spec = get(encoding)(**values)
    with pytest.raises(configs.ExportError) as refused:
        configs.export(spec, runtime)
    assert str(refused.value).startswith(f"{spec.title} cannot be written for ")
    assert reason in str(refused.value)


def test_a_class_that_would_read_the_settings_otherwise_is_refused() -> None:
    llama = {
        "model_type": "llama",
        "hidden_size": 4096,
        "num_attention_heads": 32,
        "rope_theta": 1e4,
    }
    model = configs.read(llama)
    half = model.with_spec(model.spec().with_values(partial_rotary_factor=0.5))
    with pytest.raises(configs.ExportError, match="llama rotates whole heads"):
        configs.export(half, "transformers")


def test_layer_types_are_exported_where_the_runtime_has_them() -> None:
    gemma = configs.read(next(item for item in configs.presets() if item.id == "gemma-3-4b").config)
    for runtime in ("transformers", "vllm"):
        written = configs.export(gemma, runtime).data["rope_parameters"]
        assert written["full_attention"]["factor"] == 8.0
        assert written["sliding_attention"] == {"rope_type": "default", "rope_theta": 10000.0}
    old = json.loads(configs.export(gemma, "transformers_v4").text)
    assert (old["rope_theta"], old["rope_local_base_freq"]) == (1000000.0, 10000.0)
    mlx = json.loads(configs.export(gemma, "mlx").text)
    assert (mlx["rope_theta"], mlx["rope_local_base_freq"]) == (1000000.0, 10000.0)
    assert mlx["rope_scaling"] == {"rope_type": "linear", "factor": 8.0}
    for runtime in ("sglang", "llama_cpp", "vllm_old"):
        with pytest.raises(configs.ExportError, match="per layer type"):
            configs.export(gemma, runtime)


def test_gemma_3_is_not_extended_a_second_time() -> None:
    gemma = configs.read(next(item for item in configs.presets() if item.id == "gemma-3-4b").config)
    assert "--max-model-len 131072" in configs.export(gemma, "vllm").text
    assert "1048576" not in str(gemma.resolved)


def test_unknown_runtimes_and_lengths_are_refused() -> None:
    spec = get("rope")()
    with pytest.raises(configs.ExportError, match="no runtime 'vlm'; closest: vllm"):
        configs.export(spec, "vlm")
    for value in (0, -5, 1.5, True):
        with pytest.raises(configs.ExportError, match="target_length must be a whole number"):
            configs.export(spec, "vllm", target_length=value)  # type: ignore[arg-type]


def test_a_smaller_target_names_the_factor_that_covers_it() -> None:
    notes = configs.export(configs.read(QWEN_YARN), "vllm", target_length=65536).notes
    assert any("A factor of 2 would cover 65536 tokens" in note for note in notes)
    beyond = configs.export(configs.read(QWEN_YARN), "vllm", target_length=262144).notes
    assert any("beyond what the method covers, 131072 tokens" in note for note in beyond)


def test_every_note_says_which_version_is_assumed() -> None:
    for runtime in configs.RUNTIMES:
        assert configs.export(get("rope")(), runtime).notes[0].startswith("Version assumed: ")


TWO_SCHEDULES = {"gemma-3-1b", "gemma-3-4b", "modernbert-base"}
IN_TENSORS = {"llama-3.1-8b", "llama-3.2-1b", "llama-3.2-3b", "phi-3-mini-128k"}
UNROUNDED = {"gpt-oss-20b"}
REFUSED_MODELS = {
    "transformers": set(),
    "transformers_v4": set(),
    "vllm": set(),
    "vllm_old": TWO_SCHEDULES | UNROUNDED,
    "sglang": TWO_SCHEDULES,
    "llama_cpp": TWO_SCHEDULES | IN_TENSORS | UNROUNDED,
    "ollama": UNROUNDED,
    "mlx": UNROUNDED | {"phi-3-mini-128k", "falcon-7b", "modernbert-base"},
}


@pytest.mark.parametrize("preset", configs.presets(), ids=lambda preset: preset.id)
@pytest.mark.parametrize("runtime", configs.RUNTIMES)
def test_every_released_model_reads_back_the_same(preset: configs.Preset, runtime: str) -> None:
    model = configs.read(preset.config)
    try:
        written = configs.export(model, runtime)
    except configs.ExportError:
        assert preset.id in REFUSED_MODELS[runtime]
        return
    assert preset.id not in REFUSED_MODELS[runtime]
    again = [
        configs.read_export(written),
        configs.read_export(written.text, runtime, preset.config),
    ]
    again += [] if runtime in ("llama_cpp", "ollama") else [configs.read(written.data)]
    for other in again:
        assert {name: other.spec(name) for name in other.layer_types} == {
            name: model.spec(name) for name in model.layer_types
        }


@pytest.mark.parametrize("encoding", ROTARY, ids=lambda encoding: encoding.id)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_an_export_reads_back_to_the_same_rotation(
    encoding: type[Encoding], data: st.DataObject
) -> None:
    spec: Any = data.draw(specs(encoding))
    runtime = data.draw(st.sampled_from(configs.RUNTIMES))
    try:
        written = configs.export(spec, runtime)
    except configs.ExportError:
        return
    base = written.base_config or head_of(written.data)
    by_data = configs.read_export(written).spec()
    by_text = configs.read_export(written.text, runtime, base).spec()
    assert by_text == by_data
    for length in (1, 5000, 1 << 20):
        ours = spec.encode([0.0, 7.0], length=length)
        theirs: Any = by_data.encode([0.0, 7.0], length=length)  # type: ignore[attr-defined]
        if encoding.id != "longrope" or runtime.startswith(("transformers", "mlx")):
            np.testing.assert_allclose(theirs.inv_freq, ours.inv_freq, rtol=1e-12)
        assert theirs.attention_factor == pytest.approx(ours.attention_factor, rel=1e-12) or (
            encoding.id == "longrope"
        )
        assert theirs.softmax_factor == pytest.approx(ours.softmax_factor, rel=1e-12)
        assert (theirs.layout, theirs.head_dim) == (ours.layout, ours.head_dim)


def head_of(data: Any) -> dict[str, Any]:
    keys = ("head_dim", "qk_rope_head_dim", "rope_interleave")
    return {key: data[key] for key in keys if key in data}


SAME = [
    get("rope")(base=5e5, layout="interleaved", partial_rotary_factor=0.5),
    get("linear")(scaling_factor=8.0),
    get("dynamic_ntk")(scaling_factor=2.0, original_max_position_embeddings=2048),
    get("yarn")(scaling_factor=4.0, beta_fast=64.0, attention_factor=1.1, truncate=False),
    get("yarn")(mscale=0.707, mscale_all_dim=0.707, softmax_correction=True, head_dim=64),
    get("llama3")(),
    get("longrope")(),
    get("p_rope")(partial_rotary_factor=0.25, scaling_factor=2.0),
]


@pytest.mark.parametrize("spec", SAME, ids=lambda spec: spec.id)
def test_transformers_data_reads_back_to_the_very_same_spec(spec: Encoding) -> None:
    assert configs.read(configs.export(spec, "transformers").data).spec() == spec


@pytest.mark.parametrize(
    ("text", "runtime", "sentence"),
    [
        ("--max-model-len 5", "vllm", "There is no --hf-overrides"),
        ("--hf-overrides '{", "vllm", "quotes in these settings do not match"),
        ("--hf-overrides '{'", "vllm", "no readable JSON"),
        ("[1]", "transformers", "must hold a JSON object"),
        ("--rope-scale", "llama_cpp", "one is missing"),
        ("--rope-scale x", "llama_cpp", "--rope-scale needs a number; got 'x'."),
        ("--threads 4", "llama_cpp", "--threads is no flag"),
        ("--override-kv llama.rope.freq_base=float:5", "llama_cpp", "sets no key that is written"),
        ("--override-kv x.rope.scaling.attn_factor=float:.-", "llama_cpp", "sets no key"),
        ("--hf-overrides '{}'", "vllm_old", "--hf-overrides is no flag"),
        ("--rope-theta x", "vllm_old", "--rope-theta needs a number; got 'x'."),
        ("PARAMETER rope_frequency_base 5", "ollama", "no line of a Modelfile about positions"),
        ("PARAMETER num_ctx many", "ollama", "num_ctx must be a whole number; got 'many'."),
        ("[]", "mlx", "must hold a JSON object"),
        ("{}", "mxl", "There is no runtime 'mxl'; closest: mlx"),
    ],
)
def test_settings_that_are_none_are_refused(text: str, runtime: str, sentence: str) -> None:
    with pytest.raises(configs.ConfigError) as refused:
        configs.read_export(text, runtime, {"head_dim": 64, "rope_theta": 1e4})
    assert sentence in str(refused.value)
