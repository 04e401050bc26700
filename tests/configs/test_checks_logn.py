"""Checks of factors on the queries that follow the position."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from posviz import configs
from posviz.configs.checks.logn import multiplier
from posviz.encodings.extension.log_n import LogN

QWEN = {
    "model_type": "qwen",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "max_position_embeddings": 8192,
    "rotary_emb_base": 10000,
    "use_logn_attn": True,
}


def only(report: configs.Report, code: str) -> configs.Diagnosis:
    (found,) = report.of(code)
    return found


@pytest.mark.parametrize("length", [2048, 2048.0, None])
def test_the_multiplier_of_a_position(length: Any) -> None:
    keys = {} if length is None else {"seq_length": length}
    report = configs.check({**QWEN, **keys})
    found = only(report, "PV330")
    assert found.values["positions"] == [1024, 2048, 4096, 8192]
    # log2 of the positions over log2 2048: 12/11 and 13/11
    assert found.values["multiplier"] == pytest.approx([1, 1, 12 / 11, 13 / 11], rel=1e-12)
    assert "per position, not per sequence" in found.message
    assert "never below 1" in found.message
    assert report.severity == "info"


def test_a_wanted_length_is_one_of_the_positions() -> None:
    report = configs.check({**QWEN, "seq_length": 2048}, target_length=32768)
    assert only(report, "PV330").values["multiplier"][-1] == pytest.approx(15 / 11, rel=1e-12)


def test_the_multiplier_is_that_of_the_encoding() -> None:
    spec = LogN(original_max_position_embeddings=2048)
    at = np.array([0.0, 100.0, 2047.0, 4095.0, 8191.0])
    scale = spec.query_scale(at, 8192)
    assert scale is not None
    ours = [multiplier(position + 1, 2048) for position in at]
    np.testing.assert_allclose(np.ravel(scale), ours, rtol=1e-12)


@pytest.mark.parametrize("length", [None, 0, 1, -5, "2048", 2.5, [2048], True])
def test_a_missing_length_is_a_warning(length: Any) -> None:
    plain = {"head_dim": 128, "rope_theta": 1e4, "max_position_embeddings": 8192}
    report = configs.check({**plain, "use_logn_attn": True, "seq_length": length})
    assert report.severity == "warn"
    assert "seq_length" in only(report, "PV331").message
    assert report.of("PV330") == ()


def test_a_class_that_does_not_read_the_switch() -> None:
    qwen2 = {
        "model_type": "qwen2",
        "hidden_size": 3584,
        "num_attention_heads": 28,
        "rope_theta": 1e6,
        "seq_length": 2048,
        "use_logn_attn": True,
    }
    assert only(configs.check(qwen2), "PV332").severity == "warn"
    assert configs.check(qwen2, runtime="sglang").of("PV332") == ()
    assert configs.check(QWEN).of("PV332") == ()
    assert configs.check({**qwen2, "use_logn_attn": False}).severity == "ok"
    from transformers.models.qwen2 import configuration_qwen2, modeling_qwen2

    for module in (configuration_qwen2, modeling_qwen2):
        assert module.__file__ is not None
        with open(module.__file__, encoding="utf-8") as file:
            assert "logn" not in file.read()


def test_the_temperature_of_ministral() -> None:
    import torch
    from transformers.models.ministral3.modeling_ministral3 import get_llama_4_attn_scale

    rope = {
        "rope_type": "yarn",
        "rope_theta": 1e6,
        "factor": 16.0,
        "original_max_position_embeddings": 16384,
        "llama_4_scaling_beta": 0.1,
    }
    config = {
        "model_type": "ministral3",
        "head_dim": 128,
        "max_position_embeddings": 262144,
        "rope_parameters": rope,
    }
    found = only(configs.check(config), "PV333")
    at = torch.tensor([found.values["positions"]])
    theirs = get_llama_4_attn_scale(at, 0.1, 16384).flatten().double().numpy()
    np.testing.assert_allclose(found.values["multiplier"], theirs, rtol=1e-6)
    for odd in ("0.1", None, True, {}):
        broken = {**config, "rope_parameters": {**rope, "llama_4_scaling_beta": odd}}
        assert configs.check(broken).of("PV333") == ()
