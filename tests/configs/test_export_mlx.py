"""Keys of config.json as mlx-lm reads them, and what its classes leave unread."""

from __future__ import annotations

import json
from typing import Any

import pytest

from posviz import configs, get
from tests.configs.case_files import QWEN_YARN


def text_of(runtime: str, **lengths: int) -> str:
    return configs.export(configs.read(QWEN_YARN), runtime, **lengths).text


def test_mlx_gets_the_older_spelling_with_the_trained_window() -> None:
    assert json.loads(text_of("mlx")) == {
        "rope_theta": 1000000.0,
        "rope_scaling": QWEN_YARN["rope_scaling"],
        "max_position_embeddings": 131072,
    }


def test_mlx_is_kept_from_falling_back_on_the_newer_spelling() -> None:
    parameters = {"rope_type": "linear", "factor": 4.0, "rope_theta": 1e6}
    model = configs.read(
        {"model_type": "qwen3", "head_dim": 128, "rope_parameters": parameters}
        | {"max_position_embeddings": 4096}
    )
    plain = model.with_spec(get("rope")(base=1e6, head_dim=128))
    written = json.loads(configs.export(plain, "mlx").text)
    assert written["rope_scaling"] is written["rope_parameters"] is None


def test_mlx_takes_an_attention_factor_as_a_lone_mscale() -> None:
    # 0.1·k·ln 8 + 1 = 1.25 for k = 0.25/0.20794415416798 = 1.2022458674...; a factor of 1 is k = 0.
    for wanted, mscale in ((1.25, 0.25 / 0.2079441541679836), (1.0, 0.0)):
        spec = get("yarn")(scaling_factor=8.0, attention_factor=wanted)
        written = json.loads(configs.export(spec, "mlx").text)["rope_scaling"]
        assert written["mscale"] == pytest.approx(mscale, rel=1e-12, abs=1e-15)
        again: Any = configs.read_export(configs.export(spec, "mlx")).spec()
        assert again.magnitude(1) == pytest.approx(wanted, rel=1e-14)


def test_mlx_reads_a_lone_mscale_type_before_rope_type_and_rounded_bounds() -> None:
    # m(4, 0.707)/m(4, 0) = 0.1·0.707·1.386294361 + 1 = 1.098011011.
    text = json.dumps(
        {
            "rope_theta": 1e4,
            "rope_scaling": {
                "type": "yarn",
                "rope_type": "linear",
                "factor": 4.0,
                "mscale": 0.707,
                "attention_factor": 3.0,
                "truncate": False,
            },
        }
    )
    spec: Any = configs.read_export(text, "mlx", {"head_dim": 128}).spec()
    assert (spec.id, spec.truncate, spec.original_max_position_embeddings) == ("yarn", True, 4096)
    assert spec.magnitude(1) == pytest.approx(1.098011011, rel=1e-9)


def test_mlx_s_longrope_always_divides_by_the_long_list() -> None:
    spec = get("longrope")(switch="always_long")
    written = configs.export(spec, "mlx")
    again: Any = configs.read_export(written).spec()
    assert again.switch == "always_long"
    # sqrt(1 + ln 32/ln 4096) = sqrt(17/12).
    assert again.magnitude(1) == pytest.approx((17 / 12) ** 0.5, rel=1e-15)
    assert configs.export(spec.with_values(switch="capacity"), "mlx").text == written.text


def test_mlx_s_phi3_reads_the_type_under_its_old_name() -> None:
    preset = next(item for item in configs.presets() if item.id == "phi-3-mini-128k")
    model = configs.read(preset.config)
    always = model.with_spec(model.spec().with_values(switch="always_long"))
    written = json.loads(configs.export(always, "mlx").text)
    assert written["rope_scaling"]["type"] == "longrope"
    assert written["original_max_position_embeddings"] == 4096


def test_exaone_4_hands_its_dict_on() -> None:
    config = {"model_type": "exaone4", "head_dim": 64, "num_attention_heads": 32}
    rope = {"rope_type": "llama3", "factor": 16.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
    rope["original_max_position_embeddings"] = 8192
    config |= {"rope_theta": 1e6, "max_position_embeddings": 65536, "rope_scaling": rope}
    config |= {"layer_types": ["full_attention"] * 30, "num_hidden_layers": 30}
    written = json.loads(configs.export(configs.read(config), "mlx").text)
    assert written["rope_scaling"] == rope


@pytest.mark.parametrize(
    ("model_type", "spec", "reason"),
    [
        ("qwen3_moe", get("yarn")(), "reads the base only, not the rope type yarn"),
        ("gpt_oss", get("dynamic_ntk")(head_dim=64), "leaves dynamic without max_position"),
        ("deepseek_v2", get("linear")(head_dim=64), "reads the rope type yarn only"),
        ("phi3", get("linear")(head_dim=64), "refuses a dict without long_factor"),
        ("ernie4_5", get("linear")(head_dim=64), "reads the base only, not the rope type linear"),
        ("falcon", get("rope")(head_dim=64), "is not known here"),
        ("llama", get("linear")(partial_rotary_factor=0.5), "rotates whole heads"),
    ],
)
def test_mlx_s_classes_do_not_all_read_the_dict(model_type: str, spec: Any, reason: str) -> None:
    heads = {"hidden_size": 4 * spec.head_dim, "num_attention_heads": 4, "head_dim": spec.head_dim}
    model = configs.read({"model_type": model_type, "max_position_embeddings": 4096} | heads)
    layout = model.spec().layout  # type: ignore[attr-defined]
    with pytest.raises(configs.ExportError, match=reason):
        configs.export(model.with_spec(spec.with_values(layout=layout)), "mlx")
