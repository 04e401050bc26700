"""What a file leaves open is what the configuration class of transformers 5.24 takes."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Mapping
from typing import Any

import pytest

from posviz import configs
from posviz.configs.model_classes import _table, model_class

FILES: dict[str, dict[str, Any]] = {
    "empty": {},
    "base": {"rope_theta": 123456.0},
    "linear": {"rope_parameters": {"rope_type": "linear", "factor": 2.0}},
    "old linear": {"rope_scaling": {"type": "linear", "factor": 2.0}},
    "base and linear": {
        "rope_theta": 123456.0,
        "rope_scaling": {"rope_type": "linear", "factor": 2.0},
    },
    "default": {"rope_parameters": {"rope_type": "default"}},
}
NOT_ROTATING = {
    "blt",  # four models in one, none at the top
    "granitemoehybrid",  # only where position_embedding_type is rope
}
ODD_HEADS = {"glm4_moe", "glm4v_moe_text", "qwen3_omni_moe_text"}
"""Their default sizes do not go with each other; every file gives head_dim."""
ONE_FOR_ALL = {"dots3_note_text"}
"""A flat dict stands for all of its layer types, with the same numbers; read as one."""


def theirs(name: str, given: Mapping[str, Any]) -> dict[str, Any] | None:
    """rope_parameters and sizes by layer type; None where the class refuses the file."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    from huggingface_hub.errors import StrictDataclassError
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            loaded = CONFIG_MAPPING[name].from_dict(json.loads(json.dumps(given)))
        except (StrictDataclassError, KeyError, TypeError):  # its validators
            return None
    found = loaded.__dict__.get("rope_parameters") or {}
    nested = {key: value for key, value in found.items() if isinstance(value, dict)}
    return {"dicts": nested or {"full_attention": found}, "head_dim": _head_dim(loaded)}


def _head_dim(loaded: Any) -> int | None:
    if hasattr(type(loaded), "attribute_map") and "head_dim" in type(loaded).attribute_map:
        return loaded.__dict__.get(type(loaded).attribute_map["head_dim"])
    return loaded.__dict__.get("head_dim")


@pytest.mark.parametrize("kind", FILES)
def test_bases_shares_and_heads_are_those_of_the_class(kind: str) -> None:
    wrong, compared = [], 0
    for name in _table()["known"]:
        expected = theirs(name, FILES[kind])
        if expected is None or name in NOT_ROTATING | ODD_HEADS:
            continue
        model = configs.read({"model_type": name, **FILES[kind]})
        for label, wanted in expected["dicts"].items():
            layer = label if name not in ONE_FOR_ALL or label in model.layer_types else None
            compared += 1
            spec: Any = model.spec(layer)
            wrong += [(name, label, *found) for found in _differences(spec, wanted, name)]
        head: Any = expected["head_dim"]
        spec = model.spec()
        if head is not None and model_class(name).global_head_dim is None and spec.head_dim != head:
            wrong.append((name, "", "head_dim", spec.head_dim, head))
    assert not wrong
    assert compared > 150


def _differences(spec: Any, wanted: Mapping[str, Any], name: str) -> list[tuple[Any, ...]]:
    found = []
    base, share = wanted.get("rope_theta"), wanted.get("partial_rotary_factor")
    if base is not None and spec.base != base:
        found.append(("base", spec.base, base))
    if share is not None and abs(spec.partial_rotary_factor - share) > 1e-9:
        found.append(("partial_rotary_factor", spec.partial_rotary_factor, share))
    return found


@pytest.mark.parametrize(
    ("text", "head_dim"),
    [
        # llava-1.5-7b-hf and llava-v1.6-mistral-7b-hf, as released, as far as positions go.
        ({"model_type": "llama", "max_position_embeddings": 4096}, 128),
        ({"model_type": "mistral", "max_position_embeddings": 32768, "rope_theta": 1e6}, 128),
        ({"model_type": "llama", "hidden_size": 2048}, 64),
        ({"model_type": "llama", "num_attention_heads": 64}, 64),
        ({"model_type": "zamba2"}, 160),
    ],
)
def test_a_text_model_that_leans_on_its_class(text: dict[str, Any], head_dim: int) -> None:
    report = configs.check({"model_type": "llava", "text_config": text})
    assert report.severity in ("ok", "info")
    assert report.values["head_dim"] == head_dim
    row = next(row for row in report.model.resolved if row.name == "head_dim")
    assert "default of the model class" in row.origin


@pytest.mark.parametrize("rope_type", ["default", "linear", "yarn", "llama3", "dynamic"])
def test_a_count_of_rotary_dimensions_is_read_by_three_classes(rope_type: str) -> None:
    rope: dict[str, Any] = {"rope_type": rope_type}
    if rope_type != "default":
        rope |= {"factor": 2.0}
    if rope_type in ("yarn", "llama3"):
        rope |= {"original_max_position_embeddings": 2048}
    if rope_type == "llama3":
        rope |= {"low_freq_factor": 1.0, "high_freq_factor": 4.0}
    sizes = {"head_dim": 128, "max_position_embeddings": 4096, "rope_theta": 1e4, "rotary_dim": 64}
    for name in _table()["known"]:
        facts = model_class(name)
        if facts.qk_rope_head_dim is not None or facts.rope_parameters or name in NOT_ROTATING:
            continue
        model = configs.read({"model_type": name, **sizes, "rope_scaling": rope})
        layer = model.layer()
        if layer.spec is None:
            continue
        spec: Any = layer.spec
        share = facts.partial_rotary_factor or 1.0
        obeys_default = facts.rotates_partially or rope_type != "default"
        own = 128 * (share if obeys_default else 1.0)
        read = name in ("gptj", "codegen", "minimax_m2")
        assert spec.rotary_dim == (64 if read else int(own)), name


@pytest.mark.parametrize("rope_type", ["default", "linear"])
def test_a_count_that_the_class_passes_over_is_a_warning(rope_type: str) -> None:
    rope = {"rope_type": rope_type} | ({} if rope_type == "default" else {"factor": 2.0})
    config = {
        "model_type": "llama",
        "head_dim": 128,
        "rope_theta": 1e4,
        "max_position_embeddings": 4096,
        "rotary_dim": 64,
        "rope_scaling": rope,
    }
    report = configs.check(config)
    [found] = report.of("PV255")
    assert found.severity == "warn"
    assert "rotary_dim is 64, but llama does not read it: all 128 dimensions" in found.message
    assert report.values["rotary_dim"] == 128
    assert not report.of("PV140")
    from transformers import LlamaConfig
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    given = {key: value for key, value in config.items() if key != "model_type"}
    assert len(LlamaRotaryEmbedding(LlamaConfig(**given)).inv_freq) == 64


def test_a_count_goes_where_the_class_reads_a_share() -> None:
    report = configs.check(
        {"model_type": "glm4_moe", "head_dim": 128, "rotary_dim": 32, "rope_theta": 1e4}
    )
    after = report.patched("PV255")
    assert "rotary_dim" not in after
    assert configs.check(after).values["rotary_dim"] == 32
    assert "glm4_moe does not read it, only partial_rotary_factor: 64 of 128" in (
        report.of("PV255")[0].message
    )


def test_gpt_j_reads_no_share() -> None:
    spec: Any = configs.read({"model_type": "gptj", "partial_rotary_factor": 0.5}).spec()
    assert (spec.head_dim, spec.rotary_dim) == (256, 64)


@pytest.mark.parametrize("key", ["rope_type", "type"])
def test_a_flat_dict_of_deepseek_v4_scales_the_compressed_layers_only(key: str) -> None:
    config = {
        "rope_theta": 10000,
        "compress_rope_theta": 200000,
        "rope_scaling": {key: "yarn", "factor": 16, "original_max_position_embeddings": 65536},
        "qk_rope_head_dim": 64,
        "head_dim": 512,
        "max_position_embeddings": 1048576,
    }
    expected = theirs("deepseek_v4", config)
    assert expected is not None
    model = configs.read({"model_type": "deepseek_v4", **config})
    plain: Any = model.spec("main")
    scaled: Any = model.spec("compress")
    dicts = expected["dicts"]
    assert (plain.id, plain.base) == ("rope", dicts["main"]["rope_theta"])
    assert (scaled.id, scaled.base) == ("yarn", dicts["compress"]["rope_theta"])
    assert scaled.magnitude(1) == dicts["compress"]["attention_factor"] == 1
    assert plain.rotary_dim == scaled.rotary_dim == 64
