"""Known models as GGUF files: the numbers are those of the same model run in transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest

from posviz import configs
from posviz.configs import Model
from posviz.configs.gguf import GgufConfig, read_gguf
from tests.configs.case_files import by_id
from tests.configs.gguf_files import Setter, llama3_divisors, sizes, write

RUN = by_id("rope_frequencies.json")
"""What transformers 5.24.0 gave for the released configurations."""


def scaled(writer: gguf.GGUFWriter, kind: str, factor: float, original: int | None = None) -> None:
    writer.add_rope_scaling_type(gguf.RopeScalingType(kind))
    writer.add_rope_scaling_factor(factor)
    if original is not None:
        writer.add_rope_scaling_orig_ctx_len(original)


def opened(
    folder: Path, architecture: str, fill: Setter, tensors: dict[str, list[float]] | None = None
) -> tuple[GgufConfig, Model]:
    found = read_gguf(write(folder / "model.gguf", architecture, fill, tensors))
    return found, configs.read(found.config)


def check(model: Model, expected: list[float], layer_type: str | None = None, **more: Any) -> None:
    rotation = model.rotation(layer_type, **more)
    np.testing.assert_allclose(rotation.inv_freq, expected, rtol=1e-6)


def llama31(writer: gguf.GGUFWriter) -> None:
    sizes(writer, width=4096, heads=32, window=131072, base=500000.0, rotated=128)


def test_llama_31_from_the_divisors_of_its_tensor(tmp_path: Path) -> None:
    divisors = llama3_divisors(128, 500000.0, 8, 8192)
    # Pairs as in the report on llama.cpp: 0..28 kept, 29..34 blended, 35..63 divided by 8.
    assert divisors[28] == 1
    assert 1 < divisors[29] < divisors[34] < 8
    assert divisors[35] == 8
    found, model = opened(tmp_path, "llama", llama31, {"rope_freqs.weight": divisors})
    check(model, RUN["freq-llama3.1-8b"]["outputs"]["inv_freq"])
    assert model.spec().id == "llama3"
    assert (model.window, model.trained_window) == (131072, 8192)
    assert found.tensors == ("rope_freqs.weight",)
    assert found.names["rope_parameters.factor"] == "rope_freqs.weight"
    assert found.names["rope_parameters.rope_theta"] == "llama.rope.freq_base"
    assert found.names["max_position_embeddings"] == "llama.context_length"
    assert found.notes[0] == (
        "info",
        "rope_freqs.weight holds the divisors of the llama3 rule with factor 8, original window "
        "8192, low_freq_factor 1 and high_freq_factor 4: the numbers are read off the tensor, the "
        "file does not name them.",
    )


@pytest.mark.parametrize(
    ("dim", "base", "factor", "original"),
    [
        (64, 500000.0, 32, 8192),
        (128, 500000.0, 32, 8192),
        (128, 1e6, 16, 8192),
        (128, 12e6, 8, 8192),
        (128, 10000.0, 4, 2048),
        (96, 500000.0, 2.5, 131072),
        (128, 500000.0, 8, 6000),
    ],
)
def test_the_llama3_rule_is_found_whatever_its_numbers(
    tmp_path: Path, dim: int, base: float, factor: float, original: int
) -> None:
    def fill(writer: gguf.GGUFWriter) -> None:
        sizes(writer, width=32 * dim, heads=32, window=1 << 20, base=base, rotated=dim)

    # Conversion works the wavelengths out in float32.
    frequencies = 1.0 / np.float32(base) ** (np.arange(0, dim, 2, dtype=np.float32) / dim)
    exact = llama3_divisors(dim, base, factor, original)
    rounded = []
    for frequency in frequencies.astype(np.float32):
        wavelength = 2 * np.pi / float(frequency)
        smooth = min(max((original / wavelength - 1) / 3, 0.0), 1.0)
        rounded.append(1 / ((1 - smooth) / factor + smooth))
    for divisors in (exact, rounded):
        found, _ = opened(tmp_path, "llama", fill, {"rope_freqs.weight": divisors})
        assert found.config["rope_parameters"] == {
            "rope_type": "llama3",
            "rope_theta": base,
            "factor": factor,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": original,
        }


def test_divisors_of_no_known_rule_become_lists(tmp_path: Path) -> None:
    divisors = llama3_divisors(128, 500000.0, 8, 8192)
    divisors[40] = 7.9
    found, model = opened(tmp_path, "llama", llama31, {"rope_freqs.weight": divisors})
    plain = 500000.0 ** (-np.arange(64) / 64)
    check(model, list(plain / divisors))
    check(model, list(plain / divisors), length=200_000)
    assert model.rotation().attention_factor == 1
    assert found.notes[0] == (
        "warn",
        "rope_freqs.weight holds divisors that follow no rule known here; they are shown as the "
        "lists of longrope, the same for short and long contexts.",
    )


def test_divisors_of_one_change_nothing(tmp_path: Path) -> None:
    found, model = opened(tmp_path, "llama", llama31, {"rope_freqs.weight": [1.0] * 64})
    assert model.spec().id == "rope"
    assert found.tensors == ("rope_freqs.weight",)
    assert [severity for severity, _ in found.notes] == ["info"]


def test_divisors_and_a_factor_both_divide(tmp_path: Path) -> None:
    def fill(writer: gguf.GGUFWriter) -> None:
        llama31(writer)
        scaled(writer, "linear", 2.0)

    divisors = llama3_divisors(128, 500000.0, 8, 8192)
    found, model = opened(tmp_path, "llama", fill, {"rope_freqs.weight": divisors})
    check(model, list(500000.0 ** (-np.arange(64) / 64) / divisors / 2))
    assert (
        "warn",
        "llama.rope.scaling.factor 2 divides every frequency as well; it is multiplied into the "
        "lists here.",
    ) in found.notes


def test_divisors_beside_yarn_are_an_error(tmp_path: Path) -> None:
    def fill(writer: gguf.GGUFWriter) -> None:
        llama31(writer)
        scaled(writer, "yarn", 4.0, 8192)

    found, _ = opened(
        tmp_path, "llama", fill, {"rope_freqs.weight": llama3_divisors(128, 5e5, 8, 8192)}
    )
    assert found.notes[0] == (
        "error",
        "The file has both YaRN (llama.rope.scaling.type) and rope_freqs.weight; llama.cpp applies "
        "both, and only the divisors of rope_freqs.weight are shown here.",
    )


@pytest.mark.parametrize(("count", "severity"), [(70, "info"), (60, "error")])
def test_a_tensor_of_another_length_is_noted(tmp_path: Path, count: int, severity: str) -> None:
    divisors = (llama3_divisors(128, 5e5, 8, 8192) + [1.0] * 6)[:count]
    found, model = opened(tmp_path, "llama", llama31, {"rope_freqs.weight": divisors})
    assert found.notes[0][0] == severity
    if severity == "info":
        check(model, RUN["freq-llama3.1-8b"]["outputs"]["inv_freq"])
    else:
        assert found.notes[0][1] == (
            "rope_freqs.weight has 60 entries for 64 pairs, and llama.cpp refuses the file."
        )
        assert {m.code for m in model.messages if m.severity == "error"} == {"PV151"}


def test_qwen_25_with_yarn(tmp_path: Path) -> None:
    def fill(writer: gguf.GGUFWriter) -> None:
        sizes(writer, width=3584, heads=28, window=32768, base=1e6)
        scaled(writer, "yarn", 4.0, 32768)

    found, model = opened(tmp_path, "qwen2", fill)
    check(model, RUN["freq-qwen2.5-7b-yarn"]["outputs"]["inv_freq"])
    assert model.rotation().attention_factor == pytest.approx(1.138629436, abs=1e-9)
    assert found.names["rope_parameters.factor"] == "qwen2.rope.scaling.factor"
    assert found.names["rope_parameters.rope_type"] == "qwen2.rope.scaling.type"
    assert not found.notes


def test_phi_3_with_the_tensors_of_longrope(tmp_path: Path) -> None:
    written = RUN["freq-phi3-mini-128k"]["params"]["config_json"]["rope_scaling"]

    def fill(writer: gguf.GGUFWriter) -> None:
        sizes(writer, width=3072, heads=32, window=131072, base=10000.0, rotated=96)
        writer.add_rope_scaling_type(gguf.RopeScalingType.LONGROPE)
        writer.add_rope_scaling_orig_ctx_len(4096)
        writer.add_rope_scaling_attn_factors(1.190238071)

    tensors = {
        "rope_factors_long.weight": written["long_factor"],
        "rope_factors_short.weight": written["short_factor"],
    }
    found, model = opened(tmp_path, "phi3", fill, tensors)
    for run in RUN["freq-phi3-mini-128k"]["outputs"]["by_seq_len"]:
        check(model, run["inv_freq"], length=run["seq_len"])
    assert model.rotation().attention_factor == pytest.approx((17 / 12) ** 0.5, rel=1e-7)
    assert model.trained_window == 4096
    assert found.tensors == tuple(tensors)
    assert found.names["rope_parameters.long_factor"] == "rope_factors_long.weight"
    name = "phi3.rope.scaling.original_context_length"
    assert found.names["original_max_position_embeddings"] == name
    assert [message for message in model.messages if message.severity != "info"] == []


def test_longrope_without_its_tensors_is_an_error(tmp_path: Path) -> None:
    def fill(writer: gguf.GGUFWriter) -> None:
        sizes(writer, width=3072, heads=32, window=131072, base=10000.0, rotated=96)
        writer.add_rope_scaling_type(gguf.RopeScalingType.LONGROPE)

    found, model = opened(tmp_path, "phi3", fill)
    assert found.notes[0] == (
        "error",
        "phi3.rope.scaling.type is longrope, but the file has neither of the tensors "
        "rope_factors_long.weight and rope_factors_short.weight; llama.cpp then does not divide "
        "per pair.",
    )
    assert model.spec().id == "rope"


def test_gpt_oss_rounds_the_ramp_as_llama_cpp_does(tmp_path: Path) -> None:
    def fill(writer: gguf.GGUFWriter) -> None:
        sizes(writer, width=2880, heads=64, window=131072, base=150000.0, head=64)
        writer.add_sliding_window(128)
        scaled(writer, "yarn", 32.0, 4096)

    found, model = opened(tmp_path, "gpt-oss", fill)
    spec: Any = model.spec()
    assert spec.bounds == (8, 18)
    assert model.layer_types == ("full_attention",)
    own = np.array(RUN["freq-gpt-oss-20b"]["outputs"]["inv_freq"])
    # The released model does not round: 8.0928 .. 17.398, which matters most at pair 17.
    difference = np.abs(model.rotation().inv_freq / own - 1)
    assert int(difference.argmax()) == 17
    assert difference.max() == pytest.approx(0.76, abs=0.005)
    assert model.rotation().attention_factor == pytest.approx(1.346573590, abs=1e-9)
    assert [severity for severity, _ in found.notes] == ["differs"]
    assert f"pair 17, which turns by {difference.max():.3g} (relative)" in found.notes[0][1]
    words = "faster" if model.rotation().inv_freq[17] > own[17] else "more slowly"
    assert words in found.notes[0][1]
    (told,) = configs.check(tmp_path / "model.gguf").of("PV360")
    assert told.severity == "info"


@pytest.mark.parametrize("is_written", [True, False])
def test_gemma_3_has_two_bases(tmp_path: Path, is_written: bool) -> None:
    def fill(writer: gguf.GGUFWriter) -> None:
        sizes(writer, width=2560, heads=8, window=131072, base=1e6, head=256, layers=34)
        writer.add_sliding_window(1024)
        scaled(writer, "linear", 8.0)
        if is_written:
            writer.add_rope_freq_base_swa(10000.0)

    found, model = opened(tmp_path, "gemma3", fill)
    outputs = RUN["freq-gemma3-4b"]["outputs"]
    for layer_type in ("full_attention", "sliding_attention"):
        check(model, outputs[layer_type]["inv_freq"], layer_type)
    assert model.layer("full_attention").indices == (5, 11, 17, 23, 29)
    name = found.names.get("rope_parameters.sliding_attention.rope_theta")
    assert name == ("gemma3.rope.freq_base_swa" if is_written else None)


def test_gemma_4_stops_pairs_by_a_divisor_of_1e30(tmp_path: Path) -> None:
    def fill(writer: gguf.GGUFWriter) -> None:
        sizes(writer, width=2560, heads=8, window=131072, base=1e6, rotated=512, head=512, layers=6)
        writer.add_key_length_swa(256)
        writer.add_rope_dimension_count_swa(256)
        writer.add_rope_freq_base_swa(10000.0)
        writer.add_sliding_window(512)
        writer.add_sliding_window_pattern([True] * 5 + [False])

    divisors = [1.0] * 64 + [1e30] * 192
    found, model = opened(tmp_path, "gemma4", fill, {"rope_freqs.weight": divisors})
    outputs = RUN["freq-gemma4-library-default"]["outputs"]
    for layer_type in ("full_attention", "sliding_attention"):
        check(model, outputs[layer_type]["inv_freq"], layer_type)
    assert model.layer("full_attention").indices == (5,)
    key = "rope_parameters.full_attention.partial_rotary_factor"
    assert found.names[key] == "rope_freqs.weight"


def test_deepseek_2_with_latent_attention(tmp_path: Path) -> None:
    def fill(writer: gguf.GGUFWriter) -> None:
        sizes(writer, width=2048, heads=16, window=163840, base=10000.0, rotated=64)
        writer.add_kv_lora_rank(512)
        writer.add_key_length(576)
        writer.add_key_length_mla(192)
        scaled(writer, "yarn", 40.0, 4096)
        writer.add_rope_scaling_yarn_log_mul(0.1 * 0.707)

    found, model = opened(tmp_path, "deepseek2", fill)
    check(model, RUN["freq-deepseek-v2-lite"]["outputs"]["inv_freq"])
    rotation = model.rotation()
    assert rotation.attention_factor == 1
    assert rotation.softmax_factor == pytest.approx(1.589626165, rel=1e-6)
    assert found.config["qk_nope_head_dim"] == 128
    assert found.names["qk_rope_head_dim"] == "deepseek2.rope.dimension_count"
    assert found.names["rope_parameters.mscale_all_dim"] == (
        "deepseek2.rope.scaling.yarn_log_multiplier"
    )


def test_deepseek_2_of_an_older_conversion_lacks_the_softmax_correction(tmp_path: Path) -> None:
    def fill(writer: gguf.GGUFWriter) -> None:
        sizes(writer, width=2048, heads=16, window=163840, base=10000.0, rotated=64)
        writer.add_kv_lora_rank(512)
        writer.add_key_length(192)
        scaled(writer, "yarn", 40.0, 4096)

    found, model = opened(tmp_path, "deepseek2", fill)
    assert model.rotation().softmax_factor == 1
    assert found.config["qk_nope_head_dim"] == 128
    assert found.notes[0][0] == "warn"
    assert found.notes[0][1].startswith("deepseek2.rope.scaling.yarn_log_multiplier is missing")


def test_mistral_3_has_its_multiplier_undivided(tmp_path: Path) -> None:
    def fill(writer: gguf.GGUFWriter) -> None:
        sizes(writer, width=4096, heads=32, window=262144, base=1e6, head=128)
        scaled(writer, "yarn", 16.0, 16384)
        writer.add_rope_scaling_yarn_log_mul(1.0)

    _, model = opened(tmp_path, "mistral3", fill)
    assert model.rotation().attention_factor == 1  # m(16, 1) / m(16, 1)


def test_gpt_neox_rotates_a_quarter(tmp_path: Path) -> None:
    def fill(writer: gguf.GGUFWriter) -> None:
        sizes(writer, width=6144, heads=64, window=2048, base=None, rotated=24)

    found, model = opened(tmp_path, "gptneox", fill)
    check(model, RUN["freq-gpt-neox-20b"]["outputs"]["inv_freq"])
    assert found.names["rotary_dim"] == "gptneox.rope.dimension_count"
    assert "rope_parameters.rope_theta" not in found.names
    assert found.notes == (("info", "gptneox.rope.freq_base is missing; llama.cpp takes 10000."),)


def test_plain_llama(tmp_path: Path) -> None:
    def fill(writer: gguf.GGUFWriter) -> None:
        sizes(writer, width=4096, heads=32, window=4096, base=10000.0, rotated=128)

    found, model = opened(tmp_path, "llama", fill)
    check(model, RUN["freq-llama2-7b"]["outputs"]["inv_freq"])
    assert found.tensors == ()
    assert found.names["model_type"] == "general.architecture"


@pytest.mark.parametrize(
    ("pair", "factor", "base", "original"),
    [
        # Llama 4 Scout: 2π·500000^(68/128) = 6694.6 < 8192 < 8218.1 = 2π·500000^(70/128).
        (35, 16.0, 500000.0, 8192),
        (35, 8.0, 500000.0, 8192),
        # 2π·500000^(64/128) = 4442.9 … 5453.9: no power of two, one multiple of 1024.
        (33, 16.0, 500000.0, 5120),
        # 2π·10000^(2/128) = 7.26 … 8.38
        (2, 4.0, 10000.0, 8),
    ],
)
def test_a_step_is_llama_3_with_equal_factors(
    tmp_path: Path, pair: int, factor: float, base: float, original: int
) -> None:
    def fill(writer: gguf.GGUFWriter) -> None:
        sizes(writer, width=4096, heads=32, window=1 << 20, base=base, rotated=128)

    divisors = np.array([1.0] * pair + [factor] * (64 - pair))
    found, model = opened(tmp_path, "llama4", fill, {"rope_freqs.weight": divisors.tolist()})
    check(model, list(base ** (-np.arange(64) / 64) / divisors))
    spec: Any = model.spec()
    assert (spec.id, spec.scaling_factor) == ("llama3", factor)
    assert (spec.low_freq_factor, spec.high_freq_factor) == (1, 1)
    assert spec.original_max_position_embeddings == original
    assert [severity for severity, _ in found.notes if severity != "info"] == []
    assert f"1 up to pair {pair - 1} and {factor:g} from pair {pair} on" in found.notes[0][1]
    report = configs.check(tmp_path / "model.gguf")
    assert not [each for each in report.of("PV360") if each.severity == "warn"]


def test_a_step_with_an_odd_entry_follows_no_rule(tmp_path: Path) -> None:
    divisors = [1.0] * 35 + [16.0] * 28 + [15.0]
    found, model = opened(tmp_path, "llama", llama31, {"rope_freqs.weight": divisors})
    assert found.notes[0][0] == "warn"
    assert model.spec().id == "longrope"
