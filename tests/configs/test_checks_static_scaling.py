"""A static factor against the length that is wanted, in every spelling."""

from __future__ import annotations

import math
from typing import Any

import pytest

from posviz import configs
from tests.configs.spellings import SPELLINGS, spelled

YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}


def yarn(window: int = 131072, **keys: Any) -> dict[str, Any]:
    rope = {**YARN, **{key: keys.pop(key) for key in list(keys) if key in _ROPE_KEYS}}
    return spelled("rope_scaling", rope, window=window, **keys)


_ROPE_KEYS = ("factor", "finetuned", "mscale", "mscale_all_dim", "original_max_position_embeddings")


def only(report: configs.Report, code: str) -> configs.Diagnosis:
    (found,) = report.of(code)
    return found


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_the_smallest_factor_that_covers_the_length_is_recommended(spelling: str) -> None:
    config = spelled(spelling, YARN)
    report = configs.check(config, target_length=65536)
    found = only(report, "PV202")
    assert report.severity == found.severity == "warn"
    assert found.values["recommended_factor"] == 2.0
    # (0.1 ln 4 + 1)² and (0.1 ln 2 + 1)²
    assert found.values["score_gain"] == pytest.approx(1.296476993, rel=1e-9)
    assert found.values["recommended_score_gain"] == pytest.approx(1.143433966, rel=1e-9)
    assert "the static factor applies to short inputs too" in found.message
    assert "use the smallest factor that covers the need" in found.message
    after = configs.check(report.patched("PV202"), target_length=65536)
    assert after.severity == "ok"
    spec: Any = after.model.spec()
    assert spec.scaling_factor == 2.0
    assert (after.model.window, spec.original_max_position_embeddings) == (65536, 32768)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_within_the_trained_window_the_extension_is_removed(spelling: str) -> None:
    report = configs.check(spelled(spelling, YARN), target_length=32768)
    assert only(report, "PV201").severity == "warn"
    after = configs.check(report.patched("PV201"), target_length=32768)
    assert after.severity == "ok"
    spec: Any = after.model.spec()
    assert (spec.id, spec.base, after.model.window) == ("rope", 1e6, 32768)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_beyond_the_product_the_factor_that_covers_is_named(spelling: str) -> None:
    report = configs.check(spelled(spelling, YARN), target_length=262144)
    found = only(report, "PV203")
    assert found.values["recommended_factor"] == 8.0
    assert "4 × 32768 = 131072" in found.message
    assert "above 131072" in found.runtimes["vllm"]
    assert configs.check(report.patched("PV203"), target_length=262144).severity == "ok"


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_complete_static_factor_is_fine_without_a_length(spelling: str) -> None:
    report = configs.check(spelled(spelling, YARN))
    found = only(report, "PV200")
    assert report.severity == "ok"
    assert "4 × 32768 = 131072, which is max_position_embeddings" in found.message
    assert "multiplied by 1.296" in found.message


@pytest.mark.parametrize("length", [131072, 131071.5])
def test_a_length_that_needs_the_whole_factor_is_fine(length: float) -> None:
    assert configs.check(yarn(), target_length=math.ceil(length)).severity == "ok"


@pytest.mark.parametrize(
    "config",
    [
        yarn(finetuned=True),
        yarn(mscale=1.0, mscale_all_dim=1.0),
        yarn(model_type="deepseek_v3"),
        yarn(model_type="gpt_oss", factor=32.0, original_max_position_embeddings=4096),
        yarn(_name_or_path="org/Yarn-Llama-2-7b-128k"),
        spelled("rope_scaling", {**YARN, "rope_type": "deepseek_yarn"}),
    ],
)
@pytest.mark.parametrize("length", [1000, 65536])
def test_a_model_that_was_trained_with_its_factor_keeps_it(
    config: dict[str, Any], length: int
) -> None:
    report = configs.check(config, target_length=length)
    assert not report.of("PV201")
    assert not report.of("PV202")
    found = only(report, "PV200")
    assert found.values["trained_with_extension"] is True
    assert "trained with this extension, so keep it" in found.message


def test_a_trained_factor_is_not_raised_by_a_patch() -> None:
    found = only(configs.check(yarn(finetuned=True), target_length=262144), "PV203")
    assert found.patch == ()
    assert "fine-tune" in found.message


@pytest.mark.parametrize("model_type", ["qwen2", "qwen3", "qwen3_moe", "smollm3"])
def test_an_added_factor_may_go(model_type: str) -> None:
    found = only(configs.check(yarn(model_type=model_type), target_length=8192), "PV201")
    assert found.values["trained_with_extension"] is False
    assert f"({model_type}) was trained without it" in found.message


def test_an_unknown_model_is_told_both() -> None:
    found = only(configs.check(yarn(), target_length=8192), "PV201")
    assert "if it was, keep it as it is; if it was added afterwards, change it" in found.message


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ({"rope_theta": 1e4}, "/rope_scaling"),
        ({"rope_theta": 1e4, "rope_scaling": None}, "/rope_scaling"),
        ({"rope_theta": 1e4, "rope_scaling": {"rope_type": "default"}}, "/rope_scaling"),
        ({"rope_parameters": {"rope_type": "default", "rope_theta": 1e4}}, "/rope_parameters"),
        ({"rope_theta": 1e4, "rope_parameters": None}, "/rope_parameters"),
    ],
)
def test_beyond_a_plain_window_yarn_is_offered_in_the_spelling_of_the_file(
    config: dict[str, Any], path: str
) -> None:
    config = {"head_dim": 128, "max_position_embeddings": 4096, **config}
    report = configs.check(config, target_length=16384)
    found = only(report, "PV204")
    assert found.severity == "warn"
    assert found.patch[0]["path"] == path
    # 18 pairs of Llama 2 have wavelengths above 4096; the base for 4 times its window
    assert found.values["unfinished_pairs"] == 18
    assert found.pairs == (46, 63)
    assert found.values["ntk_base"] == pytest.approx(40889.942432, rel=1e-9)
    after = configs.check(report.patched("PV204"), target_length=16384)
    spec: Any = after.model.spec()
    assert after.severity == "ok"
    assert (spec.id, spec.scaling_factor, spec.base) == ("yarn", 4.0, 1e4)
    assert (spec.original_max_position_embeddings, after.model.window) == (4096, 16384)


def test_mrope_sections_survive_the_patch() -> None:
    rope = {"type": "mrope", "mrope_section": [16, 24, 24]}
    config = {"head_dim": 128, "rope_theta": 1e6, "max_position_embeddings": 32768}
    report = configs.check({**config, "rope_scaling": rope}, target_length=65536)
    changed = report.patched("PV204")["rope_scaling"]
    assert changed["mrope_section"] == [16, 24, 24]
    assert "type" not in changed


@pytest.mark.parametrize(
    "keys",
    [
        {"model_type": "cohere2", "sliding_window": 4096, "layer_types": ["sliding_attention"]},
        {"rope_parameters": {"rope_type": "proportional", "rope_theta": 1e6}},
        {"model_type": "llama", "partial_rotary_factor": 0.5},
        {"model_type": "phi3"},
    ],
)
def test_no_patch_where_yarn_would_mean_something_else(keys: dict[str, Any]) -> None:
    config = {"head_dim": 128, "rope_theta": 1e6, "max_position_embeddings": 8192, **keys}
    found = only(configs.check(config, target_length=65536), "PV204")
    assert found.severity == "warn"
    assert found.patch == ()


def test_within_the_window_a_plain_model_has_nothing_to_hear() -> None:
    config = {"head_dim": 128, "rope_theta": 1e6, "max_position_embeddings": 8192}
    assert configs.check(config, target_length=8192).severity == "ok"


@pytest.mark.parametrize("rope_type", ["linear", "ntk"])
def test_linear_has_two_readings_of_its_window(rope_type: str) -> None:
    config = spelled("rope_scaling", {"rope_type": rope_type, "factor": 4.0}, window=16384)
    found = only(configs.check(config), "PV205")
    assert found.severity == "ok"
    assert found.values["if_trained_window"] == 65536
    assert found.values["original_if_extended"] == 4096
    named = only(configs.check(config, runtime="vllm"), "PV205")
    assert named.severity == "info"
    assert "allows 65536 tokens" in named.runtimes["vllm"]


def test_linear_is_not_removed_by_a_guess() -> None:
    config = spelled("rope_scaling", {"rope_type": "linear", "factor": 4.0}, window=16384)
    found = only(configs.check(config, target_length=8192), "PV201")
    assert (found.severity, found.patch) == ("info", ())
    assert "a sign that 16384 is the extended one" in found.message


def test_the_window_of_gemma_3_holds_its_factor() -> None:
    config = {
        "model_type": "gemma3_text",
        "head_dim": 256,
        "max_position_embeddings": 131072,
        "rope_theta": 1e6,
        "rope_local_base_freq": 1e4,
        "rope_scaling": {"rope_type": "linear", "factor": 8.0},
    }
    assert configs.check(config, target_length=1000).severity == "ok"
    assert configs.check(config, target_length=131072).severity == "ok"
    beyond = only(configs.check(config, target_length=262144), "PV203")
    assert "covers here, 131072" in beyond.message
    assert beyond.values["recommended_factor"] == 16.0


def test_without_an_original_window_no_advice_is_built_on_the_fallback() -> None:
    rope = {"rope_type": "yarn", "factor": 4.0}
    report = configs.check(spelled("rope_scaling", rope), target_length=65536)
    codes = {each.code for each in report.diagnoses}
    assert not codes & {"PV200", "PV201", "PV202", "PV203"}
    assert "PV120" in codes


def test_a_trained_model_hears_that_it_keeps_its_factor_though_its_books_differ() -> None:
    found = only(configs.check(yarn(163840, finetuned=True), target_length=4096), "PV200")
    assert "which is max_position_embeddings" not in found.message
    assert found.severity == "ok"


def test_deepseek_hears_what_its_own_code_does() -> None:
    config = yarn(model_type="deepseek_v3")
    short = only(configs.check(config, target_length=4096), "PV200")
    assert "scales only where its max_seq_len is set above 32768" in short.message
    long = only(configs.check(config, target_length=65536), "PV200")
    assert "own inference code" not in long.message


def test_keys_are_named_where_they_stand() -> None:
    config = spelled("text_config", YARN)
    found = only(configs.check(config, target_length=65536), "PV202")
    assert found.fields == (
        "text_config.rope_scaling.factor",
        "text_config.rope_scaling.original_max_position_embeddings",
        "text_config.max_position_embeddings",
    )
    assert [each["path"] for each in found.patch] == [
        "/text_config/rope_scaling/factor",
        "/text_config/max_position_embeddings",
    ]


def test_the_factor_of_a_class_is_not_patched_into_a_file_that_lacks_it() -> None:
    config = {"model_type": "gpt_oss", "max_position_embeddings": 131072}
    report = configs.check(config, target_length=262144)
    assert only(report, "PV203").patch == ()
    assert only(report, "PV203").fields == ("max_position_embeddings",)


def test_the_factor_of_proportional_counts_as_an_extension() -> None:
    rope = {"rope_type": "proportional", "rope_theta": 1e6, "factor": 8.0}
    config = {"head_dim": 128, "max_position_embeddings": 8192, "rope_parameters": rope}
    assert not configs.check(config, target_length=65536).of("PV204")
    assert configs.check(config, target_length=65537).of("PV204")


def test_a_fixed_alpha_is_no_ratio_of_lengths() -> None:
    rope = {"rope_type": "dynamic", "factor": 1.0, "alpha": 1000.0}
    report = configs.check(spelled("rope_scaling", rope, window=32768), target_length=8192)
    assert not {each.code for each in report.diagnoses} & {"PV201", "PV202", "PV203", "PV205"}
