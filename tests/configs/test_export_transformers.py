"""Exported configurations, loaded into the real transformers, rotate as PosViz says they do.

The library works in float32. An inverse frequency there is good to 1e-6 relative for the bases of
released models; a larger base adds the rounding of its exponent, 6e-8·ln b.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st

from posviz import configs, get
from posviz.encodings.base import Encoding
from tests.configs.in_transformers import complaints, loaded, rotary, softmax_factor
from tests.spec_strategies import specs

SPELLINGS = ("transformers", "transformers_v4")
TOLERANCE = 1e-6


@pytest.fixture(scope="module", autouse=True)
def _library() -> None:
    """Import the library once, here and not while tests are collected: it takes seconds."""
    import transformers

    assert transformers.__version__ == "5.24.0"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def assert_rotates_alike(
    model: configs.Model, data: Any, folder: Path, *, weight: float = 0.0, rtol: float = TOLERANCE
) -> None:
    """Frequencies and factors of every layer type, at lengths around the trained window.

    A blend's weight is a share of the unscaled frequency; ``weight`` is how far float32 may be off
    in it.
    """
    config = loaded(data, folder)
    names = [layer.name for layer in model.layers if layer.rotates]
    for name in names:
        spec: Any = model.spec(name)
        trained = getattr(spec, "original_max_position_embeddings", 4096)
        for length in (1, trained, trained + 1, 3 * trained):
            theirs = rotary(config, length, name if len(model.layers) > 1 else None)
            ours = spec.encode([0.0], length=length)
            slack = rtol * ours.inv_freq + weight * ours.inv_freq.max()
            assert theirs.inv_freq.shape == ours.inv_freq.shape
            assert (np.abs(theirs.inv_freq - ours.inv_freq) <= slack).all(), (name, length)
            assert theirs.attention_scaling == pytest.approx(ours.attention_factor, rel=1e-12)


@pytest.mark.parametrize("preset", configs.presets(), ids=lambda preset: preset.id)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_released_model_survives_its_export(
    preset: configs.Preset, spelling: str, folder: Path
) -> None:
    model = configs.read(preset.config)
    assert_rotates_alike(model, configs.export(model, spelling).data, folder)


def llama(head_dim: int = 128, **more: Any) -> dict[str, Any]:
    """A model around a head of this size."""
    return {
        "model_type": "llama",
        "head_dim": head_dim,
        "hidden_size": 4 * head_dim,
        "num_attention_heads": 4,
        "num_hidden_layers": 2,
        "max_position_embeddings": 4096,
    } | more


LISTS = {"short_factor": (1.0, 1.5) * 16, "long_factor": tuple(1 + i / 4 for i in range(32))}
EVERY_TYPE = [
    ("rope", {}),
    ("rope", {"base": 5e5}),
    ("abf", {"new_base": 1e6}),
    ("ntk_aware", {"scaling_factor": 4.0}),
    ("linear", {"scaling_factor": 8.0}),
    ("linear", {"scaling_factor": 2.5, "partial_rotary_factor": 0.5}),
    ("dynamic_ntk", {"scaling_factor": 2.0, "rule": "transformers"}),
    ("dynamic_ntk", {"rule": "published"}),
    ("dynamic_ntk", {"scaling_factor": 4.0, "partial_rotary_factor": 0.25}),
    ("yarn", {"scaling_factor": 4.0, "base": 1e6, "original_max_position_embeddings": 32768}),
    ("yarn", {"scaling_factor": 8.0, "truncate": False}),
    ("yarn", {"attention_factor": 1.0}),
    ("yarn", {"attention_factor": 1.25, "scaling_factor": 8.0}),
    ("yarn", {"mscale": 1.0, "mscale_all_dim": 0.8}),
    ("yarn", {"mscale": 0.707}),
    ("yarn", {"beta_fast": 64.0, "beta_slow": 2.0}),
    ("yarn", {"partial_rotary_factor": 0.5}),
    ("yarn", {"head_dim": 16, "original_max_position_embeddings": 256, "scaling_factor": 4.0}),
    ("longrope", {"head_dim": 64, **LISTS}),
    ("longrope", {"head_dim": 64, "attention_factor": 1.1, **LISTS}),
    ("longrope", {"head_dim": 64, "scaling_factor": 8.0, **LISTS}),
    ("llama3", {}),
    ("llama3", {"scaling_factor": 32.0, "base": 5e5, "low_freq_factor": 2.0}),
    ("ntk_by_parts", {"scaling_factor": 16.0}),
    ("p_rope", {"partial_rotary_factor": 0.25}),
    ("p_rope", {"partial_rotary_factor": 0.5, "scaling_factor": 2.0, "base": 1e6}),
]


@pytest.mark.parametrize(
    ("encoding", "values"), EVERY_TYPE, ids=lambda value: value if isinstance(value, str) else ""
)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_every_rope_type_and_key(
    encoding: str, values: dict[str, Any], spelling: str, folder: Path
) -> None:
    spec = get(encoding)(**values)
    model = configs.read(llama(spec.head_dim)).with_spec(spec)  # type: ignore[attr-defined]
    if encoding == "p_rope" and spelling == "transformers_v4":
        with pytest.raises(configs.ExportError, match="came with version 5"):
            configs.export(model, spelling)
        return
    assert_rotates_alike(model, configs.export(model, spelling).data, folder)


GEMMA_TYPES = ["sliding_attention"] * 5 + ["full_attention"]
OWN_CLASSES = {
    "qwen2 with yarn": {
        **llama(128, model_type="qwen2", rope_theta=1e6, max_position_embeddings=131072),
        "rope_scaling": {
            "type": "yarn",
            "factor": 4.0,
            "original_max_position_embeddings": 32768,
        },
    },
    "qwen3 with linear": {
        **llama(128, model_type="qwen3"),
        "rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 1e6},
    },
    "mistral": llama(128, model_type="mistral", rope_theta=1e6),
    "smollm3 with its own base": llama(128, model_type="smollm3", pad_token_id=0),
    "smollm3 with yarn": {
        **llama(128, model_type="smollm3", rope_theta=5e6, pad_token_id=0),
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 2.0,
            "original_max_position_embeddings": 65536,
        },
    },
    "gpt-neox with linear": {
        **llama(64, model_type="gpt_neox", rotary_pct=0.25, rotary_emb_base=20000),
        "rope_scaling": {"type": "linear", "factor": 4.0},
    },
    "glm, half of an interleaved head": llama(
        128, model_type="glm", partial_rotary_factor=0.5, pad_token_id=0
    ),
    "phi-4-mini": {
        **llama(64, model_type="phi3", partial_rotary_factor=0.75, pad_token_id=0),
        "max_position_embeddings": 131072,
        "original_max_position_embeddings": 4096,
        "rope_scaling": {
            "type": "longrope",
            "short_factor": [1.0] * 24,
            "long_factor": [1 + i / 8 for i in range(24)],
        },
    },
    "deepseek v3": {
        **llama(64, model_type="deepseek_v3", qk_rope_head_dim=64, qk_nope_head_dim=128),
        "max_position_embeddings": 163840,
        "rope_scaling": {
            "type": "yarn",
            "factor": 40,
            "original_max_position_embeddings": 4096,
            "mscale": 1.0,
            "mscale_all_dim": 1.0,
        },
    },
    "gpt-oss": {
        **llama(64, model_type="gpt_oss", rope_theta=150000, max_position_embeddings=131072),
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 32.0,
            "original_max_position_embeddings": 4096,
            "truncate": False,
        },
    },
    "gemma 3 with yarn on its full layers": {
        **llama(256, model_type="gemma3_text", num_hidden_layers=6, layer_types=GEMMA_TYPES),
        "rope_theta": 1e6,
        "rope_local_base_freq": 1e4,
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 4.0,
            "original_max_position_embeddings": 32768,
        },
    },
    "gemma 4 with a proportional full layer": {
        **llama(256, model_type="gemma4_text", num_hidden_layers=6, layer_types=GEMMA_TYPES),
        "global_head_dim": 512,
        "rope_parameters": {
            "full_attention": {
                "rope_type": "proportional",
                "rope_theta": 1e6,
                "partial_rotary_factor": 0.25,
            },
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        },
    },
    "olmo 3 with yarn on its full layers": {
        **llama(128, model_type="olmo3", rope_theta=5e5, num_hidden_layers=4),
        "max_position_embeddings": 65536,
        "rope_scaling": {
            "rope_type": "yarn",
            "factor": 8.0,
            "original_max_position_embeddings": 8192,
        },
    },
    "modernbert with two other bases": {
        **llama(64, model_type="modernbert", global_rope_theta=80000.0, local_rope_theta=20000.0),
    },
}


@pytest.mark.parametrize("config", OWN_CLASSES.values(), ids=OWN_CLASSES)
@pytest.mark.parametrize("spelling", SPELLINGS)
def test_model_classes_with_rules_of_their_own(
    config: dict[str, Any], spelling: str, folder: Path
) -> None:
    model = configs.read(config)
    if spelling == "transformers_v4" and config["model_type"] in ("gemma4_text", "olmo3"):
        with pytest.raises(configs.ExportError, match="version 5"):
            configs.export(model, spelling)
        return
    assert_rotates_alike(model, configs.export(model, spelling).data, folder)


KNOWN_COMPLAINTS = (
    # Phi-3's files leave factor out, and so does their export.
    "Please set the `factor` field of `rope_parameters`with this ratio instead",
    # The check does not know the key; the function reads it, as the frequencies show.
    "Unrecognized keys in `rope_parameters` for 'rope_type'='proportional': {'factor'}",
)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_the_library_has_nothing_to_say_about_an_export(spelling: str, folder: Path) -> None:
    models = [configs.read(preset.config) for preset in configs.presets()]
    for encoding, values in EVERY_TYPE:
        if encoding != "p_rope" or spelling == "transformers":
            spec: Any = get(encoding)(**values)
            models.append(configs.read(llama(spec.head_dim)).with_spec(spec))
    said = [
        text
        for model in models
        for text in complaints(configs.export(model, spelling).data, folder)
        if not any(known in text for known in KNOWN_COMPLAINTS)
    ]
    assert said == []


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize(("mscale", "over_all"), [(1.0, 1.0), (0.707, 1.0), (0.707, 0.707)])
def test_the_correction_in_the_softmax_reaches_the_attention_layer(
    mscale: float, over_all: float, spelling: str, folder: Path
) -> None:
    model = configs.read(OWN_CLASSES["deepseek v3"])
    tuned = model.with_spec(model.spec().with_values(mscale=mscale, mscale_all_dim=over_all))
    data = configs.export(tuned, spelling).data
    assert_rotates_alike(tuned, data, folder)
    ours: Any = tuned.spec().encode([0.0])  # type: ignore[attr-defined]
    assert softmax_factor(loaded(data, folder)) == pytest.approx(ours.softmax_factor, rel=1e-12)


RANDOM = ("rope", "abf", "ntk_aware", "linear", "dynamic_ntk", "yarn", "longrope", "llama3")
RANDOM += ("ntk_by_parts", "p_rope")
FLOAT32_RANGE = (1e-30, 1e30)


def within_float32(spec: Any) -> bool:
    """Whether float32 can hold the ladder and what it is worked out from.

    A pair of two dimensions has no NTK exponent; bands closer than a tenth make the weight a
    difference of nearly equal numbers, and a large factor does so to the base of ``dynamic``,
    (s·ℓ/L) - (s - 1).
    """
    windows = {1, 3 * getattr(spec, "original_max_position_embeddings", 4096)}
    tables = np.array([spec.frequencies(length) for length in windows])
    rotating = tables[tables > 0]
    low = getattr(spec, "low_freq_factor", getattr(spec, "beta_slow", 0.0))
    high = getattr(spec, "high_freq_factor", getattr(spec, "beta_fast", 1.0))
    return bool(
        spec.rotary_dim > 2
        and max(windows) < 2**31
        and rotating.min() > FLOAT32_RANGE[0]
        and rotating.max() < FLOAT32_RANGE[1]
        and spec.base < FLOAT32_RANGE[1]
        and (spec.id not in ("llama3", "ntk_by_parts") or high - low > 0.1 * high)
        and (spec.id != "dynamic_ntk" or spec.scaling_factor < 16)
    )


@pytest.mark.parametrize("encoding", RANDOM)
@given(data=st.data())
@settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    # The folder is written anew by each example, so sharing it is harmless.
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
)
def test_random_specs(encoding: str, data: st.DataObject, folder: Path) -> None:
    spec: Encoding = data.draw(specs(get(encoding)))
    spelling = data.draw(st.sampled_from(SPELLINGS))
    assume(within_float32(spec))
    kind = "cohere" if spec.layout == "interleaved" else "llama"  # type: ignore[attr-defined]
    around = configs.read(llama(spec.head_dim, model_type=kind))  # type: ignore[attr-defined]
    model = around.with_spec(spec)
    try:
        written = configs.export(model, spelling)
    except configs.ExportError:
        reject()
    rtol = TOLERANCE + 1.2e-7 * math.log(spec.base)  # type: ignore[attr-defined]
    assert_rotates_alike(model, written.data, folder, weight=2e-6, rtol=rtol)
