"""Keys of the rotary dict that the attention reads survive when an export replaces the dict."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from posviz import configs, get
from tests.configs import in_transformers

YARN = {
    "rope_type": "yarn",
    "rope_theta": 1000000.0,
    "factor": 16.0,
    "original_max_position_embeddings": 16384,
    "beta_fast": 32.0,
    "beta_slow": 1.0,
    "mscale": 1.0,
    "mscale_all_dim": 1.0,
    "llama_4_scaling_beta": 0.1,
}
SIZES = {"hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16}
MINISTRAL = {
    "model_type": "ministral3",
    **SIZES,
    "num_hidden_layers": 1,
    "intermediate_size": 32,
    "vocab_size": 64,
    "max_position_embeddings": 262144,
    "rope_parameters": YARN,
}
WITH_A_DICT = ("transformers", "vllm", "sglang", "mlx")


def dicts(value: Any) -> list[dict[str, Any]]:
    """Every object of a file that names a rope type."""
    if not isinstance(value, dict):
        return []
    own = [value] if "rope_type" in value or "type" in value else []
    return own + [inner for item in value.values() for inner in dicts(item)]


@pytest.mark.parametrize("method", ["yarn", "rope", "linear"])
@pytest.mark.parametrize("runtime", WITH_A_DICT)
def test_the_temperature_on_queries_survives(runtime: str, method: str) -> None:
    model = configs.read(MINISTRAL)
    if method != "yarn":
        spec: Any = model.spec()
        head = {"head_dim": 16, "base": spec.base, "layout": spec.layout}
        model = model.with_spec(get(method)(**head))
    try:
        written = configs.export(model, runtime)
    except configs.ExportError:
        assert runtime == "mlx"
        return
    assert all(each["llama_4_scaling_beta"] == 0.1 for each in dicts(written.data))
    assert dicts(written.data)


def test_a_class_that_brings_the_temperature_itself_keeps_it() -> None:
    bare = {key: value for key, value in MINISTRAL.items() if key != "rope_parameters"}
    written = configs.export(configs.read(bare), "transformers")
    assert dicts(written.data)[0]["llama_4_scaling_beta"] == 0.1


def test_a_model_without_the_temperature_gets_none() -> None:
    plain = {key: value for key, value in YARN.items() if key != "llama_4_scaling_beta"}
    config = {**MINISTRAL, "model_type": "llama", "rope_parameters": plain}
    written = configs.export(configs.read(config), "transformers")
    assert "llama_4_scaling_beta" not in json.dumps(dict(written.data))


def test_the_exported_file_runs_in_transformers(tmp_path: Path) -> None:
    import torch

    written = configs.export(configs.read(MINISTRAL), "transformers")
    loaded = in_transformers.loaded({**written.data}, tmp_path)
    from transformers import AutoModelForCausalLM

    lost = json.loads(json.dumps(loaded.rope_parameters))
    assert lost["llama_4_scaling_beta"] == 0.1
    with torch.no_grad():
        logits = AutoModelForCausalLM.from_config(loaded)(torch.tensor([[1, 2, 3]])).logits
    assert bool(torch.isfinite(logits).all())
