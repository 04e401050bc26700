"""Settings for every model class that is known, whatever it reads: text, or one sentence."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from posviz import configs
from posviz.configs.errors import ConfigError, ExportError
from posviz.configs.model_classes import _table, model_class

CLASSES = sorted(_table()["known"])
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 2048}
GPTJ: dict[str, Any] = {
    "model_type": "gptj",
    "n_embd": 4096,
    "n_head": 16,
    "rotary_dim": 64,
    "n_positions": 2048,
}


def of_class(name: str, **more: Any) -> dict[str, Any]:
    sizes = {"hidden_size": 4096, "num_attention_heads": 16, "head_dim": 256, "n_embd": 4096}
    window = {"max_position_embeddings": 8192, "n_positions": 8192, "n_head": 16}
    return {"model_type": name, **sizes, **window, "rope_theta": 10000.0, **more}


SHARES = ({"partial_rotary_factor": 0.5}, {"rotary_dim": 64}, {"rotary_pct": 0.25})


@pytest.mark.parametrize("more", [{}, {"rope_scaling": YARN}], ids=["plain", "yarn"])
def test_every_class_with_a_part_of_a_head_rotating(more: dict[str, Any]) -> None:
    written = set()
    for place, name in enumerate(CLASSES):
        share = SHARES[place % 3] if model_class(name).partial_keys else SHARES[1]
        model = configs.read(of_class(name, **share, **more))
        for runtime in configs.RUNTIMES:
            with contextlib.suppress(ConfigError, ExportError):
                assert configs.export(model, runtime, target_length=8192).text
                written.add(runtime)
    assert written >= set(configs.RUNTIMES) - {"ollama"}


@pytest.mark.parametrize("runtime", ["transformers_v4", "mlx"])
@pytest.mark.parametrize("name", [each for each in CLASSES if not model_class(each).partial_keys])
def test_a_class_that_reads_a_count_gets_the_count(name: str, runtime: str) -> None:
    config = {**GPTJ, "model_type": name, "rope_theta": 10000.0}
    for dims in (64, 32):
        model = configs.read(config)
        tuned = model.with_spec(model.spec().with_values(partial_rotary_factor=dims / 256))
        if runtime == "mlx":
            with pytest.raises(ExportError, match=f"what its class for {name} reads is not known"):
                configs.export(tuned, runtime)
            continue
        settings = configs.export(tuned, runtime)
        assert settings.data["rotary_dim"] == dims
        assert "partial_rotary_factor" not in settings.text


def test_what_was_asked_of_it_is_examined_too() -> None:
    report = configs.check(GPTJ, runtime="transformers_v4", target_length=1 << 20)
    assert report.severity in configs.checks.SEVERITIES
