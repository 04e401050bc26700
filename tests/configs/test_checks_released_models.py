"""What is said of released models, and of files that are near to one: neither alarms nor silence.

Sources of the facts: transformers 5.24.0 (the keys that its classes read, the layouts, the
reminder of generate), vLLM (model_max_length of Command R), Qwen3's documentation (32768 tokens
for the output and 8192 for the prompt; YaRN with factor 2 for 65536 tokens).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from posviz import configs
from posviz.configs.checks.behaviours import READ_BY_OTHERS
from posviz.configs.model_classes import model_class
from posviz.configs.presets import preset

PLAIN = {"hidden_size": 4096, "num_attention_heads": 32, "rope_theta": 10000.0}
MINISTRAL = {
    "model_type": "ministral3",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "head_dim": 128,
    "max_position_embeddings": 262144,
    "rope_parameters": {
        "type": "yarn",
        "rope_type": "yarn",
        "rope_theta": 1e6,
        "factor": 16.0,
        "original_max_position_embeddings": 16384,
        "max_position_embeddings": 262144,
        "beta_fast": 32.0,
        "beta_slow": 1.0,
        "mscale_all_dim": 1.0,
        "mscale": 1.0,
        "llama_4_scaling_beta": 0.1,
    },
}


def with_dict(rope: dict[str, Any] | None, **keys: Any) -> dict[str, Any]:
    return {**PLAIN, "max_position_embeddings": 131072, "rope_scaling": rope, **keys}


def yarn(factor: float = 4.0, original: int = 32768, **keys: Any) -> dict[str, Any]:
    return {
        "rope_type": "yarn",
        "factor": factor,
        "original_max_position_embeddings": original,
        **keys,
    }


def only(report: configs.Report, code: str) -> configs.Diagnosis:
    (found,) = report.of(code)
    return found


def removed(report: configs.Report, code: str) -> set[str]:
    return {
        str(step["path"]).rpartition("/")[2]
        for found in report.of(code)
        for step in found.patch
        if step["op"] == "remove"
    }


# Keys that somebody reads


@pytest.mark.parametrize("model_type", ["ministral3", "mistral4"])
def test_keys_that_the_class_itself_reads_are_not_called_unread(model_type: str) -> None:
    report = configs.check({**MINISTRAL, "model_type": model_type})
    assert not report.of("PV161")
    assert report.of("PV333")


@pytest.mark.parametrize("key", [*READ_BY_OTHERS, "finetuned", "max_trained_positions"])
@pytest.mark.parametrize("rope_type", ["default", "linear", "dynamic", "yarn", "llama3"])
def test_no_change_removes_what_another_runtime_or_the_advice_reads(
    key: str, rope_type: str
) -> None:
    rope = {
        "rope_type": rope_type,
        "factor": 4.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 32768,
        key: True if key == "finetuned" else 2.0,
    }
    assert key not in removed(configs.check(with_dict(rope)), "PV161")


def _sources() -> dict[str, str]:
    """Model folder of transformers and the text of its modeling files."""
    transformers = pytest.importorskip("transformers")
    folder = Path(transformers.__file__).parent / "models"
    found: dict[str, str] = {}
    for path in sorted(folder.glob("*/modeling_*.py")):
        text = path.read_text(encoding="utf-8")
        if "rope_theta" in text or "rope_parameters" in text:
            found[path.parent.name] = found.get(path.parent.name, "") + text
    return found


_READS = re.compile(r'rope_parameters(?:\.get\(|\[)"([a-z0-9_]+)"')


@pytest.mark.parametrize("rope_type", ["linear", "dynamic", "yarn"])
def test_no_change_removes_what_a_class_of_transformers_reads(rope_type: str) -> None:
    wrong = []
    for name, source in _sources().items():
        read = sorted(set(_READS.findall(source)) - {"rope_type", "factor", "rope_theta"})
        rope = {"rope_type": rope_type, "factor": 4.0} | dict.fromkeys(read, 2.0)
        rope = {key: value for key, value in rope.items() if not key.endswith("_attention")}
        config = with_dict(rope, model_type=name, qk_rope_head_dim=64, qk_nope_head_dim=64)
        try:
            report = configs.check(config)
        except configs.ConfigError:
            continue
        wrong += [(name, key) for key in removed(report, "PV161") & set(read)]
    assert wrong == []


def test_the_softmax_is_corrected_for_every_class_of_transformers_that_does_it() -> None:
    found = {name for name, source in _sources().items() if "= yarn_apply_mscale(" in source}
    assert len(found) >= 15
    assert {name for name in found if not model_class(name).softmax_correction} == set()


def test_what_nobody_reads_is_still_offered_for_removal() -> None:
    report = configs.check(with_dict(yarn(note=1, finetuned=True)))
    assert removed(report, "PV161") == {"note"}
    assert "trained with this scaling" in only(report, "PV161").message


@pytest.mark.parametrize("target", [1000, 65536])
def test_after_every_offered_change_a_finetuned_model_keeps_its_factor(target: int) -> None:
    report = configs.check(with_dict(yarn(finetuned=True, note=1)), target_length=target)
    after = configs.check(report.patched("PV161"), target_length=target)
    assert not after.of("PV201")
    assert not after.of("PV202")


@pytest.mark.parametrize("model_type", ["deepseek_v3", "deepseek_v2", "glm4_moe_lite", "minicpm3"])
@pytest.mark.parametrize("rope_type", ["linear", "dynamic"])
def test_the_softmax_of_latent_attention_is_scaled_for_every_rope_type(
    model_type: str, rope_type: str
) -> None:
    rope = {"rope_type": rope_type, "factor": 4.0, "mscale_all_dim": 1.0}
    config = with_dict(rope, model_type=model_type, qk_rope_head_dim=64, qk_nope_head_dim=128)
    report = configs.check(config)
    assert not report.of("PV161")
    assert only(report, "PV163").severity == "warn"
    plain = configs.check({**config, "rope_scaling": {**rope, "rope_type": "default"}})
    assert "mscale_all_dim" in only(plain, "PV161").message


# What models were trained with


@pytest.mark.parametrize("name", ["yarn-llama-2-7b-64k", "yarn-llama-2-7b-128k", "gpt-oss-20b"])
@pytest.mark.parametrize("target", [1000, 8192, 1 << 20])
def test_a_model_trained_with_its_extension_is_never_told_to_change_it(
    name: str, target: int
) -> None:
    report = configs.check(preset(name).config, target_length=target)
    assert not report.of("PV201")
    assert not report.of("PV202")
    assert all(not found.patch for found in report.of("PV203"))


@pytest.mark.parametrize(
    ("model_type", "rope", "trained"),
    [
        ("olmo3", yarn(8.0, 8192), True),
        ("olmo3", yarn(2.0, 65536), None),
        ("gpt_oss", yarn(32.0, 4096), True),
        ("gpt_oss", yarn(4.0, 131072), None),
        ("deepseek_v3", yarn(40.0, 4096), True),
        ("kimi_k2", yarn(32.0, 4096), True),
        ("gemma3_text", yarn(2.0, 32768), None),
        ("hunyuan_v1_dense", yarn(4.0, 32768), None),
        ("qwen2", yarn(4.0, 32768), False),
        ("llama", yarn(4.0, 4096), None),
        ("llama", yarn(4.0, 4096, finetuned=True), True),
        ("qwen2", yarn(4.0, 32768, finetuned=True), True),
    ],
)
def test_a_class_vouches_only_for_the_extension_it_was_released_with(
    model_type: str, rope: dict[str, Any], trained: bool | None
) -> None:
    window = int(rope["factor"] * rope["original_max_position_embeddings"])
    config = with_dict(rope, model_type=model_type, max_position_embeddings=window)
    found = configs.check(config, target_length=window).diagnoses
    values = [one.values for one in found if "trained_with_extension" in one.values]
    assert [one["trained_with_extension"] for one in values] == [trained]


@pytest.mark.parametrize(
    ("path", "model_type", "trained"),
    [
        ("NousResearch/Yarn-Llama-2-7b-128k", "llama", True),
        ("/models/Yarn-Mistral-7b-128k/", "mistral", True),
        ("/models/Qwen2.5-7B-Instruct-YaRN-128k", "qwen2", False),
        ("/models/Llama-3-8B-yarn", "llama", None),
        ("/yarn-experiments/base", "llama", None),
    ],
)
def test_a_name_vouches_only_where_the_model_is_named_after_it(
    path: str, model_type: str, trained: bool | None
) -> None:
    config = with_dict(yarn(), model_type=model_type, _name_or_path=path)
    found = only(configs.check(config, target_length=131072), "PV200")
    assert found.values["trained_with_extension"] is trained


# Windows


@pytest.mark.parametrize("model_type", ["cohere", "cohere2"])
def test_the_window_of_a_command_model_is_model_max_length(model_type: str) -> None:
    config = {
        **PLAIN,
        "model_type": model_type,
        "max_position_embeddings": 8192,
        "model_max_length": 131072,
    }
    report = configs.check(config, target_length=131072)
    assert report.model.window == 131072
    assert not report.of("PV204")
    beyond = only(configs.check(config, target_length=262144), "PV204")
    assert "above 131072" in beyond.runtimes["vllm"]
    assert "model_max_length is 131072" in beyond.message
    if beyond.patch:  # the layers of cohere2 that rotate are the sliding ones
        changed = configs.check(config, target_length=262144).patched("PV204")
        assert (changed["model_max_length"], changed["max_position_embeddings"]) == (262144, 8192)
    llama = configs.check({**config, "model_type": "llama"}, target_length=131072)
    assert llama.of("PV204")


@pytest.mark.parametrize("value", [4096, 0, -1, True, "x", 1e30, None, [131072], 1 << 60])
def test_another_model_max_length_leaves_the_window(value: Any) -> None:
    config = {**PLAIN, "model_type": "cohere", "max_position_embeddings": 8192}
    assert configs.check({**config, "model_max_length": value}).model.window == 8192


@pytest.mark.parametrize("model_type", ["qwen3", "qwen3_moe"])
@pytest.mark.parametrize(("target", "factor"), [(65536, 2.0), (131072, 4.0)])
def test_qwen3_is_extended_from_32768(model_type: str, target: int, factor: float) -> None:
    config = {**PLAIN, "model_type": model_type, "max_position_embeddings": 40960}
    report = configs.check(config, target_length=target)
    assert only(report, "PV204").values["recommended_factor"] == factor
    rope = report.patched("PV204")["rope_scaling"]
    assert (rope["factor"], rope["original_max_position_embeddings"]) == (factor, 32768)
    assert not configs.check(config, target_length=40960).of("PV204")


def test_a_window_of_another_class_is_taken_as_the_trained_one() -> None:
    config = {**PLAIN, "model_type": "llama", "max_position_embeddings": 40960}
    found = only(configs.check(config, target_length=81920), "PV204")
    assert found.values["recommended_factor"] == 2.0
    assert "take 40960 as the trained window" in found.message


@pytest.mark.parametrize("target", [20000, 40000])
def test_transformers_reminds_once(target: int) -> None:
    config = {**PLAIN, "max_position_embeddings": 16384}
    found = only(configs.check(config, target_length=target), "PV204")
    assert "generate() logs one reminder" in found.runtimes["transformers"]


# linear


@pytest.mark.parametrize("name", ["deepseek-coder-6.7b", "vicuna-7b-16k"])
@pytest.mark.parametrize("target", [1000, 4096])
def test_linear_of_a_released_model_is_no_alarm_within_its_window(name: str, target: int) -> None:
    report = configs.check(preset(name).config, target_length=target)
    assert report.severity in ("ok", "info")
    (found,) = [*report.of("PV201"), *report.of("PV202")]
    assert found.patch == ()
    assert "recommended_factor" not in found.values
    assert "then keep it at every length" in found.message


def test_linear_beyond_a_window_that_looks_extended_stays_an_alarm() -> None:
    # 16384 / 4 = 4096, DeepSeek-Coder's training length before extension
    report = configs.check(preset("deepseek-coder-6.7b").config, target_length=32768)
    found = only(report, "PV202")
    assert found.severity == "warn"
    assert "= 4096 is a usual trained window" in found.message
    vicuna = configs.check(preset("vicuna-7b-16k").config, target_length=8192)
    assert only(vicuna, "PV202").severity == "info"


# factor × original


@pytest.mark.parametrize(
    ("factor", "original", "window", "mended"),
    [(131072, 32768, 131072, 4.0), (32768, 32768, 131072, 4.0), (131072, 32768, 32768, 4.0)],
)
def test_a_length_typed_as_the_factor_becomes_the_ratio(
    factor: float, original: int, window: int, mended: float
) -> None:
    config = with_dict(yarn(factor, original), max_position_embeddings=window)
    report = configs.check(config)
    assert "looks like a length" in only(report, "PV121").message
    after = report.patched("PV121")
    assert after["rope_scaling"]["factor"] == mended
    assert after["max_position_embeddings"] == window


@pytest.mark.parametrize("factor", [1e15, 1e200, 1.7e308])
def test_a_factor_without_bounds_is_no_accident(factor: float) -> None:
    found = only(configs.check(with_dict(yarn(factor, 32768))), "PV121")
    assert found.patch in ((), ({"op": "replace", "path": "/rope_scaling/factor", "value": 4.0},))


def test_an_original_that_may_be_the_extended_length_has_two_readings() -> None:
    config = with_dict(yarn(4.0, 131072))
    found = only(configs.check(config), "PV121")
    assert found.patch == ()
    assert "131072 / 4 = 32768" in found.message
    assert only(configs.check(config, target_length=400000), "PV121").patch


@pytest.mark.parametrize(
    ("factor", "original", "window", "change"),
    [
        (4.0, 32768, 32768, 131072),
        (4.0, 32768, 40960, 131072),
        (16.0, 32768, 131072, None),
        (64.0, 8192, 131072, None),
    ],
)
def test_the_window_follows_where_the_file_keeps_the_trained_one(
    factor: float, original: int, window: int, change: int | None
) -> None:
    config = with_dict(yarn(factor, original), max_position_embeddings=window)
    report = configs.check(config)
    if change is None:
        assert only(report, "PV121").patch == ()
    else:
        assert report.patched("PV121")["max_position_embeddings"] == change


# Dropped extensions


@pytest.mark.parametrize("rope", [None, {"rope_type": "default"}, {}])
def test_a_trained_window_without_an_extension_is_a_warning(rope: dict[str, Any] | None) -> None:
    config = with_dict(rope, model_type="phi3", original_max_position_embeddings=4096)
    for target in (None, 8000):
        assert only(configs.check(config, target_length=target), "PV206").severity == "warn"
    same = {**config, "max_position_embeddings": 4096}
    assert not configs.check(same).of("PV206")


@pytest.mark.parametrize("vocabulary", [{}, {"vocab_size": 128256}, {"vocab_size": 128264}])
def test_llama_3_1_without_its_dict_is_a_warning(vocabulary: dict[str, int]) -> None:
    config = with_dict(None, model_type="llama", rope_theta=500000.0, **vocabulary)
    assert only(configs.check(config), "PV206").severity == "warn"


@pytest.mark.parametrize(
    "other",
    [
        {"vocab_size": 32000},
        {"max_position_embeddings": 32768},
        {"rope_theta": 1e6},
        {"model_type": "mistral"},
    ],
)
def test_other_long_models_need_no_llama3_dict(other: dict[str, Any]) -> None:
    config = {**with_dict(None, model_type="llama", rope_theta=500000.0), **other}
    assert not configs.check(config).of("PV206")


@pytest.mark.parametrize("item", configs.presets(), ids=lambda item: item.id)
def test_released_models_raise_no_alarm(item: configs.Preset) -> None:
    codes = {one.code for one in configs.check(item.config).diagnoses if one.severity == "warn"}
    # Qwen's card asks for the dict alone, so the window stays the trained one.
    assert codes == ({"PV121"} if item.id == "qwen2.5-7b-yarn" else set())


# Words


def test_llama3_with_its_extended_window_as_original_still_divides() -> None:
    rope = {
        "rope_type": "llama3",
        "factor": 8.0,
        "low_freq_factor": 1.0,
        "high_freq_factor": 4.0,
        "original_max_position_embeddings": 131072,
    }
    report = configs.check(with_dict(rope, rope_theta=500000.0))
    found = only(report, "PV125")
    assert "extends nothing" not in found.message
    assert "laid out for 131072 tokens" in found.message
    assert only(report, "PV240").values["pairs_divided"] > 0


@pytest.mark.parametrize("target", [None, 1000, 65536])
def test_a_factor_of_one_on_the_scores_is_not_spoken_of(target: int | None) -> None:
    report = configs.check(with_dict(yarn(attention_factor=1.0)), target_length=target)
    told = " ".join(found.message for found in report.diagnoses if found.code < "PV210")
    assert not re.search(r"multiplied by 1\b(?!\.\d)", told)


@pytest.mark.parametrize(
    ("given", "severity"),
    [(0.1, "warn"), (3.0, "warn"), (1.0, "ok"), (1.2, "ok"), (0.9, "ok"), (1.5, "ok")],
)
def test_an_attention_factor_far_from_the_default_is_a_warning(given: float, severity: str) -> None:
    # default (0.1 ln 4 + 1)² = 1.2965 on the scores
    assert only(configs.check(with_dict(yarn(attention_factor=given))), "PV230").severity == (
        severity
    )


@pytest.mark.parametrize(
    "rope",
    [
        yarn(4.0, 32768, beta_fast=4096.0),
        yarn(4.0, 32),
        {
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 400.0,
            "original_max_position_embeddings": 8192,
        },
    ],
)
def test_a_ramp_that_keeps_next_to_nothing_is_mentioned(rope: dict[str, Any]) -> None:
    report = configs.check(with_dict(rope, rope_theta=500000.0))
    (found,) = [*report.of("PV224"), *report.of("PV240")]
    assert found.severity == "info"
    assert "1 pairs" not in found.message


def test_dynamic_ntk_of_qwen_alarms_only_beyond_its_length() -> None:
    config = {**PLAIN, "model_type": "qwen", "seq_length": 2048, "use_dynamic_ntk": True}
    assert configs.check(config).severity == "info"
    assert configs.check(config, target_length=2000).severity == "info"
    assert only(configs.check(config, target_length=8192), "PV214").severity == "warn"


def test_no_diagnosis_tells_the_rope_of_vllm_with_sections_twice() -> None:
    config = with_dict(yarn(mrope_section=[16, 24, 24]), model_type="qwen2_5_vl", hidden_size=4096)
    for runtime in (None, "vllm"):
        found = configs.check(config, runtime=runtime).diagnoses
        assert len([one for one in found if "enlarged cache" in one.message]) == 1


# Layout


def _rotating_classes() -> dict[str, bool]:
    """Folder of a class in transformers, and whether its code turns pairs of neighbours."""
    marks = (
        r"def rotate_every_two",
        r"def apply_rotary_pos_emb_interleave",
        r"def rotate_half\w*\(x\):(?:(?!\ndef ).)*::2\]",
        r"freqs_cis(?:(?!\ndef ).)*view_as_complex",
        r"def _?apply_rotary_(?:pos_)?emb\((?:(?!\ndef ).)*::2\]",
    )
    return {
        name: any(re.search(mark, source, re.S) for mark in marks)
        for name, source in _sources().items()
    }


def test_the_layout_is_that_of_every_class_of_transformers() -> None:
    """A class whose folder has one text model is compared with the code in that folder."""
    wrong = []
    for name, neighbours in _rotating_classes().items():
        config = {**PLAIN, "model_type": name, "max_position_embeddings": 2048}
        try:
            report = configs.check(config)
        except configs.ConfigError:
            continue
        spec: Any = report.model.layers[0].spec if report.model.layers else None
        if spec is None or not hasattr(spec, "layout") or "PV260" not in str(report.as_dict()):
            continue
        told = only(report, "PV260").message
        if "no model class is known" not in told and (spec.layout == "interleaved") != neighbours:
            wrong.append((name, spec.layout))
    assert wrong == []


@pytest.mark.parametrize(
    ("model_type", "layout"),
    [
        ("kimi_k2", "interleaved"),
        ("openai_privacy_filter", "interleaved"),
        ("deepseek_v3", "interleaved"),
        ("minicpm3", "half_split"),
    ],
)
def test_the_layout_of_single_classes(model_type: str, layout: str) -> None:
    config = {**PLAIN, "model_type": model_type, "max_position_embeddings": 2048}
    assert only(configs.check(config), "PV260").values["layout"] == layout


def test_latent_attention_of_an_unknown_class_is_said_to_be_unsure() -> None:
    config = {**PLAIN, "max_position_embeddings": 2048, "kv_lora_rank": 512}
    told = only(configs.check(config), "PV260").message
    assert "DeepSeek's own latent attention rotates neighbours" in told
