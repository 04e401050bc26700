"""YaRN's ramp: bounds, rounding, and bounds that make no ramp."""

from __future__ import annotations

from typing import Any

import pytest

from posviz import configs
from tests.configs.spellings import SPELLINGS, spelled

YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
GPT_OSS = {
    "head_dim": 64,
    "rope_theta": 150000,
    "max_position_embeddings": 131072,
    "rope_scaling": {
        "rope_type": "yarn",
        "factor": 32.0,
        "truncate": False,
        "original_max_position_embeddings": 4096,
    },
}


def check(report_of: dict[str, Any], **keys: Any) -> configs.Report:
    config = spelled("rope_scaling", {**YARN, **report_of}, **keys)
    return configs.check(config)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_where_the_ramp_runs(spelling: str) -> None:
    (found,) = configs.check(spelled(spelling, YARN)).of("PV224")
    assert (found.values["ramp_low"], found.values["ramp_high"]) == (23, 40)
    assert found.pairs == (23, 40)
    # pair 23 has ramp 0 and is kept with 0 … 22; 24 … 39 are blended
    assert [found.values[f"pairs_{name}"] for name in ("unchanged", "blended", "divided")] == [
        24,
        16,
        24,
    ]


def test_llama_2_times_16_keeps_21_and_divides_18() -> None:
    rope = {**YARN, "factor": 16.0, "original_max_position_embeddings": 4096}
    (found,) = configs.check(spelled("rope_scaling", rope, base=1e4, window=65536)).of("PV224")
    assert (found.values["pairs_unchanged"], found.values["pairs_divided"]) == (21, 18)
    assert (found.values["ramp_low"], found.values["ramp_high"]) == (20, 46)


@pytest.mark.parametrize("runtime", [None, "llama_cpp", "mlx", "ollama"])
def test_unrounded_bounds_name_who_rounds_them(runtime: str | None) -> None:
    report = configs.check(GPT_OSS, runtime=runtime)
    (found,) = report.of("PV223")
    assert found.severity == ("ok" if runtime is None else "warn")
    assert found.values["ramp_low"] == pytest.approx(8.092779115512402, rel=1e-12)
    assert found.values["ramp_high"] == pytest.approx(17.39802450158856, rel=1e-12)
    assert found.values["ramp_if_truncated"] == [8, 18]
    assert found.values["inv_freq[17]"] == pytest.approx(0.0001293187012, rel=1e-9)
    assert found.values["inv_freq[17]_truncated"] == pytest.approx(0.0002279477958, rel=1e-9)
    assert found.values["largest_relative_difference"] == pytest.approx(0.76, abs=0.005)


@pytest.mark.parametrize("runtime", ["transformers", "vllm"])
def test_who_does_not_round_is_not_bothered(runtime: str) -> None:
    assert not configs.check(GPT_OSS, runtime=runtime).of("PV223")


def test_rounded_bounds_are_the_same_everywhere() -> None:
    assert not check({"truncate": True}).of("PV223")


@pytest.mark.parametrize("truncate", [True, False])
def test_equal_betas_make_a_step(truncate: bool) -> None:
    (found,) = check({"beta_fast": 4, "beta_slow": 4.0, "truncate": truncate}).of("PV221")
    # d ln(L / 2πn) / (2 ln b) = 128 · ln(32768 / 8π) / (2 · ln 10⁶)
    assert found.values["step_at_pair"] == pytest.approx(33.2289075, rel=1e-8)
    assert found.severity == "info"


def test_a_ramp_behind_the_ladder_changes_no_frequency() -> None:
    report = check({"beta_fast": 1e-3, "beta_slow": 5e-4})
    (found,) = report.of("PV222")
    assert found.severity == "warn"
    assert found.values["pairs_unchanged"] == 64
    assert "changes no frequency" in found.message


def test_a_ramp_before_the_ladder_is_plain_interpolation() -> None:
    rope = {"original_max_position_embeddings": 512, "beta_fast": 90.0, "beta_slow": 81.0}
    (found,) = check(rope, window=2048).of("PV222")
    assert found.values["pairs_divided"] == 63
    assert "plain interpolation" in found.message


def test_bounds_that_cross_differ_by_runtime() -> None:
    (found,) = check({"original_max_position_embeddings": 4}, window=16).of("PV226")
    assert found.severity == "warn"
    assert (found.values["ramp_low"], found.values["ramp_high"]) == (0, -2)
    assert "backwards" in found.runtimes["transformers"]
    assert "step" in found.runtimes["llama_cpp"]


def test_vllm_takes_four_times_the_window_with_mrope() -> None:
    config = spelled("rope_scaling", {**YARN, "mrope_section": [16, 24, 24]})
    (found,) = configs.check(config).of("PV225")
    assert found.severity == "info"
    assert found.values["ramp_in_vllm"] == [30, 47]
    assert (found.values["ramp_low"], found.values["ramp_high"]) == (23, 40)
    # pair 40: a quarter, against 1 - 10/17 · 3/4 of its frequency
    assert found.values["largest_relative_difference"] == pytest.approx(2.235294118 - 1, rel=1e-8)
    assert configs.check(config, runtime="vllm").of("PV225")[0].severity == "warn"
    assert not configs.check(config, runtime="transformers").of("PV225")


def test_factor_one_has_no_ramp_to_speak_of() -> None:
    report = check({"factor": 1.0, "beta_fast": 4, "beta_slow": 4}, window=32768)
    assert not [each for each in report.diagnoses if each.code.startswith("PV22")]


@pytest.mark.parametrize(
    ("slow", "fast", "rope_type"),
    [("beta_slow", "beta_fast", "yarn"), ("low_freq_factor", "high_freq_factor", "llama3")],
)
def test_bounds_the_wrong_way_round_are_refused_and_exchanged(
    slow: str, fast: str, rope_type: str
) -> None:
    rope = {**YARN, "rope_type": rope_type, slow: 32.0, fast: 1.0}
    report = configs.check(spelled("rope_scaling", rope))
    assert report.severity == "error"
    changed = report.patched("PV114")
    assert (changed["rope_scaling"][slow], changed["rope_scaling"][fast]) == (1.0, 32.0)
    assert configs.check(changed).severity in ("ok", "info")
