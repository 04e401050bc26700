"""What is said of a runtime that was asked about: that it rotates so, otherwise, or who knows."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from posviz import configs
from posviz.configs.checks import Diagnosis
from tests.configs.gguf_files import llama3_divisors, sizes, write

PRESETS = {each.id: each.config for each in configs.presets()}
PLAIN = {"head_dim": 128, "rope_theta": 1e4, "max_position_embeddings": 4096}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 4096}
MINISTRAL = {
    "model_type": "ministral3",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "head_dim": 128,
    "max_position_embeddings": 262144,
    "rope_parameters": {
        "rope_type": "yarn",
        "rope_theta": 1e6,
        "factor": 16.0,
        "original_max_position_embeddings": 16384,
        "mscale": 1.0,
        "mscale_all_dim": 1.0,
    },
}
HUNYUAN = {
    "model_type": "hunyuan_v1_dense",
    "rope_scaling": {"type": "dynamic", "alpha": 50.0},
}
GGUF_ENGINES = ("llama_cpp", "ollama")


def about(config: Any, runtime: str, **more: Any) -> Diagnosis:
    report = configs.check(config, runtime=runtime, **more)
    (found,) = (*report.of("PV350"), *report.of("PV351"))
    return found


@pytest.mark.parametrize(
    ("name", "runtime"),
    [
        *((name, "llama_cpp") for name in ("llama-3.1-8b", "phi-3-mini-128k", "gemma-3-1b")),
        ("modernbert-base", "llama_cpp"),
    ],
)
def test_what_conversion_writes_is_no_fault_of_the_runtime(name: str, runtime: str) -> None:
    found = about(PRESETS[name], runtime)
    assert (found.code, found.severity) == ("PV350", "info")
    assert "posviz check FILE.gguf" in found.message
    assert "not rotate" not in found.message


@pytest.mark.parametrize(
    ("name", "runtime"),
    [
        ("gemma-3-1b", "sglang"),
        ("gemma-3-1b", "vllm_old"),
        ("falcon-7b", "mlx"),
        ("modernbert-base", "mlx"),
        ("gpt-oss-20b", "vllm_old"),
    ],
)
def test_what_is_not_known_of_a_runtime_is_said_to_be_not_known(name: str, runtime: str) -> None:
    found = about(PRESETS[name], runtime)
    assert (found.code, found.severity) == ("PV350", "info")
    assert "is not known here" in found.message
    assert "will not" not in found.message


def test_layer_types_in_transformers_4_are_not_known() -> None:
    config = {**PRESETS["gemma-3-1b"], "model_type": "gemma4_text"}
    config.pop("rope_local_base_freq", None)
    config.pop("rope_scaling", None)
    config["rope_parameters"] = {
        "full_attention": {"rope_type": "default", "rope_theta": 1e6},
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
    }
    found = about(config, "transformers_v4")
    assert (found.code, found.severity) == ("PV350", "info")


@pytest.mark.parametrize(
    ("rope", "runtime", "title"),
    [
        ({"rope_type": "dynamic", "factor": 2.0}, "llama_cpp", "llama.cpp"),
        ({**YARN, "truncate": False}, "ollama", "Ollama"),
        ({**YARN, "truncate": False}, "mlx", "MLX"),
        ({**YARN, "attention_factor": 1.0}, "llama_cpp", "llama.cpp"),
    ],
)
def test_what_a_runtime_does_otherwise_is_a_warning(
    rope: dict[str, Any], runtime: str, title: str
) -> None:
    found = about({**PLAIN, "rope_scaling": rope}, runtime)
    assert (found.code, found.severity) == ("PV350", "warn")
    assert found.message.endswith(f"So {title} does not rotate as these numbers say.")


def test_a_length_that_ollama_cuts_is_about_the_length_alone() -> None:
    config = {**PLAIN, "max_position_embeddings": 16384, "rope_scaling": YARN}
    found = about({**config, "model_type": "llama"}, "ollama", target_length=32768)
    assert found.severity == "warn"
    assert found.message.endswith("So Ollama does not run 32768 tokens with this file.")


def test_a_model_without_any_rotation_is_not_told_about_settings() -> None:
    config = {"model_type": "granitemoehybrid", "position_embedding_type": "nope", "head_dim": 64}
    report = configs.check(config, runtime="vllm")
    assert not report.of("PV350") + report.of("PV351")


def test_every_refusal_of_a_released_model_is_of_a_kind_that_fits_its_sentence() -> None:
    for name, config in PRESETS.items():
        for runtime in configs.RUNTIMES:
            error = refused(config, runtime)
            text = str(error)
            if "not known" in text or "not every release" in text:
                assert error.kind == "unknown", (name, runtime, text)
            if "written at conversion" in text:
                assert error.kind == "in the file", (name, runtime, text)


def refused(config: Any, runtime: str) -> configs.ExportError | None:
    try:
        configs.export(configs.read(config), runtime)
    except configs.ExportError as error:
        return error
    return None


@pytest.mark.parametrize(
    ("more", "severity"),
    [
        (HUNYUAN, "ok"),
        ({"model_type": "gemma4_text", "rope_scaling": {"rope_type": "proportional"}}, "ok"),
        ({"model_type": "qwen2", "rope_scaling": {"rope_type": "proportional"}}, "info"),
        ({"model_type": "qwen2", "rope_scaling": {"rope_type": "dynamic", "factor": 2.0}}, "warn"),
    ],
)
def test_ollama_rotates_by_what_conversion_carries_over(more: Any, severity: str) -> None:
    # HunYuan's alpha becomes a larger base, Gemma 4's share of pairs a tensor of divisors.
    rope = dict(more["rope_scaling"])
    if rope.get("rope_type") == "proportional":
        rope["partial_rotary_factor"] = 0.25
    assert about({**PLAIN, **more, "rope_scaling": rope}, "ollama").severity == severity


@pytest.mark.parametrize(
    ("rope", "severity"),
    [
        ({"rope_type": "linear", "factor": 8.0}, "info"),
        ({"rope_type": "dynamic", "factor": 8.0}, "warn"),
        ({**YARN, "attention_factor": 1.0}, "warn"),
    ],
)
def test_what_no_file_can_hold_is_a_warning_in_models_with_layer_types_too(
    rope: dict[str, Any], severity: str
) -> None:
    gemma = {**PRESETS["gemma-3-1b"], "max_position_embeddings": 32768}
    found = about({**gemma, "rope_scaling": rope}, "llama_cpp")
    assert (found.code, found.severity) == ("PV350", severity)


def test_both_engines_of_gguf_files_judge_deepseek_with_linear_scaling_alike() -> None:
    config = {
        "model_type": "deepseek_v3",
        "hidden_size": 2048,
        "num_attention_heads": 16,
        "max_position_embeddings": 8192,
        "rope_theta": 1e4,
        "rope_scaling": {"rope_type": "linear", "factor": 2.0},
    }
    for runtime in GGUF_ENGINES:
        found = about(config, runtime)
        assert (found.code, found.severity) == ("PV350", "warn")
        assert "for any scaling" in found.message


@pytest.mark.parametrize("mscale", [None, 0.707])
def test_ministral_without_mscale_all_dim_has_yarn_s_own_factor(mscale: float | None) -> None:
    rope = {**MINISTRAL["rope_parameters"], "mscale": mscale}
    del rope["mscale_all_dim"]
    for runtime in GGUF_ENGINES:
        assert about({**MINISTRAL, "rope_parameters": rope}, runtime).code == "PV351"


def test_ministral_without_a_dict_has_its_class_s_multiplier() -> None:
    config = {key: value for key, value in MINISTRAL.items() if key != "rope_parameters"}
    for runtime in GGUF_ENGINES:
        assert about(config, runtime).code == "PV351"


def spelled(model_type: str, nested: bool, **rope: Any) -> dict[str, Any]:
    config = copy.deepcopy(MINISTRAL)
    config["model_type"] = model_type
    config["rope_parameters"] |= rope
    return {"model_type": "mistral3", "text_config": config} if nested else config


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("runtime", GGUF_ENGINES)
def test_the_multiplier_of_ministral_stands_in_the_file(nested: bool, runtime: str) -> None:
    # Conversion writes yarn_log_multiplier = mscale_all_dim, with which the magnitude is
    # (0.1·ln 16 + 1)/(0.1·ln 16 + 1) = 1, as transformers has it.
    config = spelled("ministral3", nested)
    report = configs.check(config, runtime=runtime)
    assert report.of("PV350") == ()
    assert [each.severity for each in report.of("PV351")] == ["ok"]
    (numbers,) = report.of("PV233")
    assert numbers.severity == "ok"
    assert numbers.values["attention_factor_llama_cpp"] == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("nested", [False, True])
def test_another_mscale_of_ministral_is_set_on_top_of_the_multiplier(nested: bool) -> None:
    # transformers: (0.05·ln 16 + 1)/(0.1·ln 16 + 1); the file gives 1, so the key is the ratio.
    settings = configs.export(configs.read(spelled("ministral3", nested, mscale=0.5)), "llama_cpp")
    wanted = (0.05 * np.log(16) + 1) / (0.1 * np.log(16) + 1)
    override = settings.data["override_kv"]
    assert override.startswith("mistral3.rope.scaling.attn_factor=float:")
    assert float(override.split(":")[1]) == pytest.approx(wanted, rel=1e-12)
    again: Any = configs.read_export(settings.text, "llama_cpp", spelled("ministral3", nested))
    assert again.spec().magnitude(1) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("model_type", ["ministral3", "qwen2", "deepseek_v3", "unheard_of", ""])
@pytest.mark.parametrize("mscales", [(1.0, 1.0), (0.707, 1.0), (1.0, 0.5), (0.707, 0.707)])
@pytest.mark.parametrize("runtime", configs.RUNTIMES)
def test_the_factor_told_is_the_one_that_settings_need_or_refuse(
    model_type: str, mscales: tuple[float, float], runtime: str
) -> None:
    config = spelled(model_type, False, mscale=mscales[0], mscale_all_dim=mscales[1])
    report = configs.check(config, runtime=runtime)
    (numbers,) = report.of("PV233")
    key = f"attention_factor_{'llama_cpp' if runtime == 'ollama' else runtime}"
    told = numbers.values.get(key)
    if told is None:
        return
    alike = told == pytest.approx(numbers.values["attention_factor_transformers"], rel=1e-6)
    assert (numbers.severity == "warn") == (not alike)
    if runtime == "ollama" and model_type not in ("deepseek_v3", ""):
        # No settings reach the rotation there, so PV350 is the word on the file itself.
        refused = {each.severity for each in report.of("PV350")}
        assert refused <= ({"info"} if alike else {"warn"})


def llama31(writer: gguf.GGUFWriter) -> None:
    sizes(writer, width=4096, heads=32, window=131072, base=500000.0, rotated=128)


def gemma3(writer: gguf.GGUFWriter) -> None:
    sizes(writer, width=1152, heads=4, window=32768, base=1e6, rotated=256, head=256)
    writer.add_sliding_window(512)


def phi3(writer: gguf.GGUFWriter) -> None:
    sizes(writer, width=3072, heads=32, window=131072, base=1e4, rotated=96)
    writer.add_rope_scaling_orig_ctx_len(4096)
    writer.add_rope_scaling_attn_factors(1.19)


def gpt_oss(writer: gguf.GGUFWriter) -> None:
    sizes(writer, width=2880, heads=64, window=131072, base=150000.0, rotated=64, head=64)
    writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
    writer.add_rope_scaling_factor(32.0)
    writer.add_rope_scaling_orig_ctx_len(4096)


FILES: list[tuple[str, Callable[[gguf.GGUFWriter], None], dict[str, list[float]]]] = [
    ("llama", llama31, {"rope_freqs.weight": llama3_divisors(128, 500000.0, 8, 8192)}),
    ("gemma3", gemma3, {}),
    (
        "phi3",
        phi3,
        {"rope_factors_long.weight": [4.0] * 48, "rope_factors_short.weight": [1.1] * 48},
    ),
    ("gpt-oss", gpt_oss, {}),
]


@pytest.mark.parametrize("runtime", GGUF_ENGINES)
@pytest.mark.parametrize("file", FILES, ids=[name for name, *_ in FILES])
def test_a_gguf_file_rotates_as_it_says(tmp_path: Path, file: Any, runtime: str) -> None:
    name, fill, tensors = file
    found = about(write(tmp_path / "m.gguf", name, fill, tensors), runtime)
    assert (found.code, found.severity) == ("PV351", "ok")
    assert "read off this file" in found.message


def test_a_gguf_file_with_an_error_is_not_praised(tmp_path: Path) -> None:
    def both(writer: gguf.GGUFWriter) -> None:
        llama31(writer)
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(4.0)

    divisors = {"rope_freqs.weight": llama3_divisors(128, 500000.0, 8, 8192)}
    report = configs.check(write(tmp_path / "m.gguf", "llama", both, divisors), runtime="llama_cpp")
    assert report.of("PV360")
    assert not report.of("PV350") + report.of("PV351")
