"""Checks of the model's number format."""

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


def only(report: configs.Report, code: str) -> configs.Diagnosis:
    (found,) = report.of(code)
    return found


@pytest.mark.parametrize("name", ["torch_dtype", "dtype"])
@pytest.mark.parametrize("text", ["bfloat16", "torch.bfloat16", "BF16"])
def test_an_ordinary_bfloat16_model_is_right(name: str, text: str) -> None:
    for config in ({**LLAMA, name: text}, {name: text, "text_config": LLAMA}):
        report = configs.check(config)
        assert report.severity == "ok"
        found = only(report, "PV320")
        # 256 to 512 by 1, then 128 numbers in each doubling: 256 + 4·128 + 0 and 4096 itself.
        assert found.values["distinct_positions"] == 769
        assert found.values["max_abs_error_of_tables"] == 0.001953125
        assert "collapse beyond 256" in found.message
        assert "does not grow with the position" in found.message


@pytest.mark.parametrize("text", ["float32", "float64", None, "", 16, ["bfloat16"], "int8", "auto"])
def test_other_formats_say_nothing(text: Any) -> None:
    report = configs.check({**LLAMA, "torch_dtype": text})
    assert [d for d in report.diagnoses if d.code.startswith("PV32")] == []


def test_what_is_right_asks_for_nothing() -> None:
    report = configs.check({**LLAMA, "dtype": "bfloat16"})
    for code, order in (("PV320", "Compute"), ("PV323", "Load with")):
        found = only(report, code)
        assert (found.severity, found.panel) == ("ok", "")
        assert order not in found.message


def test_float16_ends_at_65504() -> None:
    import torch

    config = {**LLAMA, "torch_dtype": "float16", "max_position_embeddings": 131072}
    found = only(configs.check(config), "PV321")
    assert found.severity == "ok"
    first = found.values["first_infinite_position"]
    cast = torch.tensor([first - 1.0, first]).half()
    assert cast.isinf().tolist() == [False, True]
    assert configs.check({**config, "max_position_embeddings": 32768}).of("PV321") == ()
    assert configs.check({**config, "torch_dtype": "bfloat16"}).of("PV321") == ()
    short = {**config, "max_position_embeddings": 32768}
    assert configs.check(short, target_length=100_000).of("PV321")


def test_a_cast_after_loading_reaches_the_frequencies() -> None:
    import torch
    from transformers import LlamaConfig, LlamaModel

    found = only(configs.check({**LLAMA, "dtype": "bfloat16"}), "PV323")
    sizes = {"hidden_size": 256, "num_attention_heads": 2, "num_hidden_layers": 1}
    tiny = LlamaConfig(vocab_size=9, intermediate_size=8, **sizes)
    model = LlamaModel(tiny)
    exact = model.rotary_emb.inv_freq.double()
    cast = model.to(torch.bfloat16).rotary_emb.inv_freq.double()
    off = (cast - exact).abs() * 4095
    assert found.values["pair"] == int(off.argmax())
    assert found.values["largest_angle_error"] == pytest.approx(float(off.max()), rel=1e-4)
    assert configs.check({**LLAMA, "dtype": "bfloat16"}, runtime="vllm").of("PV323") == ()


def test_a_model_that_is_made_in_a_short_format_keeps_its_frequencies() -> None:
    import torch
    from transformers import LlamaConfig, LlamaModel

    sizes = {"hidden_size": 256, "num_attention_heads": 2, "num_hidden_layers": 1}
    tiny = LlamaConfig(vocab_size=9, intermediate_size=8, **sizes)
    model = LlamaModel._from_config(tiny, dtype=torch.bfloat16)
    assert model.layers[0].self_attn.q_proj.weight.dtype == torch.bfloat16
    assert model.rotary_emb.inv_freq.dtype == torch.float32


def test_two_names_of_the_format_that_differ() -> None:
    report = configs.check({**LLAMA, "torch_dtype": "float16", "dtype": "bfloat16"})
    assert only(report, "PV322").severity == "info"
    assert only(report, "PV320").values["dtype"] == "bfloat16"
    same = {**LLAMA, "torch_dtype": "torch.float16", "dtype": "float16"}
    assert configs.check(same).severity == "ok"
    from transformers import LlamaConfig

    assert str(LlamaConfig(torch_dtype="float16", dtype="bfloat16").dtype) == "torch.bfloat16"


@pytest.mark.parametrize("key", ["rope_dtype", "rotary_emb_dtype", "position_dtype"])
@pytest.mark.parametrize(("dtype", "exact"), [("bfloat16", 256), ("float16", 2048)])
def test_a_rotation_in_a_short_format_is_a_warning(key: str, dtype: str, exact: int) -> None:
    report = configs.check({**LLAMA, key: dtype})
    assert report.severity == "warn"
    assert f"collapse beyond {exact}" in only(report, "PV324").message
    assert configs.check(report.patched("PV324")).severity == "ok"


def test_a_model_that_does_not_rotate_has_no_such_question() -> None:
    report = configs.check({"model_type": "gpt2", "n_positions": 1024, "dtype": "bfloat16"})
    assert [d for d in report.diagnoses if d.code.startswith("PV32")] == []
