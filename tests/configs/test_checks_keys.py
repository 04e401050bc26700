"""Keys that nothing reads: slips, other tools' names, wrong places; and no false alarm."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from posviz import configs
from posviz.configs.checks import keys, reading
from posviz.configs.checks.subject import Subject
from posviz.configs.presets import presets
from tests.configs.case_files import DATA

MODEL = {"head_dim": 128, "rope_theta": 1e6, "max_position_embeddings": 131072}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
GOOD = {**MODEL, "rope_scaling": YARN}
CODES = tuple(keys.CODES)
SPECIAL = ("text_config", "thinker_config", "alibi", "qk_rope_head_dim", "layer_types")
"""Keys whose value decides how the rest is read."""


def found(config: Any, code: str, **question: Any) -> list[configs.Diagnosis]:
    return list(configs.check(config, **question).of(code))


def renamed(config: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    return {(new if key == old else key): value for key, value in config.items()}


@pytest.mark.parametrize(
    ("slip", "real"),
    [
        ("original_max_position_embedding", "original_max_position_embeddings"),
        ("orignal_max_position_embeddings", "original_max_position_embeddings"),
        ("originalMaxPositionEmbeddings", "original_max_position_embeddings"),
        ("rope_typ", "rope_type"),
        ("ROPE_TYPE", "rope_type"),
        ("rope-type", "rope_type"),
        ("ropeType", "rope_type"),
        ("factr", "factor"),
        ("Factor", "factor"),
        ("factor ", "factor"),
    ],
)
@pytest.mark.parametrize("nested", [False, True])
def test_a_slip_inside_the_dict_is_named_and_mended(slip: str, real: str, nested: bool) -> None:
    bad = {**MODEL, "rope_scaling": renamed(YARN, real, slip)}
    config: dict[str, Any] = {"text_config": bad} if nested else bad
    report = configs.check(config)
    [diagnosis] = report.of("PV270")
    path = "text_config.rope_scaling" if nested else "rope_scaling"
    assert diagnosis.fields == (f"{path}.{slip}",)
    assert diagnosis.values == {"closest": real}
    assert report.severity in ("warn", "error")
    assert not report.of("PV161")
    assert not report.of("PV275")
    assert report.patched("PV270") == ({"text_config": GOOD} if nested else GOOD)


@pytest.mark.parametrize(
    ("slip", "real"),
    [
        ("max_position_embedding", "max_position_embeddings"),
        ("max_pos_embeddings", "max_position_embeddings"),
        ("rope_scalling", "rope_scaling"),
        ("rope_scailing", "rope_scaling"),
        ("RopeScaling", "rope_scaling"),
        ("rope_tetha", "rope_theta"),
        ("ropeTheta", "rope_theta"),
    ],
)
def test_a_slip_beside_the_dict_is_named_and_mended(slip: str, real: str) -> None:
    report = configs.check({"position_embedding_type": "rope", **renamed(GOOD, real, slip)})
    [diagnosis] = report.of("PV270")
    assert (diagnosis.severity, diagnosis.fields) == ("warn", (slip,))
    if diagnosis.patch:
        assert report.patched("PV270") == {"position_embedding_type": "rope", **GOOD}
    else:
        assert real == "max_position_embeddings"


def test_a_slip_beside_the_real_key_is_no_second_value() -> None:
    [other] = found({**GOOD, "rope_tetha": 5e5}, "PV270")
    assert "rope_theta" in other.message
    assert "counts: 1000000" in other.message
    assert not other.patch
    [same] = found({**GOOD, "rope_tetha": 1e6}, "PV270")
    assert [operation["op"] for operation in same.patch] == ["remove"]


@pytest.mark.parametrize(
    ("name", "value", "key", "meant"),
    [
        ("rope_freq_base", 5e5, "rope_theta", 5e5),
        ("rope-freq-base", 5e5, "rope_theta", 5e5),
        ("--rope-freq-base", 5e5, "rope_theta", 5e5),
        ("rope_base", 5e5, "rope_theta", 5e5),
        ("rotary_base", 5e5, "rope_theta", 5e5),
        ("base", 5e5, "rope_theta", 5e5),
        ("rotary_percent", 0.5, "partial_rotary_factor", 0.5),
    ],
)
def test_a_number_of_another_tool_gets_its_name(
    name: str, value: float, key: str, meant: float
) -> None:
    report = configs.check({"head_dim": 128, "position_embedding_type": "rope", name: value})
    [diagnosis] = report.of("PV272")
    assert diagnosis.fields == (name,)
    assert report.patched("PV272")[key] == meant
    assert name not in report.patched("PV272")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rope_scale", 4.0),
        ("rope_freq_scale", 0.25),
        ("freq_scale", 0.25),
        ("compress_pos_emb", 4),
        ("scaling_factor", 4.0),
        ("rope_factor", 4.0),
        ("rope_scaling_factor", 4.0),
        ("seq_len_interpolation_factor", 4.0),
    ],
)
def test_a_factor_of_another_tool_becomes_the_factor(name: str, value: float) -> None:
    alone = configs.check({**MODEL, name: value})
    assert alone.patched("PV272")["rope_scaling"] == {"rope_type": "linear", "factor": 4.0}
    beside = configs.check({**MODEL, "rope_scaling": {"rope_type": "linear"}, name: value})
    assert beside.patched("PV272")["rope_scaling"] == {"rope_type": "linear", "factor": 4.0}
    inside = configs.check({**MODEL, "rope_scaling": {"rope_type": "linear", name: value}})
    assert inside.patched("PV272")["rope_scaling"] == {"rope_type": "linear", "factor": 4.0}


@pytest.mark.parametrize("name", ["yarn_orig_ctx", "n_ctx_orig", "original_seq_len", "orig_ctx"])
def test_an_original_window_of_another_tool_moves_into_the_dict(name: str) -> None:
    report = configs.check(
        {**MODEL, "rope_scaling": {"rope_type": "yarn", "factor": 4.0}, name: 32768}
    )
    assert report.patched("PV272") == GOOD
    assert not report.of("PV120")[0].patch  # it is there, under this other name


def test_exllama_s_alpha_is_worked_out_but_not_chosen() -> None:
    # 10000 × 4^(128/126) = 40889.942432
    config = {"head_dim": 128, "rope_theta": 10000.0, "alpha_value": 4}
    [diagnosis] = found(config, "PV272")
    assert diagnosis.values["rope_theta"] == pytest.approx(40889.942432, rel=1e-10)
    assert "40889.94243" in diagnosis.message
    assert not diagnosis.patch


@pytest.mark.parametrize("rope_type", ["yarn", "linear", "llama3"])
def test_alpha_is_not_guessed(rope_type: str) -> None:
    rope = {**YARN, "rope_type": rope_type, "alpha": 1, "low_freq_factor": 1, "high_freq_factor": 4}
    [diagnosis] = found({**MODEL, "rope_scaling": rope}, "PV273")
    assert (diagnosis.severity, diagnosis.patch) == ("warn", ())
    for meaning in ("alpha^(d/(d-2))", "beta_slow", "low_freq_factor"):
        assert meaning in diagnosis.message


def test_the_alpha_of_hunyuan_is_read_and_not_complained_about() -> None:
    rope = {"type": "dynamic", "alpha": 1000.0, "factor": 1.0}
    config = {**MODEL, "model_type": "hunyuan_v1_dense", "rope_scaling": rope}
    assert not found(config, "PV273")


@pytest.mark.parametrize("key", ["beta_fast", "beta_slow", "mscale", "truncate"])
def test_a_key_beside_its_dict_moves_in(key: str) -> None:
    value: Any = False if key == "truncate" else 2
    report = configs.check({**GOOD, key: value})
    [diagnosis] = report.of("PV271")
    assert diagnosis.fields == (key,)
    if key != "mscale":  # inside, mscale alone has a warning of its own
        assert report.patched("PV271") == {**MODEL, "rope_scaling": {**YARN, key: value}}


def test_a_whole_scaling_beside_the_place_of_its_dict_moves_in() -> None:
    report = configs.check({**MODEL, **YARN})
    [diagnosis] = report.of("PV271")
    assert set(diagnosis.fields) == {"rope_type", "factor"}
    assert configs.read(report.patched("PV271")).spec().id == "yarn"


def test_settings_of_the_whole_file_move_to_the_text_model() -> None:
    report = configs.check({"text_config": MODEL, "rope_scaling": YARN})
    [diagnosis] = report.of("PV271")
    assert "text_config" in diagnosis.message
    assert report.patched("PV271") == {"text_config": GOOD}


@pytest.mark.parametrize("outer", ["rope_scaling", "rope_parameters"])
@pytest.mark.parametrize("inner", ["rope_scaling", "rope_parameters"])
def test_a_dict_in_a_dict_is_unpacked(outer: str, inner: str) -> None:
    report = configs.check({**MODEL, outer: {inner: YARN}})
    [diagnosis] = report.of("PV271")
    assert diagnosis.fields == (f"{outer}.{inner}",)
    assert report.patched("PV271") == {**MODEL, outer: YARN}


def test_a_base_that_this_class_reads_under_another_name() -> None:
    config = {"head_dim": 128, "model_type": "llama", "rotary_emb_base": 5e5}
    report = configs.check(config)
    [diagnosis] = report.of("PV271")
    assert "reads rope_theta" in diagnosis.message
    assert set(diagnosis.runtimes) == {"vllm"}
    assert report.patched("PV271")["rope_theta"] == 5e5
    assert not found({**config, "model_type": "gpt_neox"}, "PV271")
    assert not found({"head_dim": 128, "rotary_emb_base": 5e5}, "PV271")


def test_rope_ratio_is_told_with_its_base() -> None:
    config = {"head_dim": 128, "model_type": "chatglm", "rope_theta": 1e4, "rope_ratio": 500}
    [diagnosis] = found(config, "PV274")
    assert diagnosis.values["base_with_rope_ratio"] == 5e6
    assert not found({**config, "rope_ratio": 1}, "PV274")


@pytest.mark.parametrize(
    ("rope", "meant"),
    [
        ({"factor": 4.0}, None),
        ({"rope_type": "default", "factor": 4.0}, None),
        ({"factor": 4.0, "beta_fast": 32, "beta_slow": 1}, "yarn"),
        ({"factor": 8.0, "low_freq_factor": 1, "high_freq_factor": 4}, "llama3"),
        ({"short_factor": [1.0] * 64, "long_factor": [2.0] * 64}, "longrope"),
    ],
)
def test_a_scaling_without_a_type_scales_nothing(rope: dict[str, Any], meant: str | None) -> None:
    report = configs.check({**MODEL, "rope_scaling": rope})
    [diagnosis] = report.of("PV275")
    assert diagnosis.severity == "warn"
    assert not report.of("PV161")
    if meant is None:
        assert not diagnosis.patch
    else:
        assert report.patched("PV275")["rope_scaling"]["rope_type"] == meant


@pytest.mark.parametrize(
    "rope",
    [
        {},
        {"rope_type": "default"},
        {"rope_type": "default", "factor": 1.0},
        {"type": "default", "rope_theta": 1e6, "partial_rotary_factor": 0.5},
        {"type": "mrope", "mrope_section": [16, 24, 24]},
    ],
)
def test_a_dict_that_scales_nothing_on_purpose_is_fine(rope: dict[str, Any]) -> None:
    report = configs.check({**MODEL, "rope_scaling": rope})
    assert not [each for each in report.diagnoses if each.code in CODES]


def test_many_unknown_keys_cost_little_and_say_little() -> None:
    junk = {f"rope_theta{index}": index for index in range(20000)}
    report = configs.check({**GOOD, **junk})
    assert len(report.of("PV270")) <= 12


@pytest.mark.parametrize(
    "rope",
    [
        {f"factor{index}": 4 for index in range(20000)},
        {f"l{index}_attention": {"rope_type": "linear", "factor": "4"} for index in range(300)},
        {f"l{index}_attention": {"factorr": 4, "alpha": index} for index in range(300)},
        {"rope_type": "longrope", "short_factor": ["1"] * 20000, "long_factor": [1]},
    ],
)
def test_a_hostile_dict_takes_a_moment_only(rope: dict[str, Any]) -> None:
    model = configs.read({**MODEL, "rope_scaling": rope})
    begin = time.process_time()
    for group in (reading, keys):
        list(group.find(Subject(model)))
    assert time.process_time() - begin < 4


def test_no_released_model_is_accused() -> None:
    for preset in presets():
        report = configs.check(preset.config)
        wrong = [each for each in report.diagnoses if each.code in CODES]
        assert not wrong, (preset.id, wrong)


KNOWN = json.loads((DATA / "config_keys.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("value", [64, "text"])
def test_no_key_that_transformers_saves_is_taken_for_a_slip(value: Any) -> None:
    assert len(KNOWN["beside"]) > 1500
    config = {**dict.fromkeys(KNOWN["beside"], value), **GOOD}
    plain = {key: value for key, value in config.items() if key in GOOD or key not in SPECIAL}
    for start in range(0, len(plain), 200):  # one object is looked at up to some hundred keys
        part = dict(list(plain.items())[start : start + 200])
        told = keys.find(Subject(configs.read({**part, **GOOD})))
        assert not [each.message for each in told if each.code in ("PV270", "PV272")]


def test_no_key_that_transformers_saves_inside_the_dict_is_taken_for_a_slip() -> None:
    inner = {key: 1 for key in KNOWN["inside"] if key not in (*YARN, "type", "mrope_section")}
    told = keys.find(Subject(configs.read({**MODEL, "rope_scaling": {**inner, **YARN}})))
    assert not [each.message for each in told if each.code in ("PV270", "PV272")]
