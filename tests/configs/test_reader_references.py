"""Every configuration of the reference cases gives the frequencies that the library works out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from posviz import configs
from tests.configs.case_files import cases

FREQUENCIES = [case for case in cases("rope_frequencies.json") if "config_json" in case["params"]]
TABLES = cases("rope_tables.json")
SAMPLE = cases("library_sample.json")


def assert_close(ours: Any, theirs: Any, tolerance: Mapping[str, float]) -> None:
    np.testing.assert_allclose(ours, theirs, rtol=tolerance["rtol"], atol=tolerance["atol"])


def assert_same_rotation(
    model: configs.Model, expected: Mapping[str, Any], tolerance: Mapping[str, float], **where: Any
) -> None:
    rotation = model.rotation(**where)
    assert_close(rotation.inv_freq, expected["inv_freq"], tolerance)
    assert_close(rotation.attention_factor, expected.get("attention_scaling", 1.0), tolerance)


@pytest.mark.parametrize("case", FREQUENCIES, ids=lambda case: case["id"])
def test_frequencies_and_attention_factor_are_the_library_s(case: dict[str, Any]) -> None:
    model = configs.read(case["params"]["config_json"])
    outputs, tolerance = case["outputs"], case["tol"]
    if "inv_freq" in outputs:
        assert_same_rotation(model, outputs, tolerance)
    for entry in outputs.get("by_seq_len", []):
        assert_same_rotation(model, entry, tolerance, length=entry["seq_len"])
    for name in ("full_attention", "sliding_attention"):
        if name in outputs:
            assert_same_rotation(model, outputs[name], tolerance, layer_type=name)


KEYS = {"rope_theta": "base", "factor": "scaling_factor"}


@pytest.mark.parametrize(
    "case",
    [case for case in FREQUENCIES if "rope_parameters" in case["outputs"]],
    ids=lambda case: case["id"],
)
def test_the_resolved_values_are_those_of_the_library_s_normalised_dict(
    case: dict[str, Any],
) -> None:
    model = configs.read(case["params"]["config_json"])
    normalised = case["outputs"]["rope_parameters"]
    per_layer = any(isinstance(value, dict) for value in normalised.values())
    for layer_type, values in normalised.items() if per_layer else [("full_attention", normalised)]:
        spec = model.spec(layer_type)
        kinds = {row.value for row in model.resolved if row.name == "rope_type"}
        assert values["rope_type"] in kinds
        for key, value in values.items():
            if key not in ("rope_type", "type"):
                ours = getattr(spec, KEYS.get(key, key))
                assert ours == (tuple(value) if isinstance(value, list) else value), key


@pytest.mark.parametrize(
    "case", [case for case in TABLES if "positions" in case["params"]], ids=lambda case: case["id"]
)
def test_cos_and_sin_tables_are_the_library_s(case: dict[str, Any]) -> None:
    model = configs.read(case["params"]["config_json"])
    positions = case["params"]["positions"]
    rotation = model.rotation(length=max(positions) + 1)
    for name in ("cos", "sin"):
        # Most classes repeat every pair in the second half of the row; gpt-oss does not.
        theirs = np.asarray(case["outputs"][name])
        ours = getattr(rotation, name)[positions]
        for start in range(0, theirs.shape[1], ours.shape[1]):
            assert_close(ours, theirs[:, start : start + ours.shape[1]], case["tol"])


def test_dynamic_has_no_memory_of_an_earlier_length() -> None:
    case = next(case for case in TABLES if case["id"] == "dynamic-state-a")
    model = configs.read(case["params"]["config_json"])
    calls = {call["call_with_length"]: call for call in case["outputs"]["calls"]}
    for length in (8192, 4096, 8192, 100):
        expected = calls[4096 if length == 100 else length]["inv_freq_after"]
        assert_close(model.rotation(length=length).inv_freq, expected, case["tol"])


@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case["id"])
def test_precedence_is_that_of_each_model_class(case: dict[str, Any]) -> None:
    model = configs.read(case["config_json"])
    for layer_type, expected in case["outputs"].items():
        rotation = model.rotation(layer_type)
        assert rotation.inv_freq.shape == (expected["pairs"],)
        assert_close(rotation.inv_freq[expected["at"]], expected["inv_freq"], case["tol"])
        assert rotation.attention_factor == pytest.approx(expected["attention_scaling"], rel=1e-6)
