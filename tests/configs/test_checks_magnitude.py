"""The factor on cos and sin: what it is taken for, and who reads it."""

from __future__ import annotations

import math
from typing import Any

import pytest

from posviz import configs
from tests.configs.spellings import SPELLINGS, spelled

YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
M = 1.138629436111989
"""0.1 ln 4 + 1."""
LONGROPE = {
    "rope_type": "longrope",
    "short_factor": [1.0] * 64,
    "long_factor": [1.0 + i for i in range(64)],
    "original_max_position_embeddings": 4096,
}


def check(runtime: str | None = None, **keys: Any) -> configs.Report:
    return configs.check(spelled("rope_scaling", {**YARN, **keys}), runtime=runtime)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_an_explicit_one_is_fine_and_both_numbers_are_told(spelling: str) -> None:
    report = configs.check(spelled(spelling, {**YARN, "attention_factor": 1.0}))
    (found,) = report.of("PV230")
    assert report.severity == "ok"
    assert found.values["default_attention_factor_would_be"] == pytest.approx(M, rel=1e-12)
    assert found.values["default_logit_gain"] == pytest.approx(1.296476993, rel=1e-9)
    assert found.values["logit_gain"] == 1.0
    assert "both query and key" in found.message


@pytest.mark.parametrize(
    ("written", "words"),
    [
        (1.296476993, "the logit gain 1.29648"),
        (1.3, None),
        (0.8782488, "the reciprocal 0.878249"),
        (0.7713210536, "the temperature t = 0.771321"),
        (1.06707, "the square root 1.06707"),
        (4.0, "the scaling factor 4 itself"),
        (M, None),
        (1.0, None),
        (1.2, None),
    ],
)
def test_what_attention_factor_is_taken_for(written: float, words: str | None) -> None:
    report = check(attention_factor=written)
    if words is None:
        assert not report.of("PV231")
        assert report.severity == "ok"
        return
    (found,) = report.of("PV231")
    assert found.severity == "warn"
    assert words in found.message
    repaired = report.patched("PV231")["rope_scaling"]["attention_factor"]
    assert repaired == pytest.approx(M, rel=1e-12)
    assert configs.check(report.patched("PV231")).severity == "ok"


def test_the_gain_of_a_gain_is_told() -> None:
    (found,) = check(attention_factor=1.296476993).of("PV231")
    assert found.values["logit_gain"] == pytest.approx(1.680852593, rel=1e-8)


def test_longrope_has_a_default_of_its_own() -> None:
    config = spelled("rope_scaling", {**LONGROPE, "attention_factor": 17 / 12}, base=1e4)
    (found,) = configs.check(config).of("PV231")
    default = found.values["default_attention_factor_would_be"]
    assert default == pytest.approx(math.sqrt(17 / 12), rel=1e-12)
    assert "√(1 + ln 32 / ln 4096)" in found.message


def test_a_factor_near_one_is_not_guessed_at() -> None:
    # ln 1.1 / 10 + 1 = 1.0095: its root, square and reciprocal are all within two hundredths
    assert not check(factor=1.1, attention_factor=1.0048).of("PV231")


@pytest.mark.parametrize("runtime", ["llama_cpp", "ollama", "mlx", "sglang", "vllm_old"])
def test_who_does_not_take_it_is_warned_about(runtime: str) -> None:
    (found,) = check(runtime, attention_factor=1.0).of("PV232")
    assert found.severity == "warn"
    assert "1.29648 in place of 1" in found.message
    assert not check(runtime, attention_factor=M).of("PV232")


@pytest.mark.parametrize("runtime", [None, "transformers", "vllm"])
def test_who_takes_it_is_not(runtime: str | None) -> None:
    assert not check(runtime, attention_factor=1.0).of("PV232")


def test_vllm_does_not_read_it_for_longrope_nor_in_deepseek() -> None:
    longrope = spelled("rope_scaling", {**LONGROPE, "attention_factor": 1.0}, base=1e4)
    assert configs.check(longrope, runtime="vllm").of("PV232")
    deepseek = spelled("rope_scaling", {**YARN, "attention_factor": 1.0}, model_type="deepseek_v3")
    assert configs.check(deepseek, runtime="vllm").of("PV232")


LATENT = {"qk_rope_head_dim": 64, "qk_nope_head_dim": 128}
X40 = {"rope_type": "yarn", "factor": 40, "original_max_position_embeddings": 4096}


def latent(**keys: Any) -> dict[str, Any]:
    config = spelled("rope_scaling", {**X40, **keys}, base=1e4, window=163840, **LATENT)
    del config["head_dim"]
    return config


def test_a_lone_mscale_has_two_numbers() -> None:
    (found,) = configs.check(latent(mscale=0.707)).of("PV233")
    assert found.severity == "warn"
    # 0.1 ln 40 + 1 against 0.0707 ln 40 + 1
    assert found.values["attention_factor_transformers"] == pytest.approx(1.368887945, rel=1e-9)
    assert found.values["attention_factor_mlx"] == pytest.approx(1.260803777, rel=1e-9)
    assert found.runtimes["transformers"] == "cos and sin × 1.36889."
    assert found.runtimes["vllm"] == "cos and sin × 1.2608."
    assert "from 1.2608 to 1.36889" in found.message


def test_a_lone_mscale_is_said_once_and_can_be_dropped() -> None:
    report = check(mscale=0.707)
    assert report.of("PV162") == ()
    (found,) = report.of("PV233")
    assert "without mscale_all_dim is ignored by transformers" in found.message
    assert found.panel == ""  # no plot has the numbers of two runtimes
    changed = configs.check(report.patched("PV233"))
    assert (changed.of("PV162"), changed.of("PV233")) == ((), ())
    assert changed.values["attention_factor"] == report.values["attention_factor"]
    assert check(mscale=1.0, mscale_all_dim=0.5).of("PV162") == ()


def test_outside_latent_attention_vllm_goes_with_transformers() -> None:
    (found,) = check(mscale=0.707).of("PV233")
    assert found.values["attention_factor_vllm"] == pytest.approx(M, rel=1e-12)
    assert found.values["attention_factor_mlx"] == pytest.approx(1.0980110113, rel=1e-9)


def test_who_heeds_no_mscale_outside_latent_attention() -> None:
    (found,) = check(mscale=1.0, mscale_all_dim=1.0).of("PV233")
    assert found.values["attention_factor_transformers"] == pytest.approx(1.0, rel=1e-12)
    assert found.values["attention_factor_vllm_old"] == pytest.approx(M, rel=1e-12)
    assert found.values["attention_factor_sglang"] == pytest.approx(1.0, rel=1e-12)
    assert found.severity == "info"
    assert "sglang" not in configs.check(latent(mscale=1, mscale_all_dim=1)).of("PV233")[0].message


@pytest.mark.parametrize(("weight", "gain"), [(1.0, 1.873854207), (0.707, 1.589626165)])
def test_the_pair_of_deepseek_cancels_on_cos_and_sin(weight: float, gain: float) -> None:
    report = configs.check(latent(mscale=weight, mscale_all_dim=weight))
    (found,) = report.of("PV233")
    assert found.severity == "ok"
    assert found.values["attention_factor"] == pytest.approx(1.0, rel=1e-12)
    assert found.values["logit_gain"] == pytest.approx(gain, rel=1e-9)
    assert not report.of("PV234")


def test_latent_attention_without_the_correction_leaves_dims_unscaled() -> None:
    report = configs.check(latent())
    (found,) = report.of("PV234")
    assert (found.severity, found.values["rotary_dim"]) == ("info", 64)
    assert found.values["rotated_gain"] == pytest.approx(1.873854207, rel=1e-9)


def test_partial_rotation_leaves_dims_unscaled_as_a_matter_of_course() -> None:
    rope = {**YARN, "partial_rotary_factor": 0.5}
    report = configs.check(spelled("rope_scaling", rope))
    (found,) = report.of("PV234")
    assert (report.severity, found.values["rotary_dim"]) == ("ok", 64)
    whole = {**YARN, "partial_rotary_factor": 0.5, "attention_factor": 1.0}
    assert not configs.check(spelled("rope_scaling", whole)).of("PV234")
