"""ChatGLM2 and later: their own keys, as their code and vLLM's class read them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from posviz import configs

# As released with GLM-4-9B-chat, as far as positions go.
GLM4 = {
    "model_type": "chatglm",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "kv_channels": 128,
    "num_layers": 40,
    "seq_length": 131072,
    "original_rope": True,
    "rope_ratio": 500,
}


def changed(**changes: Any) -> dict[str, Any]:
    return {key: value for key, value in {**GLM4, **changes}.items() if value != "absent"}


@pytest.mark.parametrize("ratio", [1, 50, 500, 10000, "absent"])
def test_the_first_half_of_a_head_rotates_with_a_multiple_of_the_base(ratio: Any) -> None:
    model = configs.read(changed(rope_ratio=ratio))
    rotation = model.rotation()
    base = 10000.0 * (1 if ratio == "absent" else ratio)
    # theta_i = base^(-2i/n) over n = kv_channels / 2 = 64 dimensions
    np.testing.assert_allclose(rotation.inv_freq, base ** (-np.arange(0, 64, 2) / 64), rtol=1e-12)
    assert model.spec().head_dim == 128  # type: ignore[attr-defined]
    assert model.spec().layout == "interleaved"  # type: ignore[attr-defined]
    assert model.window == 131072


def test_without_kv_channels_the_heads_share_the_hidden_size() -> None:
    spec: Any = configs.read(changed(kv_channels="absent", num_attention_heads=64)).spec()
    assert (spec.head_dim, spec.rotary_dim) == (64, 32)


def test_original_rope_false_means_halves() -> None:
    spec: Any = configs.read(changed(original_rope=False)).spec()
    assert spec.layout == "half_split"


def test_a_base_beside_it_is_multiplied_too() -> None:
    assert configs.read(changed(rope_theta=20000)).spec().base == 1e7  # type: ignore[attr-defined]


def test_a_released_file_raises_no_alarm() -> None:
    report = configs.check(GLM4)
    assert report.severity in ("ok", "info")
    assert report.of("PV274")[0].severity == "ok"
    assert "10000 × 500 = 5000000" in report.of("PV274")[0].message
    assert "own code of chatglm" in report.of("PV260")[0].message


def test_rope_ratio_in_another_file_is_told_and_not_applied() -> None:
    report = configs.check({"head_dim": 128, "rope_theta": 1e4, "rope_ratio": 500})
    assert report.of("PV274")[0].severity == "warn"
    assert report.values["base"] == 1e4


@pytest.mark.parametrize("ratio", ["much", [1], -2, 0])
def test_a_ratio_that_is_none_is_refused(ratio: Any) -> None:
    report = configs.check(changed(rope_ratio=ratio))
    assert report.severity == "error"


def test_the_first_chatglm_is_not_read_as_one_dimensional() -> None:
    first = {
        "model_type": "chatglm",
        "hidden_size": 4096,
        "num_attention_heads": 32,
        "max_sequence_length": 2048,
        "position_encoding_2d": True,
    }
    with pytest.raises(configs.ConfigError):
        configs.read(first)
