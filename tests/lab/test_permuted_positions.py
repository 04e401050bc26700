"""An encoder with other position ids: a tiny one for what is exact."""

import math

import numpy as np
import pytest
import torch
from tiny_models import decoder_folder, encoder_folder, transformers

from posviz.lab.errors import LabError
from posviz.lab.installed import missing
from posviz.lab.language_model import bert, sources

pytestmark = pytest.mark.skipif(bool(missing("transformers")), reason=missing("transformers"))

WORDS = "w3 w14 w15 w9 w26 w5 w35"


def no_report(progress):
    pass


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    transformers()
    return encoder_folder(tmp_path_factory.mktemp("tiny_bert"))


@pytest.fixture(autouse=True)
def _local_models(monkeypatch):
    monkeypatch.setenv(sources.ALLOW, "1")


def permuted(folder, order, **more):
    return bert.permuted(no_report, model=str(folder), text=WORDS, order=order, **more)


def own(folder, text):
    """transformers' attention and mean vector for a text as it stands."""
    lib = transformers()
    model = lib.BertModel.from_pretrained(folder, attn_implementation="eager").eval()
    with torch.no_grad():
        read = lib.AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt")
        found = model(read["input_ids"], output_attentions=True)
    return torch.cat(found.attentions).numpy(), found.last_hidden_state[0].mean(dim=0).numpy()


def test_true_ids_give_transformers_own_attention(folder):
    weights, _ = own(folder, WORDS)
    found = permuted(folder, "reversed")
    np.testing.assert_allclose(found.maps, weights, atol=1e-6)
    assert found.tokens == ("[CLS]", *WORDS.split(), "[SEP]")
    assert found.change.min() > 0.01


def test_reversed_ids_are_a_text_read_backwards(folder):
    backwards = " ".join(reversed(WORDS.split()))
    weights, vector = own(folder, backwards)
    found = permuted(folder, "reversed", other=backwards)
    order = [0, *range(7, 0, -1), 8]
    np.testing.assert_allclose(found.permuted_maps, weights[..., order, :][..., order], atol=1e-6)
    _, straight = own(folder, WORDS)
    cosine = vector @ straight / np.linalg.norm(vector) / np.linalg.norm(straight)
    assert found.cosine == pytest.approx(cosine, abs=1e-6)
    # The second text is the first one backwards: its true embedding is the first's with other ids.
    assert found.similarity == pytest.approx(found.cosine, abs=1e-6)


def test_shuffled_ids_are_a_text_of_shuffled_words(folder):
    found = permuted(folder, "shuffled", seed=2)
    words = WORDS.split()
    placed = [words[list(found.position_ids).index(at) - 1] for at in range(1, 8)]
    weights, _ = own(folder, " ".join(placed))
    order = found.position_ids
    np.testing.assert_allclose(found.permuted_maps, weights[..., order, :][..., order], atol=1e-6)
    by_hand = np.array(
        [[sum(head[m, n] for m in range(9) for n in (m - 1, m + 1) if 0 <= n < 9) / 9
          for head in layer] for layer in weights]
    )  # fmt: skip
    np.testing.assert_allclose(found.id_neighbours, by_hand, atol=1e-5)


def test_equal_ids_make_a_bag_of_words(folder):
    found = permuted(folder, "equal", other="w35 w5 w26 w9 w15 w14 w3")
    assert found.permuted_similarity == pytest.approx(1, abs=1e-9)
    assert found.similarity < 0.9999
    assert np.isnan(found.id_neighbours).all()


def test_shifted_ids_take_other_rows_of_the_table(folder):
    found = permuted(folder, "shifted")
    assert found.position_ids.tolist() == list(range(23, 32))
    assert found.cosine < 0.999
    np.testing.assert_allclose(found.id_neighbours, found.permuted_neighbours, atol=1e-7)
    assert math.isnan(found.similarity)  # there is one text only


def test_models_and_texts_that_cannot_be_read_are_refused(folder, tmp_path):
    with pytest.raises(LabError, match="text must have at least 5 tokens; got 4"):
        bert.permuted(no_report, model=str(folder), text="w1 w2", order="equal")
    with pytest.raises(LabError, match="is a causal language model; this needs an encoder"):
        permuted(decoder_folder(tmp_path), "equal")
    with pytest.raises(LabError, match="the second text must have at least 5 tokens; got 4"):
        permuted(folder, "equal", other="w1 w2")
