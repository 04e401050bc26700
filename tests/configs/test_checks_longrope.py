"""LongRoPE's two lists, which of them applies, and the factor on cos and sin."""

from __future__ import annotations

import math
from typing import Any

import pytest

from posviz import configs
from tests.configs.spellings import SPELLINGS, spelled

SHORT = [1.0 + i / 64 for i in range(64)]
LONG = [1.0 + i / 2 for i in range(64)]
LISTS = {
    "rope_type": "longrope",
    "short_factor": SHORT,
    "long_factor": LONG,
    "original_max_position_embeddings": 4096,
}


def longrope(window: int = 131072, **keys: Any) -> dict[str, Any]:
    top = {key: keys.pop(key) for key in list(keys) if key in ("model_type",)}
    return spelled("rope_scaling", {**LISTS, **keys}, base=1e4, window=window, **top)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_good_lists_are_described(spelling: str) -> None:
    report = configs.check(spelled(spelling, LISTS, base=1e4))
    (found,) = report.of("PV290")
    assert report.severity == "ok"
    assert found.values["attention_factor"] == pytest.approx(math.sqrt(17 / 12), rel=1e-12)
    assert found.values["long_range"] == [1.0, 32.5]
    assert "√(1 + ln 32 / ln 4096)" in found.message


def test_the_original_may_stand_at_the_top_level() -> None:
    config = longrope()
    del config["rope_scaling"]["original_max_position_embeddings"]
    config["original_max_position_embeddings"] = 4096
    report = configs.check(config)
    assert report.severity == "ok"
    assert report.of("PV295")[0].values["original_max_position_embeddings"] == 4096


@pytest.mark.parametrize("preset", [each for each in configs.presets() if "phi-3" in each.id])
def test_phi_3_is_fine(preset: configs.Preset) -> None:
    report = configs.check(preset.config)
    assert report.severity == "ok"
    assert report.of("PV290")[0].values["attention_factor"] == pytest.approx(1.190238071, rel=1e-9)


def test_lists_of_ones_of_the_right_length_are_no_fault_without_a_length() -> None:
    config = longrope(short_factor=[1.0] * 64, long_factor=[1] * 64)
    report = configs.check(config)
    assert report.severity == "ok"
    assert "no pair is slowed" in report.of("PV290")[0].message
    assert configs.check(config, target_length=4096).severity == "ok"
    (found,) = configs.check(config, target_length=65536).of("PV293")
    assert found.severity == "warn"


def test_one_list_for_both_needs_no_switch() -> None:
    report = configs.check(longrope(short_factor=LONG))
    assert report.severity == "ok"
    assert not report.of("PV295")
    assert "the switch changes nothing" in report.of("PV290")[0].message


@pytest.mark.parametrize("key", ["short_factor", "long_factor"])
def test_multipliers_are_turned_into_divisors(key: str) -> None:
    multipliers = [1 / factor for factor in LONG]
    report = configs.check(longrope(**{key: multipliers}))
    (found,) = report.of("PV291")
    assert found.severity == "warn"
    assert found.values["entries_below_one"] == 63
    changed = report.patched("PV291")["rope_scaling"][key]
    assert changed == pytest.approx(LONG, rel=1e-12)


def test_a_single_small_entry_is_a_note_and_rounding_is_none() -> None:
    (found,) = configs.check(longrope(long_factor=[0.5, *LONG[1:]])).of("PV291")
    assert (found.severity, found.pairs, found.patch) == ("info", (0, 0), ())
    # as the lists of MiniCPM4 begin
    assert not configs.check(longrope(long_factor=[0.9977997, *LONG[1:]])).of("PV291")


def test_a_reversed_list_is_turned_round() -> None:
    report = configs.check(longrope(long_factor=LONG[::-1]))
    (found,) = report.of("PV292")
    assert (found.severity, found.values["first"]) == ("warn", 32.5)
    assert report.patched("PV292")["rope_scaling"]["long_factor"] == LONG
    assert configs.check(report.patched("PV292")).severity == "ok"


def test_exchanged_lists_are_exchanged() -> None:
    report = configs.check(longrope(short_factor=LONG, long_factor=SHORT))
    (found,) = report.of("PV294")
    assert found.severity == "warn"
    changed = report.patched("PV294")["rope_scaling"]
    assert (changed["short_factor"], changed["long_factor"]) == (SHORT, LONG)
    assert configs.check(report.patched("PV294")).severity == "ok"


@pytest.mark.parametrize(
    ("runtime", "length", "severity"),
    [
        (None, None, "ok"),
        (None, 2048, "info"),
        (None, 65536, "ok"),
        ("transformers", 2048, "ok"),
        ("vllm", None, "info"),
        ("llama_cpp", 65536, "info"),
        ("sglang", 65536, "ok"),
        ("mlx", None, "warn"),
        ("mlx", 4096, "warn"),
        ("mlx", 65536, "info"),
    ],
)
def test_which_list_applies(runtime: str | None, length: int | None, severity: str) -> None:
    (found,) = configs.check(longrope(), runtime=runtime, target_length=length).of("PV295")
    assert found.severity == severity
    assert found.values["largest_ratio"] == pytest.approx(32.5 / (1 + 63 / 64), rel=1e-12)
    if length is not None:
        own = "short" if length <= 4096 else "long"
        assert found.values["list_in_transformers"] == own
        assert found.values["list_in_mlx"] == "long"


def test_beyond_the_window_there_is_nothing_to_turn() -> None:
    (found,) = configs.check(longrope(), target_length=131073).of("PV296")
    assert (found.severity, found.patch) == ("warn", ())
    assert not configs.check(longrope(), target_length=131072).of("PV296")


def test_a_factor_beside_the_windows_makes_two_magnitudes() -> None:
    (found,) = configs.check(longrope(factor=4.0)).of("PV297")
    assert found.severity == "warn"
    # √(1 + 2 ln 2 / 12 ln 2) and √(1 + 5/12)
    assert found.values["attention_factor"] == pytest.approx(math.sqrt(7 / 6), rel=1e-12)
    expected = pytest.approx(math.sqrt(17 / 12), rel=1e-12)
    assert found.values["attention_factor_from_windows"] == expected
    assert not configs.check(longrope(factor=32.0)).of("PV297")
    assert not configs.check(longrope(factor=4.0, attention_factor=1.1)).of("PV297")


@pytest.mark.parametrize(("model_type", "told"), [("llama", True), ("phimoe", False), ("", False)])
def test_magnitudes_that_one_class_alone_reads(model_type: str, told: bool) -> None:
    config = longrope(short_mscale=1.1, long_mscale=1.2, model_type=model_type)
    report = configs.check(config)
    assert bool(report.of("PV298")) == told
    if not told:
        assert "1.1 with the short list and 1.2 with the long one" in report.of("PV290")[0].message
