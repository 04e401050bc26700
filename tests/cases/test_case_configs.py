"""Configurations of practice: the severity, the numbers and the sentences of the report."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import numpy as np
import pytest

from posviz import configs
from tests.cases.practice import (
    CASES,
    check_says,
    expected,
    given,
    near,
    sentences,
    severity,
    value,
)

SAYS: dict[str, tuple[str, ...]] = {
    "B01": (),
    "B04": (r"rope_type is null, which is treated as default",),
    "B06": (
        r"no rope type 'video_rope' known",
        r"factor is null",
        r"known types: .*linear.*yarn.*llama3.*longrope",
    ),
    "B09": (),
    "B105": (r"offset by the padding index 3",),
    "B11": (
        r"original_max_position_embeddings is missing",
        r"the fallback is max_position_embeddings = 131072",
        r"max_position_embeddings may already be the extended length",
    ),
    "B14": (r"factor must be at least 1", r"0\.5 looks like a frequency scale"),
    "B16": (r"two layer types",),
    "B19": (),
    "B21": (r"max_position_embeddings must be a positive integer",),
    "B22": (r"factor × original = 131072 differs from max_position_embeddings = 40960",),
    "B25": (),
    "B27": (r"limit holds depends on the engine",),
    "B32": (
        r"static factor applies to short inputs too",
        r"use the smallest factor that covers the need",
    ),
    "B53": (r"two separate corrections",),
    "B58": (),
    "B61": (),
    "B64": (r"rotary dimension must be even",),
    "B86": (r"mrope_section sum",),
    "B89": (),
    "B91": (r"short_factor length",),
    "B94": (),
    "B96": (r"two schedules",),
}
"""One pattern for each idea that the report must convey."""


def report(name: str) -> configs.Report:
    return configs.check(given(name)["config"], target_length=given(name).get("max_length"))


WORKED_OUT = {
    "B01": ("ratio_to_unscaled[pair 29]", "ratio_to_unscaled[pair 63]"),
    "B09": ("max_abs_difference_in_inv_freq",),
    "B27": ("base_at_2380",),
    "B32": ("recommended_factor_for_65536", "score_gain_factor_4", "score_gain_factor_2"),
    "B53": ("cos_sin_factor",),
}
"""Numbers that stand under another name, or follow from what the report gives; tests below."""


def test_every_configuration_case_is_here() -> None:
    actions = ("import_config", "advise")
    assert set(SAYS) == {name for name in CASES if given(name)["action"] in actions}


@pytest.mark.parametrize("name", SAYS)
def test_severity(name: str) -> None:
    assert report(name).severity == severity(name)


@pytest.mark.parametrize("name", SAYS)
def test_the_report_conveys_every_idea(name: str) -> None:
    check_says(name, sentences(report(name)), SAYS[name])


@pytest.mark.parametrize("name", SAYS)
def test_every_expected_number_is_in_the_report(name: str) -> None:
    found = report(name)
    for key, number in expected(name).items():
        if key not in WORKED_OUT.get(name, ()):
            assert value(found, key) == near(number), key


@pytest.mark.parametrize("name", [name for name in SAYS if name != "B105"])
def test_an_error_refuses_the_numbers_and_anything_else_gives_them(name: str) -> None:
    found = report(name)
    if severity(name) != "error":
        assert np.isfinite(found.model.rotation().inv_freq).all()
        return
    first = next(each.message for each in found.diagnoses if each.severity == "error")
    for ask in (found.model.spec, found.model.rotation):
        with pytest.raises(configs.ConfigError) as refused:
            ask()
        assert first in str(refused.value)


@pytest.mark.parametrize("name", SAYS)
def test_the_report_is_plain_json_without_nan_or_infinity(name: str) -> None:
    text = json.dumps(report(name).as_dict(), allow_nan=False)
    assert json.loads(text)["severity"] == severity(name)
    assert not re.search(r"\b(nan|inf|Traceback|ZeroDivisionError)\b", text)


def test_llama3_bands_are_not_the_plain_ladder() -> None:
    found = report("B01")
    plain = 500000.0 ** (-np.arange(64) / 64)
    ratio = found.model.rotation().inv_freq / plain
    assert ratio[29] == near(expected("B01")["ratio_to_unscaled[pair 29]"])
    assert ratio[63] == near(expected("B01")["ratio_to_unscaled[pair 63]"])
    assert found.values["pairs_divided"] == np.count_nonzero(np.isclose(ratio, 1 / 8, rtol=1e-12))
    small = report("B94").model.rotation()
    assert small.inv_freq[31] != pytest.approx(3.76732e-07, rel=1e-3)


def test_an_unknown_type_is_not_read_as_plain_rope() -> None:
    found = report("B06")
    assert {each.code for each in found.diagnoses} == {"PV101", "PV111"}
    assert found.model.layer().spec is None


def test_whole_numbers_and_their_decimals_are_the_same_number() -> None:
    config = given("B09")["config"]
    decimal = {**config, "rope_scaling": {**config["rope_scaling"]}}
    for key, number in given("B09")["compare_with"].items():
        decimal["rope_scaling"][key.rpartition(".")[2]] = number
    first, second = configs.check(config), configs.check(decimal)
    difference = np.abs(first.model.rotation().inv_freq - second.model.rotation().inv_freq)
    assert difference.max() == expected("B09")["max_abs_difference_in_inv_freq"]
    assert first.model.spec() == second.model.spec()
    assert sentences(first) == sentences(second)
    assert {each.severity for each in first.diagnoses} == {"ok"}


def test_a_padded_table_has_no_rotation_to_open() -> None:
    found = report("B105")
    assert "514 positions are usable" not in sentences(found)
    with pytest.raises(configs.ConfigError, match=r"does not rotate.*510 positions"):
        found.model.spec()


def test_a_missing_original_window_falls_back_in_sight() -> None:
    rows = report("B11").model.resolved
    row = next(row for row in rows if row.name == "original_max_position_embeddings")
    assert (row.value, row.origin) == (
        131072,
        "max_position_embeddings, because original_max_position_embeddings is missing",
    )


def test_layer_types_keep_their_own_dicts() -> None:
    found = report("B16")
    layers = [layer.indices for layer in found.model.layers]
    assert layers == [(3,), (0, 1, 2)]
    assert any("two layer types" in row.origin for row in found.model.resolved)
    assert found.model.rotation("full_attention").attention_factor == 1.0
    assert found.model.rotation("sliding_attention").inv_freq.shape == (64,)


def test_latent_attention_without_a_scaling_asks_for_no_factor() -> None:
    found = report("B19")
    assert {each.severity for each in found.diagnoses} == {"ok"}
    assert not re.search(r"\bfactor\b|yarn", sentences(found))


def test_an_unusable_window_is_the_only_complaint() -> None:
    (found,) = report("B21").diagnoses
    assert found.message == "max_position_embeddings must be a positive integer; got 0."
    assert found.fields == ("max_position_embeddings",)


def test_the_explicit_factor_counts_and_not_the_ratio_of_the_windows() -> None:
    spec: Any = report("B22").model.spec()
    assert spec.scaling_factor == 4.0
    assert spec.original_max_position_embeddings == 32768


def test_a_vendor_s_alias_does_not_scale_the_window_twice() -> None:
    assert "33554432" not in json.dumps(report("B25").as_dict())
    rows = report("B25").model.resolved
    assert "33554432" not in str(rows)
    assert [row.value for row in rows if row.name == "nominal_extended_context"] == [1048576]


@pytest.mark.parametrize("length", [2048, 2380, 4096])
def test_dynamic_has_the_base_of_each_length(length: int) -> None:
    second = report("B27").model.rotation(length=length).inv_freq[1]
    assert second**-64 == near(expected("B27")[f"base_at_{length}"])


def test_dynamic_names_both_limits() -> None:
    found = report("B27")
    assert "nominal extended context is 4096" in sentences(found)
    config = given("B27")["config"]
    asked = configs.check(config, target_length=2380)
    assert value(asked, "base_at_2380") == near(expected("B27")["base_at_2380"])


def test_advice_names_the_smallest_factor_and_what_the_present_one_costs() -> None:
    found, numbers = report("B32"), expected("B32")
    assert value(found, "recommended_factor") == numbers["recommended_factor_for_65536"]
    assert value(found, "score_gain") == near(numbers["score_gain_factor_4"])
    assert value(found, "recommended_score_gain") == near(numbers["score_gain_factor_2"])
    typical = configs.check(given("B32")["config"], target_length=given("B32")["typical_length"])
    assert typical.severity == "warn"
    assert "static factor applies to short inputs too" in sentences(typical)


def test_the_two_corrections_of_latent_attention_are_kept_apart() -> None:
    rotation = report("B53").model.rotation()
    assert rotation.attention_factor == expected("B53")["cos_sin_factor"]
    correction = (0.1 * 0.707 * math.log(40) + 1) ** 2
    assert rotation.softmax_factor == near(correction, 1e-12)
    assert correction == near(expected("B53")["softmax_scale_multiplier"])


def test_unrounded_bounds_are_shown_unrounded() -> None:
    found = report("B58")
    assert found.values["ramp_low"] == pytest.approx(8.092779115512402, rel=1e-12)
    assert found.values["ramp_high"] == pytest.approx(17.39802450158856, rel=1e-12)


def test_partial_rotation_squeezes_a_whole_ladder() -> None:
    rotation = report("B61").model.rotation()
    rows = report("B61").model.resolved
    assert [row.value for row in rows if row.name == "unrotated_dims"] == [192]
    assert rotation.inv_freq.shape == (32,)
    assert rotation.inv_freq[1] != pytest.approx(0.881683, rel=1e-3)


def test_the_section_is_counted_against_the_rotary_dimension() -> None:
    assert report("B89").model.rotation().rotary_dim == 64
    assert "128" not in sentences(report("B89"))
    rows = report("B89").model.resolved
    assert [row.value for row in rows if row.name == "mrope_section"] == [(11, 11, 10)]


def test_lists_of_the_right_length_pass() -> None:
    config = given("B91")["config"]
    lists = {key: [1.0] * 48 for key in ("short_factor", "long_factor")}
    fitting = {**config, "rope_scaling": {"type": "longrope", **lists}}
    spec: Any = configs.check(fitting).model.spec()
    assert len(spec.short_factor) == 48
    assert configs.check(fitting).severity == "ok"
    assert "expected 64" not in sentences(report("B91"))


def test_gemma3_scales_only_its_full_layers() -> None:
    found = report("B96")
    layers = found.values["full_attention.layers"]
    assert layers == expected("B96")["global_layers"]
    full, sliding = (found.model.rotation(name) for name in ("full_attention", "sliding_attention"))
    assert full.inv_freq[0] == 1 / 8
    assert sliding.inv_freq[1] == near(10000 ** (-2 / 256), 1e-12)
