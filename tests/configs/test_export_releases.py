"""From which release of transformers 4 on the written keys are read as meant, and by which class.

Facts from the functions of 4.43.4, 4.49.0, 4.50.3, 4.51.3, 4.53.3, 4.55.4, 4.56.2 and 4.57.1
(modeling_rope_utils.py), each run alone on the dicts that are written here.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from posviz import configs, get
from tests.configs.case_files import QWEN_YARN

PRESETS = {each.id: each.config for each in configs.presets()}
QWEN = {"model_type": "qwen3", "head_dim": 128, "rope_theta": 1e6, "max_position_embeddings": 32768}
LLAMA = {"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32, "rope_theta": 1e4}
LISTS = {"short_factor": [1.0] * 64, "long_factor": [4.0] * 64}


def note(spec: Any, **lengths: int) -> str:
    return configs.export(spec, "transformers_v4", **lengths).notes[0]


@pytest.mark.parametrize(
    ("spec", "releases"),
    [
        (get("rope")(), "4.43 to 4.57;"),
        (get("abf")(), "4.43 to 4.57;"),
        (get("linear")(), "4.49 to 4.57 (the llama class: 4.43);"),
        (get("dynamic_ntk")(), "4.49 to 4.57 (the llama class: 4.43);"),
        (get("llama3")(), "4.49 to 4.57 (the llama class: 4.43);"),
        (get("yarn")(), "4.56 and 4.57;"),
        (get("longrope")(), "4.51 to 4.57;"),
    ],
    ids=lambda value: getattr(value, "id", None),
)
def test_every_rope_type_names_the_releases_that_read_it_as_meant(spec: Any, releases: str) -> None:
    assert note(spec).startswith(f"Version assumed: transformers {releases}")


def test_the_class_decides_since_when_a_type_is_known() -> None:
    linear = {"rope_scaling": {"rope_type": "linear", "factor": 2.0}}
    window = {"max_position_embeddings": 8192}
    assert "transformers 4.43 to 4.57;" in note(configs.read({**LLAMA, **window, **linear}))
    assert "transformers 4.49 to 4.57;" in note(configs.read({**QWEN, **linear}))


@pytest.mark.parametrize(
    ("target", "said"),
    [
        (None, "131072 / 32768 = 4, the same number"),
        (65536, "131072 / 32768 = 4, the same number"),
        (200000, "200000 / 32768 = 6.10352 in place of 4"),
    ],
)
def test_yarn_says_which_factor_older_releases_take(target: int | None, said: str) -> None:
    found = note(configs.read(QWEN_YARN), **({} if target is None else {"target_length": target}))
    assert f"4.51 to 4.55 take max_position_embeddings / original for the factor, {said}" in found
    assert "before 4.51 no original length is read" in found
    assert "truncate" not in found
    unrounded = configs.read(
        {**QWEN_YARN, "rope_scaling": {**QWEN_YARN["rope_scaling"], "truncate": False}}
    )
    assert "4.53 and older do not read truncate" in note(unrounded)


@pytest.mark.parametrize("values", [{}, {"scaling_factor": 4.0}, {"attention_factor": 1.3}])
def test_longrope_s_original_length_stands_where_version_4_reads_it(values: dict[str, Any]) -> None:
    # Every 4.x function reads config.original_max_position_embeddings and derives √(1 + ln s/ln L)
    # from s = max_position_embeddings / L unless attention_factor stands in the dict.
    spec = get("longrope")(**values)
    written = json.loads(configs.export(spec, "transformers_v4").text)
    assert written["original_max_position_embeddings"] == spec.original_max_position_embeddings
    given = written["rope_scaling"].get("attention_factor")
    assert given == (pytest.approx(spec.magnitude(1), rel=1e-14) if values else None)


def test_phi3_s_class_takes_a_dict_of_just_three_entries() -> None:
    phi3 = PRESETS["phi-3-mini-128k"]
    written = json.loads(configs.export(configs.read(phi3), "transformers_v4").text)
    assert set(written["rope_scaling"]) == {"type", "short_factor", "long_factor"}
    assert written["rope_scaling"]["type"] == "longrope"
    assert written["original_max_position_embeddings"] == 4096
    assert "4.43 to 4.57;" in note(configs.read(phi3))
    for spec in (
        get("yarn")(head_dim=96),
        configs.read(phi3).spec().with_values(attention_factor=1.3),  # type: ignore[attr-defined]
    ):
        with pytest.raises(configs.ExportError, match="type, short_factor and long_factor"):
            configs.export(configs.read(phi3).with_spec(spec), "transformers_v4")


@pytest.mark.parametrize("name", ["olmo", "olmo2"])
def test_olmo_s_classes_take_a_dict_of_just_two_entries(name: str) -> None:
    base = {**LLAMA, "model_type": name, "max_position_embeddings": 4096}
    linear = configs.read({**base, "rope_scaling": {"rope_type": "linear", "factor": 2}})
    written = json.loads(configs.export(linear, "transformers_v4").text)["rope_scaling"]
    assert written == {"type": "linear", "factor": 2.0}
    yarn = linear.with_spec(get("yarn")(head_dim=128))
    with pytest.raises(configs.ExportError, match="type and factor") as refused:
        configs.export(yarn, "transformers_v4")
    assert refused.value.kind == "different"


def yarn(window: int, **keys: Any) -> dict[str, Any]:
    rope = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
    return {**QWEN, "max_position_embeddings": window, "rope_scaling": {**rope, **keys}}


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize(
    ("config", "severity", "said"),
    [
        (yarn(131072), "info", "131072 / 32768 = 4, the same number"),
        (yarn(40960), "warn", "40960 / 32768 = 1.25 in place of 4"),
        (yarn(131072, truncate=False), "info", "4.53 and older do not read truncate"),
        (yarn(131072, mscale=1.0, mscale_all_dim=1.0), "info", "no mscale is read"),
        ({**QWEN, "rope_scaling": {"rope_type": "longrope", "factor": 2.0, **LISTS,
          "original_max_position_embeddings": 4096}}, "warn", "beside the dict"),
        ({**LLAMA, "model_type": "olmo2", "rope_scaling": {"rope_type": "linear", "factor": 2.0,
          "x": 1}, "max_position_embeddings": 4096}, "warn", "refuses the dict"),
    ],
)  # fmt: skip
def test_the_check_says_it_of_a_configuration(
    config: dict[str, Any], severity: str, said: str, nested: bool
) -> None:
    given = {"model_type": "llava", "text_config": config} if nested else config
    report = configs.check(given, runtime="transformers_v4")
    (found,) = report.of("PV352")
    assert found.severity == severity
    assert said in found.message
    assert not configs.check(given).of("PV352")
    if found.patch:
        again = configs.check(report.patched("PV352"), runtime="transformers_v4")
        assert not again.of("PV352")


def test_what_every_release_reads_as_meant_is_not_mentioned() -> None:
    for name in ("llama-3.1-8b", "phi-3-mini-128k", "gemma-3-4b"):
        assert not configs.check(PRESETS[name], runtime="transformers_v4").of("PV352"), name


def test_a_gguf_tool_that_adds_no_keys_is_not_said_to_set_them() -> None:
    tuned = configs.read(QWEN).with_spec(get("yarn")(head_dim=128, base=1e6))
    with pytest.raises(configs.ExportError) as refused:
        configs.export(tuned, "ollama")
    assert "changes only keys that the file has already" in str(refused.value)


@pytest.mark.parametrize(
    ("config", "runtime"),
    [
        (
            {
                "model_type": "olmo3",
                "hidden_size": 4096,
                "num_attention_heads": 32,
                "num_hidden_layers": 4,
                "max_position_embeddings": 65536,
                "rope_theta": 5e5,
                "layer_types": ["sliding_attention"] * 3 + ["full_attention"],
                "rope_scaling": {
                    "rope_type": "yarn",
                    "factor": 8.0,
                    "original_max_position_embeddings": 8192,
                },
            },
            "transformers_v4",
        ),
        (
            {
                "model_type": "hunyuan_v1_dense",
                "head_dim": 128,
                "rope_theta": 1e4,
                "max_position_embeddings": 32768,
                "rope_scaling": {"type": "dynamic", "alpha": 1000.0, "factor": 1.0},
            },
            "ollama",
        ),
        (
            {
                "model_type": "gemma4_text",
                "head_dim": 256,
                "global_head_dim": 512,
                "num_hidden_layers": 6,
                "max_position_embeddings": 131072,
                "layer_types": ["sliding_attention"] * 5 + ["full_attention"],
                "rope_parameters": {
                    "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
                    "full_attention": {
                        "rope_type": "proportional",
                        "rope_theta": 1e6,
                        "partial_rotary_factor": 0.25,
                    },
                },
            },
            "ollama",
        ),
    ],
    ids=["olmo3", "hunyuan", "gemma4"],
)
def test_nobody_is_said_to_rotate_otherwise_who_does_not(
    config: dict[str, Any], runtime: str
) -> None:
    # olmo3: 4.57.1 rotates the sliding layers by default and the full ones by the flat dict;
    # HunYuan's alpha is in the file's base, Gemma 4's proportional in its rope_freqs.
    report = configs.check(config, runtime=runtime)
    assert not [each for each in report.diagnoses if "does not rotate as" in each.message]
