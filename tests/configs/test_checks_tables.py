"""Checks of learned tables and of other positions that are no rotation."""

from __future__ import annotations

from typing import Any

import pytest

from posviz import configs

ROBERTA = {"model_type": "roberta", "max_position_embeddings": 514}


def only(report: configs.Report, code: str) -> configs.Diagnosis:
    (found,) = report.of(code)
    return found


@pytest.mark.parametrize(
    ("config", "last"),
    [
        ({"model_type": "gpt2", "n_positions": 8192}, 8191),
        ({"position_embedding_type": "learned_absolute", "max_position_embeddings": 8192}, 8191),
        ({"model_type": "bert", "max_position_embeddings": 512}, 511),
        ({**ROBERTA, "pad_token_id": 1}, 511),
        ({**ROBERTA, "pad_token_id": 3}, 509),
        ({"model_type": "opt", "max_position_embeddings": 2048}, 2047),
        ({"model_type": "bart", "max_position_embeddings": 1024}, 1023),
        ({"model_type": "marian", "max_position_embeddings": 512}, 511),
        ({"text_config": {"model_type": "gpt2", "n_positions": 1024}}, 1023),
    ],
)
def test_a_length_beyond_the_table_is_refused_and_one_within_it_is_not(
    config: dict[str, Any], last: int
) -> None:
    for wanted in (last + 2, 1_000_000):
        report = configs.check(config, target_length=wanted)
        assert report.severity == "error"
        found = only(report, "PV300")
        assert f"Position {last + 1} does not exist" in found.message
        assert "does not create positions" in found.message
        assert found.values["last_valid_position"] == last
        assert found.patch == ()
    assert configs.check(config, target_length=last + 1).of("PV300") == ()
    assert configs.check(config).severity == "info"


def test_a_growing_sinusoidal_table_is_noted_and_not_refused() -> None:
    config = {"model_type": "m2m_100", "max_position_embeddings": 1024}
    report = configs.check(config, target_length=4096)
    assert (report.severity, report.of("PV300")) == ("info", ())
    assert "has not been trained with them" in only(report, "PV304").message


def test_an_unusual_padding_index_moves_the_first_position() -> None:
    report = configs.check({**ROBERTA, "pad_token_id": 3})
    assert report.severity == "info"
    found = only(report, "PV301")
    assert dict(found.values) == {
        "first_position_id": 4,
        "usable_positions": 510,
        "usable_with_usual_padding": 512,
    }
    assert "offset by the padding index" in found.message
    for padding in ({"pad_token_id": 1}, {"pad_token_id": 1.0}, {}):
        assert configs.check({**ROBERTA, **padding}).of("PV301") == ()


@pytest.mark.parametrize("padding", [None, "1", 1.5, True, -1, 513, 10**15, [1]])
def test_a_padding_index_that_cannot_be_used_is_an_error_with_the_usual_one(padding: Any) -> None:
    report = configs.check({**ROBERTA, "pad_token_id": padding})
    assert report.severity == "error"
    assert "usual padding index is 1" in only(report, "PV302").message
    repaired = configs.check(report.patched("PV302"))
    assert repaired.values["usable_positions"] == 512
    assert repaired.severity == "info"


def test_a_null_padding_index_fails_in_the_library_too() -> None:
    import torch
    from transformers import RobertaConfig, RobertaModel

    config = RobertaConfig(
        vocab_size=40,
        hidden_size=8,
        num_attention_heads=2,
        num_hidden_layers=1,
        intermediate_size=8,
        pad_token_id=None,
    )
    with pytest.raises(TypeError):
        RobertaModel(config)(input_ids=torch.full((1, 3), 20))


@pytest.mark.parametrize(
    "rope",
    [
        {"rope_scaling": {"type": "linear", "factor": 4.0}},
        {"rope_scaling": {"rope_type": "yarn", "factor": 4, "rope_theta": 1e4}},
        {"rope_parameters": {"rope_type": "dynamic", "factor": 2.0}},
        {"rope_scaling": {"type": "mystery"}},
    ],
)
@pytest.mark.parametrize("model_type", ["gpt2", "roberta", "bloom", "t5", "xlnet"])
def test_a_scaling_that_nothing_reads_is_taken_out(model_type: str, rope: dict[str, Any]) -> None:
    report = configs.check({"model_type": model_type, **rope})
    assert report.severity == "warn"
    assert "does not rotate" in only(report, "PV303").message
    assert set(report.patched("PV303")) == {"model_type"}


def test_a_default_or_null_scaling_in_such_a_model_is_ordinary() -> None:
    for rope in (None, {}, {"rope_type": "default", "rope_theta": 1e4}, {"rope_theta": 1e4}):
        report = configs.check({"model_type": "gpt2", "n_positions": 64, "rope_scaling": rope})
        assert (report.severity, report.of("PV303")) == ("info", ())


@pytest.mark.parametrize("kind", ["relative_key", "relative_key_query"])
def test_relative_keys_are_not_read_by_transformers_5(kind: str) -> None:
    config = {
        "model_type": "bert",
        "position_embedding_type": kind,
        "max_position_embeddings": 512,
        "hidden_size": 8,
        "num_attention_heads": 2,
    }
    assert only(configs.check(config), "PV305").severity == "warn"
    assert configs.check(config, runtime="transformers_v4").severity == "info"
    assert configs.check(config, runtime="vllm").of("PV305") == ()
    from transformers import BertConfig, BertModel

    sizes = {"num_hidden_layers": 1, "intermediate_size": 8, "vocab_size": 9, "hidden_size": 8}
    tiny = BertConfig(position_embedding_type=kind, num_attention_heads=2, **sizes)
    names = [name for name, _ in BertModel(tiny).named_parameters()]
    assert not any("distance" in name for name in names)
    assert "embeddings.position_embeddings.weight" in names


@pytest.mark.parametrize(
    ("keys", "span"),
    [
        ({"position_buckets": 256, "max_relative_positions": -1}, 256),
        ({"max_relative_positions": 128}, 128),
        ({"max_relative_positions": -1}, 512),
        ({}, 512),
    ],
)
def test_deberta_without_a_table_has_a_last_distance_and_no_last_position(
    keys: dict[str, Any], span: int
) -> None:
    config = {
        "model_type": "deberta-v2",
        "relative_attention": True,
        "position_biased_input": False,
        "max_position_embeddings": 512,
        **keys,
    }
    report = configs.check(config, target_length=4096)
    assert report.severity == "info"
    assert only(report, "PV306").values["last_distance"] == span


def test_deberta_with_a_table_keeps_its_last_position() -> None:
    config = {
        "model_type": "deberta",
        "relative_attention": True,
        "max_position_embeddings": 512,
    }
    assert configs.check(config, target_length=513).severity == "error"


def test_sizes_that_surprise() -> None:
    short = only(configs.check({**ROBERTA, "max_position_embeddings": 512}), "PV308")
    assert "only 510 are usable" in short.message
    assert "514 rows" in short.message
    assert configs.check({**ROBERTA}).of("PV308") == ()
    twice = only(configs.check({"model_type": "opt", "max_position_embeddings": 2050}), "PV309")
    assert twice.values["table_size"] == 2052
    assert configs.check({"model_type": "opt", "max_position_embeddings": 2048}).of("PV309") == ()
    missing = only(configs.check({"model_type": "gpt2"}), "PV307")
    assert missing.values["table_size"] == 1024


@pytest.mark.parametrize("size", ["512", None, 0, -1, 5.5, [512], {}, 1e300, True])
def test_sizes_of_any_kind_give_a_report(size: Any) -> None:
    for name in ("roberta", "gpt2", "opt", "marian", "whisper"):
        report = configs.check(
            {"model_type": name, "max_position_embeddings": size}, target_length=10**6
        )
        assert report.as_dict()["diagnoses"]
