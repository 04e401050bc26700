"""Models without rotation: usable positions, slopes and buckets, beside the real classes."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from posviz import configs
from posviz.configs.position_biases import last_bucket_start
from posviz.configs.position_tables import position_rows
from posviz.configs.section import Section
from posviz.encodings.buckets import t5_bucket

SIZE = 21
TINY = {
    "vocab_size": 40,
    "hidden_size": 8,
    "num_attention_heads": 2,
    "num_hidden_layers": 1,
    "intermediate_size": 8,
}
ENCODER_DECODER = {
    "vocab_size": 40,
    "d_model": 8,
    "encoder_layers": 1,
    "decoder_layers": 1,
    "encoder_attention_heads": 2,
    "decoder_attention_heads": 2,
    "encoder_ffn_dim": 8,
    "decoder_ffn_dim": 8,
}
GPT2 = {"vocab_size": 40, "n_embd": 8, "n_layer": 1, "n_head": 2, "n_positions": SIZE}
TABLES: dict[str, dict[str, Any]] = {
    **{
        name: {**TINY, "max_position_embeddings": SIZE, "pad_token_id": padding}
        for name, padding in (
            ("roberta", 1),
            ("roberta-prelayernorm", 3),
            ("xlm-roberta", 0),
            ("camembert", 2),
            ("data2vec-text", 1),
            ("markuplm", 0),
            ("mpnet", 7),
            ("ibert", 5),
            ("esm", 4),
            ("bert", 3),
            ("electra", 3),
            ("ernie", 3),
            ("megatron-bert", 3),
        )
    },
    "opt": {**TINY, "word_embed_proj_dim": 8, "ffn_dim": 8, "max_position_embeddings": SIZE},
    "biogpt": {**TINY, "max_position_embeddings": SIZE},
    "gpt2": GPT2,
    "openai-gpt": GPT2,
    "gpt_bigcode": GPT2,
    "gpt_neo": {
        "vocab_size": 40,
        "hidden_size": 8,
        "num_layers": 1,
        "num_heads": 2,
        "attention_types": [[["global"], 1]],
        "max_position_embeddings": SIZE,
    },
    "xlm": {
        "vocab_size": 40,
        "emb_dim": 8,
        "n_heads": 2,
        "n_layers": 1,
        "max_position_embeddings": SIZE,
        "sinusoidal_embeddings": True,
    },
    "distilbert": {
        "vocab_size": 40,
        "dim": 8,
        "n_heads": 2,
        "n_layers": 1,
        "hidden_dim": 8,
        "max_position_embeddings": SIZE,
    },
    "bart": {**ENCODER_DECODER, "max_position_embeddings": SIZE},
    "mbart": {**ENCODER_DECODER, "max_position_embeddings": SIZE},
    "marian": {**ENCODER_DECODER, "max_position_embeddings": SIZE, "pad_token_id": 1},
    "pegasus": {**ENCODER_DECODER, "max_position_embeddings": SIZE},
}


def model_of(model_type: str, config: dict[str, Any]) -> Any:
    os.environ["HF_HUB_OFFLINE"] = "1"
    import torch
    from transformers import AutoConfig, AutoModel

    torch.manual_seed(0)
    return AutoModel.from_config(AutoConfig.for_model(model_type, **config)).eval()


def runs(model: Any, length: int) -> bool:
    """Whether one call with so many tokens, none of them padding, gets through."""
    import torch

    tokens = torch.full((1, length), 20)
    call = {"decoder_input_ids": tokens[:, :1]} if model.config.is_encoder_decoder else {}
    try:
        with torch.no_grad():
            model(input_ids=tokens, **call)
    except (IndexError, RuntimeError):
        return False
    return True


@pytest.mark.parametrize("model_type", TABLES)
def test_the_usable_positions_are_those_that_the_class_gets_through(model_type: str) -> None:
    config = TABLES[model_type]
    values = configs.check({"model_type": model_type, **config}).values
    usable = values["usable_positions"]
    model = model_of(model_type, config)
    assert runs(model, usable)
    assert not runs(model, usable + 1)


@pytest.mark.parametrize("model_type", ["m2m_100", "xglm"])
def test_a_growing_table_has_no_last_position(model_type: str) -> None:
    config: dict[str, Any] = {**ENCODER_DECODER, "max_position_embeddings": SIZE}
    if model_type == "xglm":
        config |= {"attention_heads": 2, "num_layers": 1, "ffn_dim": 8}
    assert "usable_positions" not in configs.check({"model_type": model_type, **config}).values
    assert runs(model_of(model_type, config), 4 * SIZE)


def test_the_first_position_id_is_the_one_that_the_class_takes() -> None:
    import torch

    config = TABLES["roberta"] | {"pad_token_id": 3}
    model = model_of("roberta", config)
    seen: list[Any] = []
    table = model.embeddings.position_embeddings
    table.register_forward_pre_hook(lambda module, args: seen.append(args[0]))
    with torch.no_grad():
        model(input_ids=torch.full((1, 5), 20))
    values = configs.check({"model_type": "roberta", **config}).values
    assert values["first_position_id"] == int(seen[0].min()) == 4


@pytest.mark.parametrize(
    ("model_type", "config", "rows", "first", "usable"),
    [
        # Sizes of the released models: roberta-base, xlm-roberta-base, ESM-1b, OPT, BART, GPT-2.
        ("roberta", {"max_position_embeddings": 514, "pad_token_id": 1}, 514, 2, 512),
        ("roberta", {"max_position_embeddings": 514, "pad_token_id": 3}, 514, 4, 510),
        ("roberta", {"max_position_embeddings": 514.0}, 514, 2, 512),
        ("xlm-roberta", {"max_position_embeddings": 514, "pad_token_id": 1}, 514, 2, 512),
        ("esm", {"max_position_embeddings": 1026, "pad_token_id": 1}, 1026, 2, 1024),
        ("opt", {"max_position_embeddings": 2048}, 2050, 2, 2048),
        ("bart", {"max_position_embeddings": 1024}, 1026, 2, 1024),
        ("gpt2", {"n_positions": 1024}, 1024, 0, 1024),
        ("bert", {"max_position_embeddings": 512, "pad_token_id": 0}, 512, 0, 512),
        ("whisper", {"max_target_positions": 448, "max_source_positions": 1500}, 448, 0, 448),
    ],
)
def test_rows_first_id_and_usable_positions(
    model_type: str, config: dict[str, Any], rows: int, first: int, usable: int
) -> None:
    for outer in (
        {"model_type": model_type, **config},
        {"text_config": {"model_type": model_type, **config}},
    ):
        model = configs.read(outer)
        assert model.layers == ()
        found = {row.name: row.value for row in model.resolved}
        assert found["table_size"] == rows
        assert found["first_position_id"] == first
        assert found["usable_positions"] == usable == model.window
        with pytest.raises(configs.ConfigError, match="does not rotate queries and keys"):
            model.spec()


@pytest.mark.parametrize(
    "config",
    [
        {"model_type": "gpt2", "n_positions": 1024, "rope_theta": 10000.0},
        {"model_type": "bert", "rope_scaling": {"type": "linear", "factor": 2.0}},
        {"model_type": "bloom", "n_head": 8, "rope_theta": 10000.0},
        {"model_type": "t5", "rope_scaling": {"type": "dynamic", "factor": 2.0}},
        {"model_type": "xlnet", "rope_theta": 10000.0},
        {"model_type": "granitemoehybrid", "rope_theta": 10000.0},
        {"model_type": "granitemoehybrid", "rope_theta": 1e4, "position_embedding_type": "nope"},
        {"model_type": "bert", "position_embedding_type": "alibi", "rope_theta": 10000.0},
    ],
)
def test_a_left_over_base_does_not_make_a_rotation(config: dict[str, Any]) -> None:
    assert configs.read(config).layers == ()


@pytest.mark.parametrize("kind", ["rope", "rotary"])
def test_a_switch_to_rotary_positions_makes_one(kind: str) -> None:
    sizes = {"hidden_size": 64, "num_attention_heads": 4, "max_position_embeddings": 128}
    for model_type in ("granitemoehybrid", "esm"):
        model = configs.read(
            {"model_type": model_type, "position_embedding_type": kind, "rope_theta": 1e4, **sizes}
        )
        assert model.rotation().rotary_dim == 16


@pytest.mark.parametrize("model_type", ["jamba", "kimi_linear", "nemotron_h"])
def test_attention_that_never_rotates_has_no_positions_whatever_is_left_over(
    model_type: str,
) -> None:
    for left in ({}, {"rope_theta": 1e4}, {"rope_scaling": None, "partial_rotary_factor": 0.5}):
        model = configs.read({"model_type": model_type, "hidden_size": 64, **left})
        assert model.layers == ()
        assert [message.code for message in model.messages] == ["PV175"]
        assert f"the class {model_type} has none" in model.messages[0].text


def test_a_model_without_positions_says_so() -> None:
    model = configs.read({"model_type": "granitemoehybrid", "position_embedding_type": "nope"})
    assert [message.code for message in model.messages] == ["PV175"]
    with pytest.raises(configs.ConfigError, match="No layer has positions"):
        model.spec()


def test_mpnet_has_a_table_and_a_bias() -> None:
    config = {
        "model_type": "mpnet",
        "max_position_embeddings": 514,
        "relative_attention_num_buckets": 32,
    }
    report = configs.check(config)
    assert {d.code for d in report.diagnoses} >= {"PV170", "PV171"}
    assert (report.values["usable_positions"], report.values["num_buckets"]) == (512, 32)


def test_baichuan_rotates_at_7b_and_has_alibi_at_13b() -> None:
    small = {"model_type": "baichuan", "hidden_size": 4096, "num_attention_heads": 32}
    large = {"model_type": "baichuan", "hidden_size": 5120, "num_attention_heads": 40}
    model = configs.read(small)
    assert model.rotation().head_dim == 128
    assert model.severity == "ok"
    report = configs.check(large)
    assert report.model.layers == ()
    assert report.values["slopes"][0] == pytest.approx(0.8408964153, rel=1e-9)
    assert report.values["slopes"][32] == pytest.approx(0.9170040432, rel=1e-9)


@pytest.mark.parametrize("buckets", [8, 32, 33, 320])
@pytest.mark.parametrize("distance", [128, 129, 800, 20000])
@pytest.mark.parametrize("two_way", [True, False])
def test_the_last_bucket_starts_where_a_search_finds_it(
    buckets: int, distance: int, two_way: bool
) -> None:
    start = last_bucket_start(buckets, distance, two_way=two_way)
    exact = (buckets // 2 if two_way else buckets) // 2
    if distance <= exact:
        assert start is None
        return
    at = -np.arange(2.0 * distance)
    found = np.asarray(
        t5_bucket(at, bidirectional=two_way, num_buckets=buckets, max_distance=distance)
    )
    assert start == int(np.argmax(found == found.max()))


def test_a_table_has_no_rows_where_distances_are_all() -> None:
    data = {"position_biased_input": False, "max_position_embeddings": 512}
    assert position_rows(Section(data), "deberta-v2") is None
    assert position_rows(Section({}), "deberta-v2") is not None
