"""The released models: enough of them, readable, with the windows that their files state."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from posviz import configs
from posviz.configs.presets import preset
from tests.configs.case_files import cases


def test_there_are_enough_with_short_unique_ids() -> None:
    ids = [item.id for item in configs.presets()]
    assert len(ids) >= 25
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"[a-z0-9.-]{3,24}", name) for name in ids)


def test_every_preset_is_a_reference_case_s_configuration() -> None:
    known = {}
    for name in ("rope_frequencies.json", "rope_tables.json"):
        for case in cases(name):
            known[case["params"].get("model")] = case["params"].get("config_json")
    for item in configs.presets():
        assert _that_bear_on_numbers(item.config) == known[item.source]


def _that_bear_on_numbers(config: Mapping[str, Any]) -> dict[str, Any]:
    """Without the two keys that say how long a model was trained and change no frequency."""
    kept = {name: value for name, value in config.items() if name != "model_max_length"}
    if isinstance(kept.get("rope_scaling"), dict):
        kept["rope_scaling"] = {
            name: value for name, value in kept["rope_scaling"].items() if name != "finetuned"
        }
    return kept


def test_every_preset_reads_without_an_error() -> None:
    for item in configs.presets():
        assert configs.read(item.config).severity != "error"


@pytest.mark.parametrize(
    ("name", "window", "trained", "family"),
    [
        ("llama-3.1-8b", 131072, 8192, "Llama"),
        ("phi-3-mini-128k", 131072, 4096, "Phi"),
        ("qwen3-0.6b", 40960, 40960, "Qwen"),
        ("gpt-oss-20b", 131072, 4096, "GPT-OSS"),
        ("yarn-llama-2-7b-128k", 131072, 4096, "Llama"),
    ],
)
def test_windows(name: str, window: int, trained: int, family: str) -> None:
    item = preset(name)
    assert (item.window, item.trained_window, item.family) == (window, trained, family)


def test_an_unknown_preset_names_the_closest() -> None:
    with pytest.raises(
        configs.ConfigError, match=r"no preset 'llama-3\.1'; closest: .*llama-3\.1-8b"
    ):
        preset("llama-3.1")


def test_the_windows_in_the_list_are_those_that_the_reader_gives() -> None:
    for item in configs.presets():
        model = configs.read(item.config)
        assert (item.window, item.trained_window) == (model.window, model.trained_window), item.id


@pytest.mark.parametrize("preset", configs.presets(), ids=lambda preset: preset.id)
def test_every_released_model_is_computed_by_a_named_implementation(
    preset: configs.Preset,
) -> None:
    model = configs.read(preset.config)
    for layer in model.layers:
        spec = model.spec(layer.name)
        named = [
            name for name, values in spec.profiles.items() if spec.with_values(**values) == spec
        ]
        assert named or not spec.profiles
