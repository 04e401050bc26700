"""Where a value comes from when it stands in several places, and what is said about it."""

from __future__ import annotations

from typing import Any

import pytest

from posviz import configs

LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "max_position_embeddings": 4096,
    "rope_theta": 10000.0,
}
YARN = {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 512}


def read(**changes: Any) -> configs.Model:
    merged = {**LLAMA, **changes}
    return configs.read({key: value for key, value in merged.items() if value != "absent"})


def codes(model: configs.Model) -> dict[str, str]:
    return {message.code: message.severity for message in model.messages}


def origin(model: configs.Model, name: str) -> str:
    return next(row.origin for row in model.resolved if row.name == name)


def test_rope_scaling_wins_whole_over_rope_parameters() -> None:
    model = read(
        rope_theta="absent",
        rope_scaling={"rope_type": "linear", "factor": 2.0},
        rope_parameters={"rope_type": "linear", "factor": 4.0, "rope_theta": 5e5},
    )
    spec: Any = model.spec()
    assert (spec.scaling_factor, spec.base) == (2.0, 10000.0)
    assert codes(model) == {"PV105": "warn"}
    assert origin(model, "base") == "default of the model class llama"


def test_the_base_inside_the_dict_beats_the_top_level_one() -> None:
    model = read(rope_parameters={"rope_theta": 5e5})
    assert model.spec().base == 5e5  # type: ignore[attr-defined]
    assert origin(model, "base") == "rope_parameters.rope_theta"
    assert codes(model) == {"PV146": "warn"}
    assert "rope_parameters.rope_theta is 500000 and rope_theta is 10000" in model.messages[0].text


@pytest.mark.parametrize(
    ("model_type", "base"),
    [("llama", 1e4), ("mixtral", 1e6), ("cohere", 5e5), ("smollm3", 2e6), ("gpt_oss", 15e4)],
)
def test_a_missing_base_is_the_class_s_own(model_type: str, base: float) -> None:
    model = read(model_type=model_type, rope_theta="absent", head_dim=64)
    assert model.spec().base == base  # type: ignore[attr-defined]
    assert origin(model, "base") == f"default of the model class {model_type}"
    assert "PV145" not in codes(model)


def test_a_missing_base_of_an_unknown_class_is_assumed_aloud() -> None:
    model = read(model_type="absent", rope_theta="absent", rope_scaling={"type": "default"})
    assert codes(model)["PV145"] == "warn"
    assert "there is no model_type; 10000 is assumed" in model.messages[0].text


def test_rope_type_beats_type() -> None:
    model = read(rope_scaling={"rope_type": "linear", "type": "dynamic", "factor": 2.0})
    assert model.spec().id == "linear"
    assert codes(model) == {"PV103": "warn"}


def test_a_partial_factor_is_ignored_for_type_default_and_obeyed_for_others() -> None:
    plain = read(partial_rotary_factor=0.5)
    assert plain.rotation().inv_freq.shape == (64,)
    assert codes(plain) == {"PV140": "warn"}
    scaled = read(partial_rotary_factor=0.5, rope_scaling={"type": "linear", "factor": 2.0})
    assert scaled.rotation().inv_freq.shape == (32,)
    assert codes(scaled) == {}


def test_gpt_neox_reads_its_own_names() -> None:
    model = read(model_type="gpt_neox", rotary_pct=0.25, rotary_emb_base=25000)
    spec: Any = model.spec()
    assert (spec.base, spec.rotary_dim) == (25000.0, 32)
    assert "gpt_neox reads its base under rotary_emb_base only" in model.messages[0].text


def test_gpt_j_counts_its_rotary_dimensions() -> None:
    model = configs.read(
        {"model_type": "gptj", "n_embd": 4096, "n_head": 16, "n_positions": 2048, "rotary_dim": 64}
    )
    rotation = model.rotation()
    assert (rotation.head_dim, rotation.rotary_dim, rotation.layout) == (256, 64, "interleaved")
    assert (model.window, rotation.inv_freq.shape) == (2048, (32,))
    assert origin(model, "partial_rotary_factor") == "rotary_dim / head_dim = 64 / 256"


@pytest.mark.parametrize("dims", range(2, 97, 2))
def test_every_count_of_rotary_dimensions_survives_as_a_share(dims: int) -> None:
    config = {"rotary_dim": dims, "head_dim": 97 if dims < 97 else 98, "rope_theta": 1e4}
    assert configs.read(config).rotation().rotary_dim == dims


def test_the_text_model_of_a_multimodal_configuration_is_read() -> None:
    nested = {"model_type": "llava", "text_config": dict(LLAMA), "vision_config": {"x": 1}}
    model = configs.read(nested)
    assert model.spec() == configs.read(LLAMA).spec()
    assert origin(model, "base") == "text_config.rope_theta"
    assert (model.model_type, model.text_path) == ("llama", "text_config")


def test_a_null_layer_type_does_not_rotate() -> None:
    model = read(
        layer_types=["sliding_attention", "full_attention"],
        rope_parameters={
            "full_attention": None,
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        },
    )
    assert model.spec() == model.spec("sliding_attention")
    with pytest.raises(configs.ConfigError, match="full_attention do not rotate"):
        model.spec("full_attention")
    with pytest.raises(configs.ConfigError, match=r"no layer type 'chunked'.*sliding_attention"):
        model.spec("chunked")


def test_no_rope_layers_marks_the_layers_that_do_rotate() -> None:
    model = read(model_type="smollm3", num_hidden_layers=8, no_rope_layers=[1, 1, 1, 0] * 2)
    assert model.unrotated_layers == (3, 7)
    assert codes(model) == {"PV174": "info"}
    by_default = read(model_type="smollm3", num_hidden_layers=8)
    assert by_default.unrotated_layers == (3, 7)


def test_modernbert_has_two_bases() -> None:
    model = configs.read(
        {
            "model_type": "modernbert",
            "hidden_size": 768,
            "num_attention_heads": 12,
            "num_hidden_layers": 6,
            "global_rope_theta": 160000.0,
            "local_rope_theta": 10000.0,
            "global_attn_every_n_layers": 3,
        }
    )
    bases = [model.spec(name).base for name in model.layer_types]  # type: ignore[attr-defined]
    assert dict(zip(model.layer_types, bases, strict=True)) == {
        "full_attention": 160000.0,
        "sliding_attention": 10000.0,
    }
    assert model.layer("full_attention").indices == (0, 3)


def test_truncate_counts_in_the_outer_dict_only() -> None:
    inner = {**YARN, "rope_theta": 1e4, "truncate": False}
    types = {"layer_types": ["full_attention", "sliding_attention"]}
    plain = {"rope_type": "default", "rope_theta": 1e4}
    rope = {"full_attention": inner, "sliding_attention": plain}
    inside = read(rope_theta="absent", rope_parameters=rope, **types)
    assert inside.spec().truncate is True  # type: ignore[attr-defined]
    assert codes(inside) == {"PV160": "warn"}
    outside = read(rope_theta="absent", rope_parameters={**rope, "truncate": False}, **types)
    assert outside.spec().truncate is False  # type: ignore[attr-defined]


def test_a_top_level_original_window_beats_the_dict() -> None:
    model = read(original_max_position_embeddings=1024, rope_scaling=dict(YARN))
    spec: Any = model.spec()
    assert spec.original_max_position_embeddings == 1024
    assert codes(model)["PV122"] == "warn"
    assert "transformers takes the top-level one" in model.messages[0].text


def test_null_beside_a_zero_beta_means_the_default() -> None:
    model = read(rope_scaling={**YARN, "beta_slow": 0, "beta_fast": None})
    spec: Any = model.spec()
    assert (spec.beta_slow, spec.beta_fast) == (1.0, 32.0)
    assert codes(model) == {"PV115": "info"}


def test_a_null_truncate_switches_rounding_off() -> None:
    model = read(rope_scaling={**YARN, "truncate": None})
    assert model.spec().truncate is False  # type: ignore[attr-defined]
    assert codes(model) == {"PV116": "warn"}


def test_a_null_factor_of_yarn_is_the_ratio_of_the_windows() -> None:
    model = read(rope_scaling={**YARN, "factor": None})
    assert model.spec().scaling_factor == 8.0  # type: ignore[attr-defined]
    assert codes(model) == {"PV117": "warn"}


def test_keys_of_2023_are_reported_as_unused() -> None:
    scaling = {**YARN, "attn_factor": 0.5, "finetuned": True, "extrapolation_factor": 1.0}
    model = read(rope_scaling=scaling)
    assert model.spec() == read(rope_scaling=YARN).spec()
    assert codes(model) == {"PV164": "warn", "PV161": "info"}
    assert "finetuned, extrapolation_factor" in model.messages[1].text


def test_a_lone_mscale_is_ignored_aloud() -> None:
    model = read(rope_scaling={**YARN, "mscale": 0.707})
    assert codes(model) == {"PV162": "warn"}
    assert model.rotation().attention_factor == pytest.approx(1.2079441541679836)


def test_spellings_of_other_models_are_read_with_a_warning() -> None:
    lists = {"short_factor": [1.0] * 64, "long_factor": [2.0] * 64}
    model = read(rope_scaling={"type": "su", "original_max_position_embeddings": 1024, **lists})
    assert model.spec().id == "longrope"
    assert codes(model) == {"PV104": "warn"}
    mrope = read(
        model_type="qwen2_vl", rope_scaling={"type": "mrope", "mrope_section": [16, 24, 24]}
    )
    assert (mrope.spec().id, codes(mrope)) == ("rope", {})


def test_yarn_means_longrope_in_phi3() -> None:
    lists = {"short_factor": [1.0] * 64, "long_factor": [2.0] * 64}
    model = read(
        model_type="phi3", max_position_embeddings=131072, rope_scaling={"type": "yarn", **lists}
    )
    spec: Any = model.spec()
    assert (spec.id, spec.original_max_position_embeddings) == ("longrope", 4096)


def test_hunyuan_s_fixed_alpha_is_a_larger_base() -> None:
    scaling = {"type": "dynamic", "factor": 1.0, "alpha": 1000.0}
    model = read(model_type="hunyuan_v1_dense", rope_scaling=scaling)
    spec: Any = model.spec()
    assert (spec.id, spec.scaling_factor) == ("ntk_aware", 1000.0)
    assert model.rotation(length=1).inv_freq[1] == pytest.approx(
        (1e4 * 1000.0 ** (128 / 126)) ** (-2 / 128), rel=1e-12
    )


def test_telechat_s_yarn_has_its_own_attention_factor() -> None:
    model = read(
        model_type="absent",
        rope_scaling={**YARN, "type": "telechat3-yarn", "rope_type": "telechat3-yarn"},
    )
    assert model.rotation().attention_factor == pytest.approx(0.07 * 2.0794415416798357 + 1)


def test_log_n_attention_and_dynamic_ntk_of_qwen_are_noted() -> None:
    model = read(model_type="absent", use_logn_attn=True, use_dynamic_ntk=True)
    assert codes(model) == {"PV172": "info", "PV173": "info"}


def test_dynamic_takes_its_trained_length_from_max_position_embeddings() -> None:
    scaling = {"type": "dynamic", "factor": 2.0, "original_max_position_embeddings": 1024}
    model = read(rope_scaling=scaling)
    assert model.trained_window == 4096
    assert codes(model) == {"PV123": "warn"}


def test_alibi_and_t5_are_not_shown_as_rotation() -> None:
    for config in (
        {"model_type": "falcon", "alibi": True, "hidden_size": 64, "num_attention_heads": 1},
        {"model_type": "bloom", "n_head": 16},
        {"model_type": "t5", "relative_attention_num_buckets": 32},
    ):
        model = configs.read(config)
        assert (model.layer_types, codes(model)) == ((), {"PV171": "info"})


def test_every_resolved_row_has_an_origin_in_words() -> None:
    for preset in configs.presets():
        for row in configs.read(preset.config).resolved:
            assert row.origin
            assert row.name


def test_truncate_of_a_model_with_two_bases_has_no_effect() -> None:
    scaling = {**YARN, "truncate": False}
    model = read(model_type="gemma3_text", head_dim=256, rope_scaling=scaling)
    assert model.spec().truncate is True  # type: ignore[attr-defined]
    assert codes(model)["PV160"] == "warn"


def test_a_head_that_does_not_divide_evenly_is_rounded_down_aloud() -> None:
    model = read(hidden_size=2060, num_attention_heads=32)
    assert model.rotation().head_dim == 64
    assert codes(model) == {"PV143": "warn"}
    assert "rounded down to 64" in model.messages[0].text
