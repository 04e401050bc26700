"""The same numbers from transformers itself."""

from __future__ import annotations

from typing import Any

import pytest

from posviz import solver

MODEL = {"base": 10000.0, "rotary_dim": 128}


def initialised(rope: dict[str, Any], window: int, length: int | None = None) -> tuple[Any, float]:
    """Frequencies and attention factor, as transformers works them out."""
    # Imported here and not while tests are collected: it takes seconds.
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    config = LlamaConfig(
        hidden_size=256,
        num_attention_heads=2,
        max_position_embeddings=window,
        rope_parameters={"rope_theta": 10000.0, **rope},
    )
    inv_freq, factor = ROPE_INIT_FUNCTIONS[rope["rope_type"]](config, "cpu", seq_len=length)
    return inv_freq.double().numpy(), float(factor)


def base_of(inv_freq: Any) -> float:
    """The base of a ladder b^(-2i/d), from its last pair."""
    pairs = len(inv_freq)
    return float(inv_freq[-1] ** (-pairs / (pairs - 1)))


@pytest.mark.parametrize("factor", [1.0, 2.0, 4.0])
@pytest.mark.parametrize("length", [2048, 2380, 4096, 16384])
def test_alpha_of_rope_type_dynamic(factor: float, length: int) -> None:
    rope = {"rope_type": "dynamic", "factor": factor}
    inv_freq, _ = initialised(rope, window=2048, length=length)
    (alpha,) = solver.alpha_at_lengths(
        "alpha_dynamic_transformers", [length], original=2048, factor=factor
    )
    expected = solver.convert("alpha_dynamic_transformers", alpha, **MODEL, to="ntk_base")
    # Frequencies are float32 there.
    assert base_of(inv_freq) == pytest.approx(expected.number("ntk_base"), rel=1e-5)


@pytest.mark.parametrize("factor", [1.0, 4.0, 40.0])
@pytest.mark.parametrize(
    ("mscale", "over_all"), [(1.0, 0.0), (0.707, 0.0), (0.707, 0.707), (1.0, 0.5), (0.0, 1.0)]
)
def test_attention_factor_of_rope_type_yarn(factor: float, mscale: float, over_all: float) -> None:
    rope = {
        "rope_type": "yarn",
        "factor": factor,
        "original_max_position_embeddings": 4096,
        "mscale": mscale,
        "mscale_all_dim": over_all,
    }
    _, m = initialised(rope, window=int(4096 * factor))
    assert solver.attention_factor(factor, mscale, over_all).m == pytest.approx(m, rel=1e-12)


def test_advised_settings_are_taken_as_they_are() -> None:
    advice = solver.advise(original=4096, target=16384, **MODEL)
    _, m = initialised(dict(advice.rule("yarn").sets), window=16384)
    assert m == pytest.approx(advice.rule("yarn").values["attention_factor"], rel=1e-12)
    slowed, _ = initialised(dict(advice.rule("linear").sets), window=16384)
    trained = 10000.0 ** (-126 / 128)
    assert slowed[-1] == pytest.approx(trained / 4, rel=1e-6)
    dynamic, _ = initialised(dict(advice.rule("dynamic_ntk_published").sets), 4096, length=16384)
    assert dynamic[-1] == pytest.approx(trained / 4, rel=1e-6)
    parts, _ = initialised(dict(advice.rule("ntk_by_parts").sets), window=16384)
    assert parts[-1] == pytest.approx(trained / 4, rel=1e-6)
    assert parts[20] == pytest.approx(10000.0 ** (-40 / 128), rel=1e-6)
