"""A method's exported settings, put into a model's configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from posviz import configs, parse
from posviz.configs.completed import completed_link
from posviz.lab.errors import LabError
from posviz.lab.extension.applied import applied, rebased
from posviz.lab.extension.reading import extended
from posviz.lab.language_model.load import Loaded, decoder
from posviz.parameters import ParameterError
from tests.lab import tiny_extension as tiny

LENGTH = 256
METHODS = list(tiny.links())


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("POSVIZ_LOCAL_MODELS", "1")
        found = decoder(str(tiny.folder(tmp_path_factory.mktemp("tiny"))), tiny.Told())
        yield found


@pytest.mark.parametrize("method", METHODS)
def test_the_models_configuration_holds_the_very_dict_that_the_export_writes(
    method: str, loaded: Loaded
) -> None:
    link = tiny.links()[method]
    settings = applied(link, loaded.reading, length=LENGTH)
    spec = parse(completed_link(link, loaded.reading, target_length=LENGTH))
    exported = configs.export(
        loaded.reading.with_spec(spec), "transformers", target_length=LENGTH
    ).data
    model = extended(loaded, settings, "float32")
    assert model.config.rope_parameters == exported["rope_parameters"]
    assert model.config.max_position_embeddings == exported["max_position_embeddings"]
    assert model.model.rotary_emb.config is model.config
    assert settings.severity != "error"
    assert configs.check(configs.read(exported), runtime="transformers").severity != "error"


@pytest.mark.parametrize("method", METHODS)
def test_the_model_rotates_as_the_core_says(method: str, loaded: Loaded) -> None:
    settings = applied(tiny.links()[method], loaded.reading, length=LENGTH)
    model = extended(loaded, settings, "float32")
    rotary = model.model.rotary_emb
    for length in (tiny.WINDOW, LENGTH):
        positions = torch.arange(length)[None]
        cosine, sine = rotary(torch.zeros(1, length, 1), positions)
        core: Any = settings.spec.encode(np.arange(length, dtype=np.float64), length=length)
        assert rotary.inv_freq.numpy() == pytest.approx(np.asarray(core.inv_freq), rel=1e-6)
        assert rotary.attention_scaling == pytest.approx(float(core.attention_factor), rel=1e-6)
        angles = np.arange(length)[:, None] * np.asarray(core.inv_freq)
        factor = float(core.attention_factor)
        assert np.abs(cosine[0, :, :4].numpy() - factor * np.cos(angles)).max() < 4e-5
        assert np.abs(sine[0, :, 4:].numpy() - factor * np.sin(angles)).max() < 4e-5


def test_the_loaded_model_is_left_as_it_was(loaded: Loaded) -> None:
    before = loaded.model.config.to_dict()
    ids = torch.arange(1, 21)[None]
    with torch.inference_mode():
        first = loaded.model(ids).logits
        other = extended(loaded, applied("linear", loaded.reading, length=LENGTH), "float32")
        changed = other(ids).logits
        again = loaded.model(ids).logits
    assert loaded.model.config.to_dict() == before
    assert torch.equal(first, again)
    assert not torch.allclose(first, changed, atol=1e-3)
    shared = dict(loaded.model.named_parameters())
    assert all(one.data_ptr() == shared[name].data_ptr() for name, one in other.named_parameters())


def test_what_a_link_leaves_out_is_the_models_own(loaded: Loaded) -> None:
    settings = applied("yarn", loaded.reading, length=LENGTH)
    assert dict(settings.rope_parameters) == {
        "rope_type": "yarn",
        "rope_theta": 10000.0,
        "factor": 2.0,
        "original_max_position_embeddings": 128,
    }
    assert settings.trained_window == 128
    assert settings.severity == "ok"
    assert settings.diagnoses == ()


def test_a_method_that_transformers_cannot_express_keeps_the_exports_sentence(
    loaded: Loaded,
) -> None:
    with pytest.raises(LabError) as caught:
        applied("rerope", loaded.reading, length=LENGTH)
    assert str(caught.value) == (
        "ReRoPE cannot be written for transformers: it changes distances inside the attention "
        "kernel, which is no rope type."
    )


def test_a_value_that_is_not_allowed_keeps_the_encodings_sentence(loaded: Loaded) -> None:
    with pytest.raises(ParameterError, match=r"YaRN: scaling_factor must be .* got 0\.0\."):
        applied("yarn?scaling_factor=0", loaded.reading, length=LENGTH)


@pytest.mark.parametrize("method", ["dynamic_ntk", "longrope"])
def test_methods_that_change_with_every_call_say_what_becomes_of_cached_keys(
    method: str, loaded: Loaded
) -> None:
    notes = applied(tiny.links()[method], loaded.reading, length=LENGTH).notes
    assert any("keys that are cached keep the rotation of their own call" in one for one in notes)


def test_an_artificial_window_lets_the_slowest_pair_end_its_arc_there(loaded: Loaded) -> None:
    own, short = loaded.reading.rotation(), rebased(loaded.reading, 32).rotation()
    raised = np.asarray(short.inv_freq) / np.asarray(own.inv_freq)
    # By hand: base 10000·4^(-8/6), so pair i of 4 is 4^(2i/6) times as fast.
    assert raised == pytest.approx([1, 4 ** (1 / 3), 4 ** (2 / 3), 4], rel=1e-12)
    arcs_short, arcs_own = 32 * np.asarray(short.inv_freq), 128 * np.asarray(own.inv_freq)
    assert arcs_short[-1] == pytest.approx(arcs_own[-1], rel=1e-12)
    assert (arcs_short <= arcs_own * (1 + 1e-12)).all()


def test_ntk_aware_scaling_by_the_same_factor_undoes_an_artificial_window(loaded: Loaded) -> None:
    back = applied("ntk_aware?scaling_factor=4", loaded.reading, length=128, artificial_window=32)
    assert back.trained_window == 32
    assert back.rope_parameters["rope_theta"] == pytest.approx(10000, rel=1e-12)
    assert any("undoes the change exactly" in note for note in back.notes)


def test_a_method_on_an_artificial_window_takes_that_window_as_trained(loaded: Loaded) -> None:
    settings = applied("yarn", loaded.reading, length=128, artificial_window=32)
    assert settings.rope_parameters["original_max_position_embeddings"] == 32
    assert settings.rope_parameters["factor"] == 4
    assert settings.rope_parameters["rope_theta"] == pytest.approx(10000 * 4 ** (-8 / 6))


def test_an_artificial_window_must_be_shorter_than_the_models(loaded: Loaded) -> None:
    with pytest.raises(LabError) as caught:
        applied("rope", loaded.reading, length=LENGTH, artificial_window=128)
    assert str(caught.value) == (
        "Extension: artificial_window must be less than the model's own window of 128; got 128."
    )


def test_an_artificial_window_is_for_plain_rope_only() -> None:
    config = {"head_dim": 8, "max_position_embeddings": 128, "rope_theta": 1e4}
    scaled = config | {"rope_scaling": {"rope_type": "linear", "factor": 2.0}}
    with pytest.raises(LabError, match="artificial_window needs a model with plain RoPE"):
        rebased(configs.read(scaled), 32)


def test_models_with_several_rotations_are_refused(tmp_path: Path) -> None:
    rope = {"rope_type": "default", "rope_theta": 1e4}
    config = {
        "head_dim": 8,
        "max_position_embeddings": 128,
        "layer_types": ["full_attention", "sliding_attention"],
        "rope_parameters": {"full_attention": rope, "sliding_attention": rope},
    }
    with pytest.raises(LabError, match="the layer types full_attention, sliding_attention"):
        applied("yarn", configs.read(config), length=LENGTH)
