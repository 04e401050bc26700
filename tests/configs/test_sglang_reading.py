"""What SGLang 0.5.23 makes of the dict: numbers of its own classes, run alone."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest

from posviz import configs, get
from tests.configs.case_files import QWEN_YARN

MSCALES: list[tuple[float, dict[str, float], float]] = [
    # YaRNScalingRotaryEmbedding(...).mscale of layers/rotary_embedding/yarn.py
    (4.0, {}, 1.138629436111989),
    (4.0, {"mscale": 0.707}, 1.138629436111989),
    (4.0, {"mscale_all_dim": 1.0}, 1.138629436111989),
    (4.0, {"mscale": 0.707, "mscale_all_dim": 1.0}, 0.964326914892074),
    (16.0, {"mscale": 1.0, "mscale_all_dim": 1.0}, 1.0),
    (16.0, {"mscale": 1.0, "mscale_all_dim": 0.8}, 1.0453850485445595),
    (4.0, {"mscale": 0.0, "mscale_all_dim": 1.0}, 0.8782488562869419),
    (4.0, {"mscale": 0.707, "mscale_all_dim": 1.0, "attn_factor": 0.5}, 0.482163457446037),
]
LONGROPE = {
    "head_dim": 128,
    "rope_theta": 1e4,
    "max_position_embeddings": 131072,
    "rope_scaling": {
        "rope_type": "longrope",
        "short_factor": [1.0] * 64,
        "long_factor": [4.0] * 64,
        "original_max_position_embeddings": 4096,
    },
}


def scaled(factor: float, **keys: Any) -> dict[str, Any]:
    rope = {"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": 32768}
    return {**QWEN_YARN, "rope_scaling": {**rope, **keys}, "max_position_embeddings": 524288}


@pytest.mark.parametrize(("factor", "keys", "magnitude"), MSCALES)
def test_both_mscales_count_and_one_alone_does_not(
    factor: float, keys: dict[str, float], magnitude: float
) -> None:
    override = json.dumps({"rope_scaling": scaled(factor, **keys)["rope_scaling"]})
    flags = f"--json-model-override-args {shlex.quote(override)}"
    base = {"head_dim": 128, "rope_theta": 1e6, "max_position_embeddings": 524288}
    again: Any = configs.read_export(flags, "sglang", base).spec()
    assert again.magnitude(1) == pytest.approx(magnitude, rel=1e-12)
    if keys and "attn_factor" not in keys and any(keys.values()):
        (found,) = configs.check(scaled(factor, **keys)).of("PV233")
        assert found.values["attention_factor_sglang"] == pytest.approx(magnitude, rel=1e-12)


def test_both_mscales_are_written_and_nothing_stands_for_them() -> None:
    spec = get("yarn")(scaling_factor=16.0, mscale=1.0, mscale_all_dim=0.8)
    written = json.loads(shlex.split(configs.export(spec, "sglang").text)[1])["rope_scaling"]
    assert (written["mscale"], written["mscale_all_dim"]) == (1.0, 0.8)
    assert "attn_factor" not in written


def override_of(config: dict[str, Any], **changes: Any) -> dict[str, Any]:
    model = configs.read(config)
    spec: Any = model.spec()
    text = configs.export(model.with_spec(spec.with_values(**changes)), "sglang").text
    found: dict[str, Any] = json.loads(shlex.split(text)[1])["rope_scaling"]
    return found


def test_an_mscale_of_the_file_is_undone_as_its_class_understands_it() -> None:
    # yarn tests for null; deepseek_yarn calls float(…) on it, so its own defaults stand there.
    plain = override_of(scaled(4.0, mscale=0.707, mscale_all_dim=1.0), mscale=None,
                        mscale_all_dim=None)  # fmt: skip
    assert plain["mscale"] is plain["mscale_all_dim"] is None
    latent = {k: v for k, v in scaled(40.0, mscale=1.0, mscale_all_dim=1.0).items()
              if k != "head_dim"}  # fmt: skip
    latent |= {"model_type": "deepseek_v3", "qk_rope_head_dim": 64, "qk_nope_head_dim": 128}
    undone = override_of(latent, mscale=None, mscale_all_dim=None)
    assert (undone["mscale"], undone["mscale_all_dim"]) == (1.0, 0.0)


def test_sections_of_m_rope_and_mscale_do_not_go_together() -> None:
    # YaRNScalingMRotaryEmbedding has no parameter mscale and stops with TypeError.
    sections = {"mrope_section": [16, 24, 24]}
    spec = scaled(4.0, **sections) | {"model_type": "qwen2_vl"}
    written = override_of(spec, mscale=1.0, mscale_all_dim=1.0)
    assert "mscale" not in written
    assert written["attn_factor"] == pytest.approx(1 / 1.138629436111989, rel=1e-12)
    own = scaled(4.0, mscale=1.0, mscale_all_dim=1.0, **sections) | {"model_type": "qwen2_vl"}
    with pytest.raises(configs.ExportError, match="with M-RoPE sections stops at mscale"):
        configs.export(configs.read(own), "sglang")


def test_longrope_s_list_is_chosen_for_each_forward_pass() -> None:
    notes = " ".join(configs.export(configs.read(LONGROPE), "sglang").notes)
    assert "for each forward pass" in notes
    assert "once, by the context length" not in notes
    (found,) = configs.check(LONGROPE, runtime="sglang").of("PV295")
    assert found.severity == "ok"
    assert "a position is above 4096" in found.runtimes["sglang"]
    assert "SGLang by each forward pass" in found.message
    capacity = get("longrope")(switch="capacity")
    with pytest.raises(configs.ExportError, match="chooses the list by length"):
        configs.export(capacity, "sglang")


@pytest.mark.parametrize(
    ("rope", "limit"),
    [
        ({"rope_type": "linear", "factor": 4.0}, 16384),
        ({"rope_type": "linear", "factor": 4.0, "original_max_position_embeddings": 4096}, 4096),
        ({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 2048}, 4096),
        (None, 4096),
    ],
)  # fmt: skip
def test_the_length_that_it_refuses_beyond(rope: dict[str, Any] | None, limit: int) -> None:
    # get_context_length: factor × window, unless the dict has an original length or is llama3;
    # transformers 5 fills the original length in for llama3, yarn and longrope
    config = {"head_dim": 128, "rope_theta": 1e4, "max_position_embeddings": 4096}
    report = configs.check({**config, "rope_scaling": rope}, runtime="sglang", target_length=65536)
    said = [each.runtimes["sglang"] for each in report.diagnoses if "sglang" in each.runtimes]
    refusals = [text for text in said if "refuses a --context-length" in text]
    assert refusals
    assert all(f"above {limit}" in text for text in refusals)


def test_the_notes_say_how_the_override_is_laid_over() -> None:
    linear = {**QWEN_YARN, "rope_scaling": {"rope_type": "linear", "factor": 4.0}}
    short = {**QWEN_YARN, "max_position_embeddings": 32768}
    for config, raised in ((short, True), (QWEN_YARN, False), (linear, False)):
        note = configs.export(configs.read(config), "sglang").notes[0]
        assert ("so the window is raised" in note) == raised
    nested = {"model_type": "mistral3", "text_config": QWEN_YARN}
    notes = " ".join(configs.export(configs.read(nested), "sglang").notes)
    assert "replaces the dict, whole" in notes
    assert "key by key" not in notes


def test_alpha_is_sglang_s_too() -> None:
    config = {**QWEN_YARN, "rope_scaling": {"rope_type": "dynamic", "factor": 1.0, "alpha": 8.0}}
    told = [each.runtimes.get("sglang", "") for each in
            configs.check({**config, "model_type": "qwen2"}).diagnoses]  # fmt: skip
    assert any("takes alpha before factor" in text for text in told)


@pytest.mark.parametrize(
    ("runtime", "keys", "magnitude"),
    [
        ("sglang", {}, 1.138629436111989),
        ("sglang", {"attn_factor": 0.5}, 0.5 * 1.138629436111989),
        ("sglang", {"mscale": 0.707, "mscale_all_dim": 1.0}, 0.964326914892074),
        ("vllm_old", {"mscale": 0.707, "mscale_all_dim": 1.0}, 1.138629436111989),
        ("vllm_old", {"attn_factor": 0.5}, 0.5 * 1.138629436111989),
    ],
)
def test_what_counts_in_place_of_attention_factor(
    runtime: str, keys: dict[str, float], magnitude: float
) -> None:
    report = configs.check(scaled(4.0, attention_factor=1.0, **keys), runtime=runtime)
    (found,) = report.of("PV232")
    assert f"multiplies cos and sin by {magnitude:.7g}, so" in found.message


def test_a_length_that_the_merged_dict_would_forbid_is_in_the_window() -> None:
    # The dict of the file keeps original_max_position_embeddings, so the factor is not counted.
    model = configs.read(QWEN_YARN)
    linear = get("linear")(
        head_dim=128, base=1e6, scaling_factor=4.0, original_max_position_embeddings=32768
    )
    words = shlex.split(configs.export(model.with_spec(linear), "sglang").text)
    assert json.loads(words[1])["max_position_embeddings"] == int(words[3]) == 131072
    plain = configs.read({**QWEN_YARN, "rope_scaling": None, "max_position_embeddings": 32768})
    words = shlex.split(configs.export(plain.with_spec(linear), "sglang").text)
    assert json.loads(words[1])["max_position_embeddings"] == 32768


def test_magnitudes_of_the_file_s_two_lists_are_undone() -> None:
    rope = {**LONGROPE["rope_scaling"], "short_mscale": 1.1, "long_mscale": 1.2}
    found = override_of({**LONGROPE, "rope_scaling": rope}, short_mscale=None, long_mscale=None)
    assert found["short_mscale"] is found["long_mscale"] is None


@pytest.mark.parametrize("name", ["deepseek_v2", "deepseek_v3"])
@pytest.mark.parametrize("encoding", ["linear", "llama3", "longrope"])
def test_deepseek_s_class_takes_every_scaling_for_yarn(name: str, encoding: str) -> None:
    config = {"model_type": name, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128}
    model = configs.read({**config, "rope_theta": 1e4, "max_position_embeddings": 4096})
    spec: Any = model.spec()
    other = get(encoding)(head_dim=64, layout=spec.layout, **(
        {"short_factor": (1.0,) * 32, "long_factor": (4.0,) * 32} if encoding == "longrope" else {}
    ))  # fmt: skip
    with pytest.raises(configs.ExportError, match="takes every scaling for YaRN"):
        configs.export(model.with_spec(other), "sglang")
