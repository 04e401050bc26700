"""Checks of ALiBi and of T5's buckets."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from posviz import configs

SLOPES = {
    # worked out by hand from the rule: 2^(-8h/p), then every second slope of 2p heads
    6: [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125],
    8: [2.0**-h for h in range(1, 9)],
    12: [2.0**-h for h in range(1, 9)] + [2.0 ** -(h / 2) for h in (1, 3, 5, 7)],
}
T5 = {"model_type": "t5", "relative_attention_num_buckets": 32}


def only(report: configs.Report, code: str) -> configs.Diagnosis:
    (found,) = report.of(code)
    return found


@pytest.mark.parametrize("heads", SLOPES)
@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "bloom", "n_head": None},
        {"model_type": "mpt", "n_heads": None, "attn_config": {"alibi": True}},
        {"model_type": "falcon", "alibi": True, "num_attention_heads": None},
        {"model_type": "jais", "position_embedding_type": "alibi", "n_head": None},
        {"alibi": True, "num_attention_heads": None},
        {"text_config": {"model_type": "bloom", "n_head": None}},
    ],
)
def test_slopes_in_every_spelling(heads: int, config: dict[str, Any]) -> None:
    inner = config.get("text_config", config)
    filled = {key: heads if value is None else value for key, value in inner.items()}
    report = configs.check({"text_config": filled} if "text_config" in config else filled)
    assert report.severity == "info"
    assert report.values["slopes"] == pytest.approx(SLOPES[heads], rel=1e-12)
    message = only(report, "PV310").message
    assert ("is no power of two" in message) == (heads in (6, 12))


@pytest.mark.parametrize("heads", [4, 6, 12, 16])
def test_slopes_are_those_of_the_real_classes(heads: int) -> None:
    import torch
    from transformers.models.bloom.modeling_bloom import build_alibi_tensor
    from transformers.models.mpt.modeling_mpt import build_mpt_alibi_tensor

    ours = configs.check({"model_type": "bloom", "n_head": heads}).values["slopes"]
    bloom = build_alibi_tensor(torch.ones(1, 2), heads, torch.float32)[:, 0, 1]
    mpt = build_mpt_alibi_tensor(heads, 2)[:, 0, 0] * -1
    np.testing.assert_allclose(ours, bloom.double().numpy(), rtol=1e-6)
    np.testing.assert_allclose(ours, mpt.double().numpy(), rtol=1e-6)


def test_the_largest_exponent_of_mpt_is_not_read_by_transformers() -> None:
    config = {"model_type": "mpt", "n_heads": 8, "attn_config": {"alibi_bias_max": 16}}
    report = configs.check(config)
    assert report.severity == "warn"
    assert report.values["slopes"][-1] == 2.0**-16
    assert "with 8 whatever stands there" in only(report, "PV311").message
    assert only(configs.check(config, runtime="llama_cpp"), "PV311").severity == "info"
    usual = {**config, "attn_config": {"alibi_bias_max": 8}}
    assert configs.check(usual).of("PV311") == ()
    from transformers import MptConfig, MptModel

    tiny = MptConfig(d_model=16, n_heads=8, n_layers=1, vocab_size=9, max_seq_len=4)
    tiny.attn_config.alibi_bias_max = 16
    seen: list[Any] = []
    model = MptModel(tiny)
    build = model.build_mpt_alibi_tensor
    model.build_mpt_alibi_tensor = lambda *args, **names: (
        seen.append(  # type: ignore[method-assign]
            build(*args, **names)
        )
        or seen[-1]
    )
    import torch

    model(input_ids=torch.ones(1, 2, dtype=torch.long))
    assert float(-seen[0][-1, 0, -2]) == 2.0**-8


def test_an_mpt_model_without_alibi_gets_it_from_transformers_all_the_same() -> None:
    config = {"model_type": "mpt", "n_heads": 8, "attn_config": {"alibi": False}}
    assert "does not read the switch" in only(configs.check(config), "PV312").message
    assert configs.check(config, runtime="vllm").of("PV312") == ()


@pytest.mark.parametrize("model_type", ["falcon", "RefinedWeb"])
def test_falcon_divides_its_bias(model_type: str) -> None:
    sizes = {"hidden_size": 2048, "num_attention_heads": 32}
    report = configs.check({"model_type": model_type, "alibi": True, **sizes})
    found = only(report, "PV313")
    assert found.values["divisor"] == 8
    effective = found.values["effective_slopes"]
    np.testing.assert_allclose(effective, np.array(report.values["slopes"]) / 8, rtol=1e-12)
    import torch
    from transformers.models.falcon.modeling_falcon import build_alibi_tensor

    mask = torch.ones(1, 300, dtype=torch.long)
    bias = build_alibi_tensor(mask, 64, torch.float32)[7, 0]
    assert bias[257] == bias[256]  # slope 1/2, in bfloat16


def test_an_encoder_counts_both_ways() -> None:
    config = {"model_type": "bert", "position_embedding_type": "alibi", "num_attention_heads": 12}
    report = configs.check(config)
    assert "symmetric" in only(report, "PV314").message
    assert "usable_positions" not in report.values
    mosaic = {"model_type": "bert", "alibi_starting_size": 512, "num_attention_heads": 12}
    assert configs.check(mosaic).of("PV314")
    assert configs.check({"model_type": "bloom", "n_head": 8}).of("PV314") == ()


@pytest.mark.parametrize("heads", [None, 0, -4, "8", 2.5, True, [8], 1e300])
def test_no_usable_number_of_heads_gives_no_slopes(heads: Any) -> None:
    report = configs.check({"model_type": "bloom", "n_head": heads})
    assert "slopes" not in report.values
    assert only(report, "PV315").severity == "info"


def test_beyond_the_trained_length_every_position_exists() -> None:
    mpt = {"model_type": "mpt", "n_heads": 32, "max_seq_len": 2048}
    found = configs.check(mpt, target_length=8192)
    assert found.patched("PV316")["max_seq_len"] == 8192
    assert configs.check(mpt, target_length=2048).of("PV316") == ()
    bloom = {"model_type": "bloom", "n_head": 32, "seq_length": 2048}
    assert only(configs.check(bloom, target_length=8192), "PV316").patch == ()


@pytest.mark.parametrize(
    ("buckets", "distance", "two_way", "causal"),
    [(32, 128, 91, 113), (32, None, 91, 113), (None, 128, 91, 113), (32.0, 128.0, 91, 113)],
)
def test_the_last_bucket_starts_before_the_largest_distance(
    buckets: Any, distance: Any, two_way: int, causal: int
) -> None:
    keys = {
        "relative_attention_num_buckets": buckets,
        "relative_attention_max_distance": distance,
    }
    config = {"model_type": "t5"} | {key: value for key, value in keys.items() if value is not None}
    for name in ("t5", "mt5", "umt5", "longt5", "switch_transformers"):
        report = configs.check({**config, "model_type": name})
        assert report.severity == "info"
        assert report.values["last_bucket_from_two_way"] == two_way
        assert report.values["last_bucket_from_causal"] == causal
        found = only(report, "PV317")
        assert f"at {two_way} in the encoder" in found.message
        assert f"at {causal} in the decoder" in found.message


def test_edges_of_t5_by_its_formula() -> None:
    # 8·16^(7/8) = 90.5 and 16·8^(15/16) = 112.4
    assert math.ceil(8 * 16 ** (7 / 8)) == 91
    assert math.ceil(16 * 8 ** (15 / 16)) == 113


@pytest.mark.parametrize("distance", [64, 256, 20000])
def test_llama_cpp_takes_its_own_largest_distance(distance: int) -> None:
    config = {**T5, "relative_attention_max_distance": distance}
    assert configs.check(config).severity == "info"
    asked = configs.check(config, runtime="llama_cpp")
    assert asked.severity == "warn"
    assert "always takes 128" in only(asked, "PV318").message
    assert configs.check(config, runtime="transformers").of("PV318") == ()
    usual = {**T5, "relative_attention_max_distance": 128}
    assert configs.check(usual, runtime="llama_cpp").severity == "info"


@pytest.mark.parametrize(
    "keys",
    [
        {"relative_attention_num_buckets": 2},
        {"relative_attention_num_buckets": "32"},
        {"relative_attention_num_buckets": None},
        {"relative_attention_max_distance": 16},
        {"relative_attention_max_distance": 0},
        {"relative_attention_max_distance": 1e300},
    ],
)
def test_numbers_that_give_no_buckets_are_an_error_with_a_repair(keys: dict[str, Any]) -> None:
    report = configs.check({**T5, **keys})
    assert report.severity == "error"
    repaired = configs.check(report.patched("PV319"))
    assert repaired.severity == "info"
    assert repaired.values["last_bucket_from_two_way"] == 91


def test_wavlm_and_mpnet_have_buckets_of_their_own() -> None:
    wavlm = configs.check({"model_type": "wavlm", "num_buckets": 320, "max_bucket_distance": 800})
    assert (wavlm.values["num_buckets"], wavlm.values["max_distance"]) == (320, 800)
    assert "in the decoder" not in only(wavlm, "PV317").message
    mpnet = configs.check({"model_type": "mpnet", "relative_attention_max_distance": 999})
    assert mpnet.values["max_distance"] == 128
