"""Checks of what only a GGUF file has."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import gguf
import pytest

from posviz import configs
from posviz.configs.checks import ggufs
from posviz.configs.checks.diagnosis import Diagnosis
from posviz.configs.gguf import GgufConfig
from tests.configs.gguf_files import llama3_divisors, sizes, write

LLAMA31 = {"width": 4096, "heads": 32, "window": 131072, "base": 500000.0, "rotated": 128}
DIVISORS = llama3_divisors(128, 500000.0, 8.0, 8192)


def found(file: Path) -> dict[str, Diagnosis]:
    report = configs.check(file)
    return {each.code: each for each in report.diagnoses if each.code in ggufs.CODES}


def llama(path: Path, tensors: dict[str, list[float]] | None = None, **other: Any) -> Path:
    def fill(writer: Any) -> None:
        sizes(writer, **{**LLAMA31, **other})

    return write(path / "model.gguf", "llama", fill, tensors)


def test_nothing_is_said_of_any_other_configuration() -> None:
    model = configs.read({"head_dim": 128, "rope_theta": 5e5, "max_position_embeddings": 131072})
    assert not {each.code for each in configs.check(model).diagnoses} & set(ggufs.CODES)


def test_the_divisors_of_llama_3_1(tmp_path: Path) -> None:
    codes = found(llama(tmp_path, {"rope_freqs.weight": DIVISORS}))
    assert "PV362" not in codes
    present = codes["PV361"]
    assert present.severity == "ok"
    assert present.values["largest_divisor"] == pytest.approx(8, rel=1e-6)
    # pairs 29 to 63 are blended or divided in Llama 3.1-8B
    assert present.pairs == (29, 63)
    assert present.values["pairs_divided"] == 35


def test_llama_3_1_without_its_divisors_is_a_warning(tmp_path: Path) -> None:
    missing = found(llama(tmp_path))["PV362"]
    assert missing.severity == "warn"
    assert "rope_freqs.weight" in missing.message


@pytest.mark.parametrize(
    "other", [{"window": 8192}, {"window": 32768}, {"base": 10000.0}, {"base": 1000000.0}]
)
def test_other_llama_models_need_no_divisors(tmp_path: Path, other: dict[str, Any]) -> None:
    codes = found(llama(tmp_path, **other))
    assert not {"PV361", "PV362", "PV363"} & set(codes)
    assert all(diagnosis.severity == "ok" for diagnosis in codes.values())


def test_notes_keep_their_gravity() -> None:
    config = {"head_dim": 64, "rope_theta": 1e4, "max_position_embeddings": 2048}
    notes = (("info", "read so."), ("warn", "look at it."), ("error", "refused."))
    file = GgufConfig(config, {}, notes, ())  # type: ignore[arg-type]
    report = configs.check(replace(configs.read(config), gguf=file))
    assert [(each.severity, each.message) for each in report.of("PV360")] == [
        ("error", "refused."),
        ("warn", "look at it."),
        ("ok", "read so."),
    ]


def phi(path: Path, tensors: dict[str, list[float]], window: int = 131072) -> Path:
    def fill(writer: Any) -> None:
        sizes(writer, width=3072, heads=32, window=window, base=10000.0, rotated=96)
        if window > 4096:
            writer.add_rope_scaling_orig_ctx_len(4096)

    return write(path / "phi.gguf", "phi3", fill, tensors)


def test_the_two_lists_of_longrope(tmp_path: Path) -> None:
    long, short = "rope_factors_long.weight", "rope_factors_short.weight"
    lists = {long: [2.0] * 48, short: [1.0] * 48}
    assert found(phi(tmp_path, lists))["PV363"].severity == "ok"
    half = found(phi(tmp_path, {long: [2.0] * 48}))["PV363"]
    assert half.severity == "warn"
    assert f"{short} is missing" in half.message
    assert found(phi(tmp_path, {}))["PV363"].severity == "warn"
    assert "PV363" not in found(phi(tmp_path, {}, window=4096))


def of(path: Path, architecture: str, fill: Any = None, **other: Any) -> configs.Report:
    def both(writer: Any) -> None:
        sizes(writer, **{"width": 64, "heads": 4, "window": 2048, "base": 1e4, **other})
        if fill is not None:
            fill(writer)

    return configs.check(write(path / f"{architecture}.gguf", architecture, both))


@pytest.mark.parametrize(("exponent", "last"), [(8.0, 2.0**-8), (16.0, 2.0**-16)])
def test_slopes_of_a_file_follow_its_largest_exponent(
    tmp_path: Path, exponent: float, last: float
) -> None:
    report = of(tmp_path, "mpt", lambda writer: writer.add_max_alibi_bias(exponent))
    assert report.values["slopes"][-1] == last
    assert report.severity == "info"


def test_the_encoder_of_jina_counts_both_ways(tmp_path: Path) -> None:
    report = of(tmp_path, "jina-bert-v2", lambda writer: writer.add_max_alibi_bias(8.0))
    assert report.of("PV314")


def test_buckets_of_a_file(tmp_path: Path) -> None:
    report = of(tmp_path, "t5", lambda writer: writer.add_relative_attn_buckets_count(64))
    assert report.values["num_buckets"] == 64


@pytest.mark.parametrize(("flag", "layers"), [(None, 1), (True, 1), (False, 0)])
def test_granite_4_rotates_unless_its_switch_is_off(
    tmp_path: Path, flag: bool | None, layers: int
) -> None:
    def fill(writer: Any) -> None:
        if flag is not None:
            writer.add_rope_scaling_finetuned(flag)

    report = of(tmp_path, "granitehybrid", fill, rotated=16)
    assert len(report.model.layers) == layers
    assert bool(report.of("PV175")) is (layers == 0)


def qwen_with_yarn(path: Path, window: int = 32768) -> Path:
    def fill(writer: Any) -> None:
        sizes(writer, width=3584, heads=28, window=window, base=1e6, rotated=128)
        writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
        writer.add_rope_scaling_factor(4.0)
        writer.add_rope_scaling_orig_ctx_len(32768)

    return write(path / "qwen.gguf", "qwen2", fill)


@pytest.mark.parametrize(
    ("runtime", "limit"), [("llama_cpp", "caps each slot at 32768"), ("ollama", "cuts num_ctx")]
)
def test_a_file_asked_about_for_its_own_runtimes_is_told_their_limits(
    tmp_path: Path, runtime: str, limit: str
) -> None:
    report = configs.check(qwen_with_yarn(tmp_path), runtime=runtime)
    (mismatch,) = report.of("PV121")
    assert list(mismatch.runtimes) == [runtime]
    assert limit in mismatch.runtimes[runtime]
    for each in report.diagnoses:
        assert "vLLM" not in each.message
        assert "transformers" not in each.message
    (runs,) = report.of("PV351")
    assert "YaRN: base 1000000, 128 of 128 dimensions, factor 4 from 32768 tokens" in runs.message
    assert "cos and sin × 1.13863" in runs.message  # 0.1 ln 4 + 1
    assert "context length is 32768 tokens" in runs.message


def test_the_slot_cap_is_said_by_the_report_and_beside_the_flags(tmp_path: Path) -> None:
    cap = "server caps each slot at 32768 tokens, the context length in the GGUF file"
    extended = qwen_with_yarn(tmp_path)
    (mismatch,) = configs.check(extended, runtime="llama_cpp").of("PV121")
    assert cap in mismatch.runtimes["llama_cpp"]
    settings = configs.export(configs.read(extended), "llama_cpp", target_length=131072)
    (note,) = (note for note in settings.notes if cap in note)
    assert "--override-kv qwen2.context_length=int:131072" in note
    plain = {"head_dim": 128, "rope_theta": 1e6, "max_position_embeddings": 32768}
    (beyond,) = configs.check(plain, runtime="llama_cpp", target_length=65536).of("PV204")
    assert cap in beyond.runtimes["llama_cpp"]
    notes = configs.export(configs.read(plain), "llama_cpp", target_length=65536).notes
    assert any(cap in note for note in notes)


def test_no_cap_where_the_file_holds_the_length_or_the_flags_bring_another_scale(
    tmp_path: Path,
) -> None:
    right = configs.read(qwen_with_yarn(tmp_path, window=131072))
    spec: Any = right.spec()
    plain = configs.read({"head_dim": 128, "rope_theta": 1e6, "max_position_embeddings": 32768})
    for model in (right, plain.with_spec(spec)):
        notes = configs.export(model, "llama_cpp", target_length=131072).notes
        assert not any("caps each slot" in note for note in notes), notes
