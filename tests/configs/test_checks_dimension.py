"""How much of a head rotates, its layout, and whether a runtime can be set to do it."""

from __future__ import annotations

from typing import Any

import pytest

from posviz import configs

OLD = {"head_dim": 256, "rope_theta": 1e7, "max_position_embeddings": 262144}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 65536}


def one(config: Any, code: str, **question: Any) -> configs.Diagnosis:
    found = configs.check(config, **question).of(code)
    assert len(found) == 1, [(each.code, each.message) for each in found]
    return found[0]


def none(config: Any, *codes: str) -> bool:
    return not [each for each in configs.check(config).diagnoses if each.code in codes]


@pytest.mark.parametrize(
    "spelling",
    [
        {"partial_rotary_factor": 0.25},
        {"rotary_pct": 0.25},
        {"rotary_dim": 64},
        {"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.25}},
        {"rope_scaling": {"rope_type": "default", "partial_rotary_factor": 0.25}},
        {"partial_rotary_factor": 0.25, "rope_scaling": YARN},
    ],
)
def test_an_ordinary_share_squeezes_the_ladder(spelling: dict[str, Any]) -> None:
    # 1e7^(-2/64) = 0.6042963902 and 1e7^(-2/256) = 0.881683
    found = one({**OLD, **spelling}, "PV250")
    assert found.severity == "ok"
    assert found.values["rotary_dim"] == 64
    assert found.values["unrotated_dims"] == 192
    assert found.values["unscaled_inv_freq_of_pair_1"] == pytest.approx(0.6042963902, rel=1e-9)
    other = found.values["unscaled_inv_freq_of_pair_1_if_proportional"]
    assert other == pytest.approx(0.8816830668, rel=1e-9)
    assert len(found.fields) == 1


def test_a_proportional_share_takes_the_start_of_the_whole_ladder() -> None:
    # p-RoPE with p = 0.25, d = 512: 64 pairs rotate.
    rope = {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6}
    found = one({"head_dim": 512, "rope_parameters": rope}, "PV251")
    assert found.values == {"rotating_pairs": 64, "pairs": 256}
    assert found.pairs == (0, 63)
    assert {"transformers_v4", "llama_cpp"} <= set(found.runtimes)
    assert none({"head_dim": 512, "rope_parameters": rope}, "PV250")


def test_whole_heads_say_nothing_about_shares() -> None:
    assert none(OLD, "PV250", "PV251", "PV252", "PV255")


@pytest.mark.parametrize(
    ("shares", "read"),
    [
        ({"partial_rotary_factor": 0.5, "rotary_dim": 64}, 128),
        ({"partial_rotary_factor": 0.5, "rotary_pct": 0.25}, 128),
        (
            {
                "partial_rotary_factor": 0.5,
                "rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.25},
            },
            64,
        ),
    ],
)
def test_two_shares_that_differ_are_warned_about(shares: dict[str, Any], read: int) -> None:
    config = {**OLD, **shares}
    report = configs.check(config)
    found = one(config, "PV252")
    assert (found.severity, found.values["rotary_dim"]) == ("warn", read)
    assert len(found.fields) == 2
    after = configs.check(report.patched("PV252"))
    assert not after.of("PV252")
    assert after.values["rotary_dim"] == read


@pytest.mark.parametrize(
    "shares",
    [
        {"partial_rotary_factor": 0.25, "rotary_dim": 64},
        {"partial_rotary_factor": 0.25, "rotary_pct": 0.25},
        {"partial_rotary_factor": 1.0, "rotary_dim": 256},
    ],
)
def test_two_shares_that_agree_are_fine(shares: dict[str, Any]) -> None:
    assert none({**OLD, **shares}, "PV252")


@pytest.mark.parametrize(
    ("model_type", "name", "mended"),
    [
        ("llama", "rotary_pct", False),
        ("llama", "rotary_emb_fraction", False),
        ("glm", "rotary_pct", True),
        ("gpt_neox", "partial_rotary_factor", True),
    ],
)
def test_a_share_under_a_name_that_the_class_does_not_read(
    model_type: str, name: str, mended: bool
) -> None:
    config = {"head_dim": 64, "model_type": model_type, name: 0.75}
    found = one(config, "PV255")
    assert found.fields == (name,)
    assert "vllm" in found.runtimes
    assert bool(found.patch) == mended
    if mended:
        after = configs.check(configs.check(config).patched("PV255"))
        assert after.values["rotary_dim"] == 48


def test_head_dim_times_heads_may_differ_from_hidden_size() -> None:
    config = {**OLD, "hidden_size": 2048, "num_attention_heads": 16}
    found = one(config, "PV253")
    assert found.severity == "ok"
    assert found.values["head_dim_times_heads"] == 4096
    assert none({**config, "hidden_size": 4096}, "PV253")


def test_latent_attention_names_the_part_that_rotates() -> None:
    config = {"rope_theta": 1e4, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "head_dim": 128}
    found = one(config, "PV254")
    assert "64 of 192" in found.message
    assert "head_dim 128 does not count" in found.message


@pytest.mark.parametrize(
    ("model_type", "layout"),
    [
        ("llama", "half_split"),
        ("cohere", "interleaved"),
        ("gptj", "interleaved"),
        ("", "half_split"),
    ],
)
def test_the_layout_is_told_with_where_it_is_known_from(model_type: str, layout: str) -> None:
    config = {**OLD, "model_type": model_type} if model_type else OLD
    found = one(config, "PV260")
    assert (found.severity, found.values) == ("ok", {"layout": layout})
    assert "Frequencies and curves do not depend on it" in found.message
    assert (f"the class {model_type}" in found.message) == bool(model_type)
    assert ("llama_cpp" in found.runtimes) == (model_type == "llama")


@pytest.mark.parametrize(
    ("model_type", "key", "value", "told"),
    [
        ("llama", "rope_traditional", True, True),
        ("llama", "rope_traditional", False, False),
        ("cohere", "rope_traditional", True, False),
        ("llama", "is_neox_style", False, True),
        ("llama", "is_neox_style", True, False),
        ("llama", "rope_interleave", True, True),
        ("deepseek_v3", "rope_interleave", True, False),
        ("deepseek_v3", "rope_interleave", False, True),
    ],
)
def test_a_key_about_the_layout_is_told_only_where_it_says_otherwise(
    model_type: str, key: str, value: bool, told: bool
) -> None:
    report = configs.check({**OLD, "model_type": model_type, key: value})
    assert bool(report.of("PV261")) == told
    obeyed = told and model_type == "deepseek_v3"
    assert (report.severity == "warn") == obeyed
    assert bool(told and report.of("PV261")[0].patch) == obeyed
    if obeyed:
        assert key not in report.patched("PV261")


@pytest.mark.parametrize(
    ("model_type", "layout"), [("llama", "half_split"), ("cohere", "interleaved"), ("", "both")]
)
@pytest.mark.parametrize("value", [True, False])
def test_only_the_classes_that_ask_rope_interleave_obey_it(
    model_type: str, layout: str, value: bool
) -> None:
    spec: Any = configs.read({**OLD, "model_type": model_type, "rope_interleave": value}).spec()
    if layout == "both":
        layout = "interleaved" if value else "half_split"
    assert spec.layout == layout


@pytest.mark.parametrize("runtime", configs.RUNTIMES)
def test_plain_rope_can_be_written_for_every_runtime(runtime: str) -> None:
    config = {"head_dim": 128, "rope_theta": 1e6, "max_position_embeddings": 32768}
    report = configs.check({**config, "model_type": "qwen2"}, runtime=runtime)
    assert [each.severity for each in report.of("PV351")] == ["ok"]


@pytest.mark.parametrize(
    ("rope", "runtime"),
    [
        ({"rope_type": "dynamic", "factor": 2.0}, "vllm"),
        ({"rope_type": "dynamic", "factor": 2.0}, "llama_cpp"),
        ({**YARN, "truncate": False}, "llama_cpp"),
        ({"rope_type": "proportional", "partial_rotary_factor": 0.25}, "transformers_v4"),
        ({"rope_type": "ntk", "factor": 2.0}, "transformers"),
    ],
)
def test_what_a_runtime_cannot_express_is_a_warning_with_its_reason(
    rope: dict[str, Any], runtime: str
) -> None:
    config = {**OLD, "rope_scaling": rope}
    found = one(config, "PV350", runtime=runtime)
    assert (found.severity, found.fields) == ("warn", ("rope_scaling",))
    with pytest.raises(configs.ExportError) as refused:
        configs.export(configs.read(config), runtime)
    assert str(refused.value) in found.message


def test_nothing_is_said_about_settings_where_no_runtime_was_named() -> None:
    assert none({**OLD, "rope_scaling": YARN}, "PV350", "PV351")
    broken = {**OLD, "rope_scaling": {**YARN, "factor": "4"}}
    report = configs.check(broken, runtime="vllm")
    assert not report.of("PV350")
    assert not report.of("PV351")
