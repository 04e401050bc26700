"""HunYuan's alpha is no ratio of lengths: the window of the file is the one that is written."""

from __future__ import annotations

import re
from typing import Any

import pytest

from posviz import configs

WINDOW = 262144
HUNYUAN = {
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "head_dim": 128,
    "max_position_embeddings": WINDOW,
    "rope_theta": 10000.0,
}
DICT = {"type": "dynamic", "alpha": 1000.0, "factor": 1.0, "mscale": 1.0, "mscale_all_dim": 1.0}


def config(model_type: str, place: str) -> dict[str, Any]:
    named = {"model_type": model_type} if model_type else {}
    return {**named, **HUNYUAN, place: DICT}


def numbers(text: str) -> list[int]:
    """Whole numbers of six digits and more; the raised base is a fraction."""
    return [int(found) for found in re.findall(r"(?<![\d.])\d{6,}(?![\d.])", text)]


@pytest.mark.parametrize("target", [None, 100000, 300000])
@pytest.mark.parametrize("place", ["rope_scaling", "rope_parameters"])
@pytest.mark.parametrize("model_type", ["hunyuan_v1_dense", "hunyuan_v1_moe", ""])
@pytest.mark.parametrize("runtime", configs.RUNTIMES)
def test_no_length_is_the_window_times_alpha(
    runtime: str, model_type: str, place: str, target: int | None
) -> None:
    model = configs.read(config(model_type, place))
    try:
        written = configs.export(model, runtime, target_length=target)
    except configs.ExportError:
        return
    assert set(numbers(written.text)) <= {WINDOW, target}
    assert "beyond what the method covers" not in " ".join(written.notes)


def test_a_lone_ntk_spec_still_names_its_own_length() -> None:
    from posviz import get

    spec = get("ntk_aware")(
        head_dim=128, base=1e4, scaling_factor=4.0, original_max_position_embeddings=4096
    )
    written = configs.export(spec, "vllm")
    assert "--max-model-len 16384" in written.text


@pytest.mark.parametrize("factor", [8.0, 16.0])
def test_gemma_3_s_window_is_neither_multiplied_nor_called_the_trained_one(factor: float) -> None:
    report = configs.check(
        {
            "model_type": "gemma3_text",
            "head_dim": 256,
            "max_position_embeddings": 131072,
            "rope_theta": 1e6,
            "rope_scaling": {"rope_type": "linear", "factor": factor},
        }
    )
    assert report.values["extended_context"] == 131072
    assert not [name for name in report.values if name.endswith("original_max_position_embeddings")]
