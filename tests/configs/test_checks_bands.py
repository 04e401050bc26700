"""Llama 3's bands."""

from __future__ import annotations

from typing import Any

import pytest

from posviz import configs
from tests.configs.spellings import SPELLINGS, spelled

LLAMA_3_1 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 8192,
}


def llama3(**keys: Any) -> dict[str, Any]:
    return spelled("rope_scaling", {**LLAMA_3_1, **keys}, base=5e5)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_llama_3_1_keeps_29_blends_6_and_divides_29(spelling: str) -> None:
    report = configs.check(spelled(spelling, LLAMA_3_1, base=5e5))
    (found,) = report.of("PV240")
    assert report.severity == "ok"
    assert [found.values[f"pairs_{name}"] for name in ("unchanged", "blended", "divided")] == [
        29,
        6,
        29,
    ]
    assert found.pairs == (29, 34)
    assert found.values["longest_wavelength_unchanged"] == 2048
    assert found.values["shortest_wavelength_divided"] == 8192


def test_its_product_is_no_contradiction() -> None:
    (found,) = configs.check(llama3()).of("PV240")
    assert "8 × 8192 = 65536" in found.message
    assert "no contradiction" in found.message
    (same,) = configs.check(llama3(factor=16.0)).of("PV240")
    assert "contradiction" not in same.message


def test_llama_3_2_1b() -> None:
    config = spelled("rope_scaling", {**LLAMA_3_1, "factor": 32.0}, base=5e5, head_dim=64)
    (found,) = configs.check(config).of("PV240")
    assert [found.values[f"pairs_{name}"] for name in ("unchanged", "blended", "divided")] == [
        15,
        3,
        14,
    ]


def test_equal_factors_are_a_step_and_fine() -> None:
    report = configs.check(llama3(factor=16.0, high_freq_factor=1))
    (found,) = report.of("PV241")
    assert report.severity == "info"
    assert (found.values["pairs_unchanged"], found.values["pairs_divided"]) == (35, 29)
    assert "wavelength 8192" in found.message


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [(1e-4, 2e-4, "no pair is changed"), (4000.0, 4001.0, "64 of 64 pairs are divided")],
)
def test_factors_that_make_no_bands(low: float, high: float, words: str) -> None:
    (found,) = configs.check(llama3(low_freq_factor=low, high_freq_factor=high)).of("PV242")
    assert found.severity == "warn"
    assert words in found.message


@pytest.mark.parametrize(("length", "severity"), [(131072, "ok"), (8000, "ok"), (131073, "warn")])
def test_a_length_beyond_the_window_is_warned_about_and_others_are_not(
    length: int, severity: str
) -> None:
    report = configs.check(llama3(), target_length=length)
    assert report.severity == severity
    assert bool(report.of("PV243")) == (severity == "warn")
