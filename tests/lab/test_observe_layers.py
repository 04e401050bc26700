"""The attention of tiny models, against transformers' own output and against loops by hand."""

import dataclasses
import json
import math
import shutil

import numpy as np
import pytest
import torch
from tiny_models import TEXT, decoder_folder, encoder_folder, transformers

from posviz import attention, configs, parse
from posviz.lab.errors import LabError
from posviz.lab.installed import missing
from posviz.lab.language_model import heads, load, observe, predicted, sources
from posviz.lab.language_model.layers import Seen, core_weights, encoded
from posviz.lab.workers import Cancelled
from posviz.measures import given_scores, observed

pytestmark = pytest.mark.skipif(bool(missing("transformers")), reason=missing("transformers"))

YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "original_max_position_embeddings": 32,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
}


def no_report(progress):
    pass


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    transformers()
    return decoder_folder(
        tmp_path_factory.mktemp("tiny_llama"),
        rope_parameters={"rope_type": "default", "rope_theta": 500.0},
    )


@pytest.fixture(autouse=True)
def _local_models(monkeypatch):
    monkeypatch.setenv(sources.ALLOW, "1")


@pytest.fixture(scope="module")
def own(folder):
    """transformers' attention of both layers, from a model of its own: (layers, heads, n, n)."""
    lib = transformers()
    model = lib.LlamaForCausalLM.from_pretrained(folder, attn_implementation="eager").eval()
    ids = lib.AutoTokenizer.from_pretrained(folder)(TEXT, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        return torch.cat(model(ids, output_attentions=True).attentions).numpy()


def test_the_model_s_attention_is_not_even_so_that_the_proofs_below_mean_something(own):
    assert observed.filled_entropy(own).max() < 0.9


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("Llama", {"rope_type": "default", "rope_theta": 500.0}),
        ("Llama", {"rope_theta": 500.0, **YARN}),
        ("Llama", {"rope_theta": 500.0, **LLAMA3}),
        ("Llama", {"rope_type": "linear", "factor": 4.0, "rope_theta": 500.0}),
        ("Qwen3", {"rope_type": "default", "rope_theta": 500.0}),
    ],
    ids=lambda value: value if isinstance(value, str) else value["rope_type"],
)
def test_the_core_gives_the_attention_that_transformers_gives(tmp_path, name, parameters):
    folder = decoder_folder(tmp_path, name, rope_parameters=parameters)
    found = observe.observe(no_report, model=str(folder), text=TEXT)
    assert (found.layers, found.heads, found.key_heads) == (2, 4, 2)
    assert found.largest_gap < 2e-6
    assert found.odd_layers == ()
    assert [parse(one) for one in found.links] == [configs.read(folder / "config.json").spec()]


GEMMA3 = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}


@pytest.mark.parametrize("tokens", [8, 24])
@pytest.mark.parametrize(
    ("name", "more"), [("Qwen3", {}), ("Gemma3Text", GEMMA3), ("Olmo2", GEMMA3)]
)
def test_norms_of_queries_and_keys_are_read_in_their_own_order_of_axes(
    tmp_path, name, more, tokens
):
    folder = decoder_folder(tmp_path, name, heads=8, **more)
    found = observe.observe(no_report, model=str(folder), text=TEXT, tokens=tokens)
    assert (found.heads, found.key_heads) == (8, 2)
    assert found.largest_gap < 1e-5


@pytest.mark.parametrize(
    ("name", "more", "odd"),
    [
        ("Mistral", {"sliding_window": 8}, (0, 1)),
        ("Gemma2", {"attn_logit_softcapping": 1.0, "sliding_window": 64, **GEMMA3}, (0, 1)),
    ],
)
def test_attention_that_is_more_than_a_softmax_of_rotated_q_and_k_is_told(
    tmp_path, name, more, odd
):
    folder = decoder_folder(tmp_path, name, **more)
    found = observe.observe(no_report, model=str(folder), text=TEXT)
    assert found.odd_layers == odd
    assert found.largest_gap > 0.01


def test_one_pass_gives_what_the_map_and_the_queries_and_keys_give(folder):
    asked = {"model": str(folder), "text": TEXT, "layer": 1, "head": 2}
    found = heads.closely(no_report, **asked)
    for one, other in (
        (found.map, observe.head_map(no_report, **asked)),
        (found.pair, heads.queries_and_keys(no_report, **asked)),
    ):
        for field in dataclasses.fields(one):
            np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name))


def test_half_a_surrogate_pair_is_no_text(folder):
    with pytest.raises(LabError, match="text must be Unicode text; got half of a surrogate pair"):
        observe.observe(no_report, model=str(folder), text="\ud800" * 20)


def test_a_prediction_is_measured_beyond_the_fall_that_all_attention_has():
    flat = predicted.from_no_positions(64)
    waves = np.exp(0.2 * np.cos(np.arange(64) / 2)) * flat
    assert np.corrcoef(np.log(waves[:32]), np.log(flat[:32]))[0, 1] > 0.8
    assert predicted.correlation(waves, flat) == 0
    assert predicted.correlation(waves, waves**2 / flat) == pytest.approx(1)
    assert predicted.correlation(waves, flat**2 / waves) == pytest.approx(-1)


def test_another_base_would_be_noticed(folder):
    loaded = load.decoder(str(folder), no_report)
    read = load.tokens_of(loaded, TEXT, 64)
    seen = observe.one_layer(loaded, read, 1, 0, no_report)
    wrong = encoded(parse("rope?base=600&head_dim=8"), 24)
    assert float((core_weights(wrong, seen) - seen.weights).abs().max()) > 1e-2


def test_a_head_s_map_is_transformers_own(folder, own):
    for layer, head in ((0, 3), (1, 1)):
        found = observe.head_map(no_report, model=str(folder), text=TEXT, layer=layer, head=head)
        np.testing.assert_allclose(found.weights, own[layer, head], atol=1e-7)
        np.testing.assert_allclose(found.received, observed.received(own[layer, head]), atol=1e-6)
        assert [one.strip() for one in found.tokens] == TEXT.split()


def test_observed_statistics_are_those_of_transformers_weights(folder, own):
    found = observe.observe(no_report, model=str(folder), text=TEXT)
    by_hand = np.zeros((2, 4, 24))
    for distance in range(24):
        pairs = [own[..., m, m - distance] for m in range(distance, 24)]
        by_hand[..., distance] = np.mean(pairs, axis=0)
    np.testing.assert_allclose(found.by_distance, by_hand, atol=1e-6)
    rest = own[..., 1:, 1:] / own[..., 1:, 1:].sum(axis=-1, keepdims=True)
    np.testing.assert_allclose(
        found.without_first[..., 3], observed.mean_by_distance(rest)[..., 3], rtol=1e-5
    )
    first = own[..., 1:, 0].mean(axis=-1)
    np.testing.assert_allclose(found.statistics["first"], first, atol=1e-6)
    np.testing.assert_allclose(found.statistics["previous"], by_hand[..., 1], atol=1e-6)
    far = [(rest[..., m, :] * (m - np.arange(23))).sum(axis=-1) for m in range(23)]
    np.testing.assert_allclose(found.statistics["distance"], np.mean(far, axis=0), rtol=1e-5)
    np.testing.assert_allclose(found.maps, own, atol=1e-6)  # 24 tokens are fewer than its cells
    assert found.ranked("first")[0] == divmod(int(first.argmax()), 4)
    assert found.ranked("first", descending=False)[0] == divmod(int(first.argmin()), 4)
    np.testing.assert_allclose(found.most_entropy[[0, 23]], [0, math.log(24)])


def test_predictions_are_the_core_s_softmax_of_equal_and_of_mean_content(folder):
    found = observe.observe(no_report, model=str(folder), text=TEXT, match=4.0)
    pair = heads.queries_and_keys(no_report, model=str(folder), text=TEXT, layer=1, head=2)
    frequencies = 500.0 ** (-np.arange(0, 8, 2) / 8)
    equal = 4.0 * np.cos(np.arange(23)[:, None] * frequencies).mean(axis=1)
    for curve in found.predicted_equal:
        np.testing.assert_allclose(curve, observed.expected_by_distance(equal), rtol=1e-6)
    every = [sum(1 / (m + 1) for m in range(gap, 23)) / (23 - gap) for gap in range(23)]
    np.testing.assert_allclose(found.predicted_none, every)  # query m sees m + 1 keys, all alike
    q, k = (np.linalg.norm(one[1:], axis=-1).mean() for one in (pair.queries, pair.keys))
    assert found.sizes[1, 2] == pytest.approx(q * k / math.sqrt(8), rel=1e-5)
    np.testing.assert_allclose(found.predicted_mean[1, 2], pair.predicted, rtol=1e-4)
    np.testing.assert_allclose(found.without_first[1, 2], pair.weight, rtol=1e-5)


def test_queries_and_keys_stand_before_the_rotation_and_groups_share_a_key_head(folder):
    loaded = load.decoder(str(folder), no_report)
    layer = loaded.model.model.layers[0]
    read = load.tokens_of(loaded, TEXT, 64)
    with torch.no_grad():
        normed = layer.input_layernorm(loaded.model.model.embed_tokens(read.ids))[0]
        q, k = layer.self_attn.q_proj(normed), layer.self_attn.k_proj(normed)
    for head, key_head in ((0, 0), (1, 0), (2, 1), (3, 1)):
        found = heads.queries_and_keys(no_report, model=str(folder), text=TEXT, layer=0, head=head)
        assert found.key_head == key_head
        np.testing.assert_allclose(found.queries, q[:, 8 * head : 8 * head + 8], atol=1e-6)
        np.testing.assert_allclose(found.keys, k[:, 8 * key_head : 8 * key_head + 8], atol=1e-6)


def test_measured_logits_and_those_of_the_means_agree_with_loops(folder):
    found = heads.queries_and_keys(no_report, model=str(folder), text=TEXT, layer=1, head=3)
    result = parse(found.link).encode(np.arange(24.0), length=24)
    q, k = found.queries.astype(float), found.keys.astype(float)
    turned_q, turned_k = result.rotate(q), result.rotate(k)
    pairs = [turned_q[m] @ turned_k[m - 5] / math.sqrt(8) for m in range(6, 24)]
    assert found.measured[5] == pytest.approx(np.mean(pairs), abs=1e-6)
    assert found.spread[5] == pytest.approx(np.std(pairs), abs=1e-6)
    # The logit of the means is the mean over all pairs of tokens, each put at this distance.
    turned = [result.rotate(np.broadcast_to(one, (24, 8)))[5] for one in q[1:]]
    still = [result.rotate(np.broadcast_to(one, (24, 8)))[0] for one in k[1:]]
    every = np.array(turned) @ np.array(still).T / math.sqrt(8)
    assert found.given[5] == pytest.approx(every.mean(), abs=1e-6)
    spec = parse(found.link)
    np.testing.assert_allclose(
        found.given, given_scores(spec, found.mean_query, found.mean_key, length=23)
    )


def test_attention_from_a_head_s_q_and_k_is_the_head_s_own(folder, own):
    found = heads.queries_and_keys(no_report, model=str(folder), text=TEXT, layer=0, head=1)
    result = configs.read(folder / "config.json").rotation(length=24)
    weights = attention.weights(
        result, found.queries.astype(float), found.keys.astype(float), is_causal=True
    )
    np.testing.assert_allclose(weights, own[0, 1], atol=1e-6)


def test_a_cancelled_pass_leaves_no_hooks_behind(folder):
    loaded = load.decoder(str(folder), no_report)

    def stop(progress):
        if progress.note == "layer 1":
            raise Cancelled

    with pytest.raises(Cancelled):
        observe.observe(stop, model=str(folder), text=TEXT)
    assert not any(module._forward_hooks for module in loaded.model.modules())


def test_groups_of_query_heads_take_their_keys_in_order():
    keys = torch.arange(2.0)[:, None, None]
    seen = Seen(0, torch.zeros(6, 1, 1), keys, torch.zeros(6, 1, 1), 1.0)
    assert seen.keys_by_head.ravel().tolist() == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"layer": 2, "head": 0}, "layer must be a whole number from 0 to 1; got 2"),
        ({"layer": 0, "head": 4}, "head must be a whole number from 0 to 3; got 4"),
        ({"layer": 0, "head": 0, "text": "w1 w2"}, "text must have at least 8 tokens; got 2"),
        ({"layer": 0, "head": 0, "tokens": 513}, "tokens must be a whole number from 8 to 512"),
    ],
)
def test_what_cannot_be_observed_is_said(folder, more, told):
    with pytest.raises(LabError, match=told):
        observe.head_map(no_report, **{"model": str(folder), "text": TEXT, **more})


def test_a_longer_text_is_cut_and_says_so(folder):
    found = observe.observe(no_report, model=str(folder), text=TEXT, tokens=10)
    assert (len(found.tokens), found.cut_from) == (10, 24)


def test_an_encoder_is_no_decoder(tmp_path):
    folder = encoder_folder(tmp_path)
    with pytest.raises(LabError, match="is an encoder of the BERT family; this needs a causal"):
        observe.observe(no_report, model=str(folder), text=TEXT)


def _cut(folder):
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:5000])


def _widened(folder):
    config = folder / "config.json"
    config.write_text(config.read_text().replace('"hidden_size": 32', '"hidden_size": 40'))


def _deepened(folder):
    config = folder / "config.json"
    config.write_text(
        config.read_text().replace('"num_hidden_layers": 2', '"num_hidden_layers": 3')
    )


def _no_number(folder):
    config = folder / "config.json"
    config.write_text(config.read_text().replace('"hidden_size": 32', '"hidden_size": 32.5'))


def _nested(folder):
    (folder / "config.json").write_text("[" * 100_000)


def _with_code(folder):
    own = {"model_type": "own", "auto_map": {"AutoConfig": "own.Config"}}
    (folder / "config.json").write_text(json.dumps(own))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (_cut, "transformers cannot read model: Error while deserializing header"),
        (_widened, "transformers cannot read model: "),
        (_deepened, "model lacks 9 of the model's weights, model.layers.2.input_layernorm.weight"),
        (_no_number, "transformers cannot read model: "),
        (_nested, "model: config.json is nested too deeply to be read"),
        (_with_code, "transformers cannot read model: .*contains custom code"),
    ],
)
def test_a_broken_model_is_one_sentence_and_never_random_weights(folder, tmp_path, change, told):
    copy = tmp_path / "model"
    shutil.copytree(folder, copy)
    change(copy)
    with pytest.raises(LabError, match=told):
        load.decoder(str(copy), no_report)
