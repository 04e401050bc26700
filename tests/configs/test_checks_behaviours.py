"""What the reader's diagnoses say about transformers, asked of transformers itself."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from posviz import configs

transformers = pytest.importorskip("transformers")
transformers.logging.set_verbosity_error()

MODEL = {
    "model_type": "llama",
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "max_position_embeddings": 131072,
    "rope_theta": 1e6,
}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
Answer = tuple[Any, float]


def rotation(config: dict[str, Any]) -> Answer:
    """Inverse frequencies and factor of transformers' own Llama."""
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    # transformers writes into the dict that it is given.
    given = {key: copy.deepcopy(value) for key, value in config.items() if key != "model_type"}
    module = LlamaRotaryEmbedding(transformers.LlamaConfig(**given))
    return module.inv_freq.double().numpy(), float(module.attention_scaling)


def ours(config: dict[str, Any]) -> Answer:
    found = configs.read(config).rotation()
    return found.inv_freq, float(found.attention_factor)


def alike(one: Answer, other: Answer) -> bool:
    same = len(one[0]) == len(other[0]) and np.allclose(one[0], other[0], rtol=1e-5, atol=0)
    return bool(same) and one[1] == pytest.approx(other[1], rel=1e-6)


def told(config: dict[str, Any], code: str) -> str:
    """What the diagnosis says about transformers."""
    [found] = configs.check(config).of(code)
    return found.runtimes["transformers"]


@pytest.mark.parametrize(
    ("rope", "code", "error"),
    [
        ({"rope_type": "video_rope"}, "PV101", KeyError),
        ({**YARN, "rope_type": "YaRN"}, "PV101", KeyError),
        ({"rope_type": None}, "PV102", KeyError),
        ({"rope_type": None, "type": "linear", "factor": 2.0}, "PV102", KeyError),
        ({"rope_type": "linear"}, "PV110", KeyError),
        ({"rope_type": "yarn"}, "PV110", KeyError),
        ({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1}, "PV110", KeyError),
        ({"rope_type": "linear", "factor": None}, "PV111", TypeError),
        ({"rope_type": "linear", "factor": "4.0"}, "PV112", TypeError),
    ],
)
def test_it_stops_with_the_error_that_is_named(
    rope: dict[str, Any], code: str, error: type[Exception]
) -> None:
    config = {**MODEL, "rope_scaling": rope}
    assert any(
        error.__name__ in each.runtimes["transformers"] for each in configs.check(config).of(code)
    )
    with pytest.raises(error):
        rotation(config)


@pytest.mark.parametrize("written", [False, [], None])
def test_nothing_in_place_of_the_dict_is_no_scaling(written: Any) -> None:
    config = {**MODEL, "rope_scaling": written}
    assert alike(rotation(config), ours(MODEL))
    if written is not None:
        assert "as no scaling" in told(config, "PV107")


def test_text_in_place_of_the_dict_is_refused() -> None:
    assert "refuses text" in told({**MODEL, "rope_scaling": "yarn"}, "PV107")
    with pytest.raises(Exception, match="rope_parameters"):
        rotation({**MODEL, "rope_scaling": "yarn"})


@pytest.mark.parametrize(
    ("rope", "code", "severity"),
    [
        ({**YARN, "type": "linear"}, "PV103", "warn"),
        ({**YARN, "beta_slow": 0}, "PV115", "info"),
        ({**YARN, "beta_fast": None}, "PV115", "info"),
        ({**YARN, "truncate": None}, "PV116", "warn"),
        ({**YARN, "factor": None}, "PV117", "warn"),
        ({"rope_type": "yarn", "factor": 4.0}, "PV120", "warn"),
        ({**YARN, "factor": 2.0}, "PV121", "warn"),
        ({**YARN, "rope_theta": 5e5}, "PV146", "warn"),
        ({**YARN, "note": "by hand"}, "PV161", "info"),
        ({**YARN, "mscale": 0.707}, "PV233", "warn"),
        ({**YARN, "attn_factor": 0.5}, "PV164", "warn"),
        ({"factor": 4.0}, "PV275", "warn"),
        ({**YARN, "rope_scaling": {"factor": 8.0}}, "PV271", "warn"),
        ({**YARN, "original_max_position_embedding": 8192}, "PV270", "warn"),
        ({**YARN, "yarn_beta_fast": 64}, "PV272", "warn"),
    ],
)
def test_it_rotates_as_our_reader_says_and_as_is_told(
    rope: dict[str, Any], code: str, severity: str
) -> None:
    config = {**MODEL, "rope_scaling": rope}
    assert {each.severity for each in configs.check(config).of(code)} == {severity}
    assert alike(rotation(config), ours(config))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"partial_rotary_factor": 0.5}, "PV140"),
        ({"original_max_position_embeddings": 8192, "rope_scaling": YARN}, "PV122"),
        ({"rotary_pct": 0.25}, "PV255"),
        ({"rotary_emb_base": 5e5, "rope_theta": "absent"}, "PV271"),
        (
            {
                "rope_theta": "absent",
                "rope_scaling": YARN,
                "rope_parameters": {"rope_type": "default", "rope_theta": 5e5},
            },
            "PV105",
        ),
    ],
)
def test_it_reads_keys_in_two_places_as_is_told(changes: dict[str, Any], code: str) -> None:
    config = {key: value for key, value in {**MODEL, **changes}.items() if value != "absent"}
    assert configs.check(config).of(code)
    assert alike(rotation(config), ours(config))


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"rope_scaling": {**YARN, "type": "linear"}}, "PV103"),
        ({"rope_scaling": {**YARN, "beta_slow": 0}}, "PV115"),
        ({"rope_scaling": {**YARN, "truncate": None}}, "PV116"),
        ({"rope_scaling": {**YARN, "factor": None}}, "PV117"),
        ({"rope_scaling": {**YARN, "rope_theta": 5e5}}, "PV146"),
        ({"rope_scaling": {**YARN, "note": "by hand"}}, "PV161"),
        ({"rope_scaling": {**YARN, "mscale": 0.707}}, "PV233"),
        ({"original_max_position_embeddings": 8192, "rope_scaling": YARN}, "PV122"),
        ({"max_position_embeddings": 40960, "rope_scaling": YARN}, "PV121"),
    ],
)
def test_a_change_that_only_says_it_plainly_leaves_the_rotation(
    changes: dict[str, Any], code: str
) -> None:
    config = {**MODEL, **changes}
    changed = configs.check(config).patched(code)
    assert changed != config
    assert alike(rotation(config), rotation(changed))
