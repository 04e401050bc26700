"""What the two released models do; skipped where they are not installed."""

from pathlib import Path

import numpy as np
import pytest

from posviz import lab
from posviz.lab.errors import LabError
from posviz.lab.installed import missing
from posviz.lab.language_model import bert, heads, observe, orders, predicted, sources

PASSAGE = (Path(lab.__file__).parent / "passages" / "passage.txt").read_text("utf-8").strip()
LIBRARIES = missing("torch", "transformers", "accelerate")
needs_decoder = pytest.mark.skipif(
    bool(LIBRARIES or sources.SMOLLM2.missing()), reason=LIBRARIES or sources.SMOLLM2.missing()
)
needs_encoder = pytest.mark.skipif(
    bool(LIBRARIES or sources.MINILM.missing()), reason=LIBRARIES or sources.MINILM.missing()
)


def no_report(progress):
    pass


@pytest.fixture(scope="module")
def seen():
    return observe.observe(no_report, model="smollm2", text=PASSAGE)


@needs_decoder
def test_the_core_gives_the_attention_of_all_270_heads(seen):
    assert (seen.layers, seen.heads, seen.key_heads) == (30, 9, 3)
    assert seen.links == ("rope?base=100000&head_dim=64",)
    assert seen.odd_layers == ()
    # float32 in transformers against float64 here, on weights of up to 1
    assert seen.largest_gap < 5e-5
    assert "".join(seen.tokens) == PASSAGE


@needs_decoder
def test_reading_a_file_once_leaves_the_gguf_library_as_it_was(seen):
    import gguf
    from gguf.gguf_reader import GGUFReader

    assert gguf.GGUFReader is GGUFReader


@needs_decoder
def test_every_head_has_statistics_and_predictions(seen):
    count = len(seen.tokens)
    assert 380 <= count <= 420
    for values in (seen.without_first, seen.predicted_mean):
        assert values.shape == (30, 9, count - 1)
        assert np.isfinite(values).all()
    assert seen.by_distance.shape == seen.entropy.shape == seen.received.shape == (30, 9, count)
    assert (seen.entropy <= seen.most_entropy + 1e-4).all()
    for name in seen.statistics:
        assert seen.statistics[name].shape == (30, 9)
        assert np.isfinite(seen.statistics[name]).all()
    # The first token is a sink: it gets a quarter of all attention, and some heads' all.
    assert seen.statistics["first"].mean() > 0.25
    assert seen.statistics["first"].max() > 0.99


@needs_decoder
def test_mean_queries_and_keys_tell_how_attention_falls_with_distance(seen):
    own = seen.statistics["prediction"]
    assert np.median(own) > 0.8
    # The means of other heads, with the same rotation, tell much less; no positions tell nothing.
    others = seen.predicted_mean.reshape(270, -1)[::-1].reshape(seen.predicted_mean.shape)
    wrong = predicted.correlation(seen.without_first, others)
    assert np.median(wrong) < 0.7
    assert own.mean() - wrong.mean() > 0.2
    assert not predicted.correlation(seen.without_first, seen.predicted_none).any()
    # A head that looks at the token before does so by its mean query and mean key alone.
    layer, head = seen.ranked("previous")[0]
    found = heads.queries_and_keys(no_report, model="smollm2", text=PASSAGE, layer=layer, head=head)
    assert found.queries.shape == (len(seen.tokens), 64)
    assert np.corrcoef(found.measured[:64], found.given[:64])[0, 1] > 0.98
    assert found.weight[:8].argmax() == found.predicted[:8].argmax() == 1


@needs_encoder
def test_heads_of_the_encoder_look_where_the_ids_say_and_not_where_the_words_stand():
    found = bert.permuted(no_report, model="minilm", text=PASSAGE, order="shuffled")
    assert (found.layers, found.heads) == (6, 12)
    best = np.unravel_index(found.neighbours.argmax(), found.neighbours.shape)
    assert found.neighbours[best] > 0.7
    assert found.permuted_neighbours[best] < 0.1
    assert found.id_neighbours[best] > 0.7
    assert found.cosine < 0.9


@needs_encoder
def test_without_positions_the_dog_bites_the_man_who_bites_the_dog():
    dog, man = orders.WORD_ORDER
    found = bert.permuted(no_report, model="minilm", text=dog, order="equal", other=man)
    assert found.similarity < 0.99
    assert found.permuted_similarity == pytest.approx(1, abs=1e-6)


@needs_encoder
def test_an_encoder_has_no_causal_attention_to_observe():
    with pytest.raises(LabError, match="all-MiniLM-L6-v2 is an encoder of the BERT family"):
        observe.observe(no_report, model="minilm", text=PASSAGE)


@needs_decoder
def test_a_file_that_was_not_copied_whole_is_said_to_be_cut(tmp_path, monkeypatch):
    monkeypatch.setenv("POSVIZ_LOCAL_MODELS", "1")
    whole = sources.SMOLLM2.path
    assert whole is not None
    cut = tmp_path / "cut.gguf"
    with whole.open("rb") as file:
        cut.write_bytes(file.read(20 << 20))
    with pytest.raises(LabError) as refused:
        observe.observe(no_report, model=str(cut), text=PASSAGE)
    assert str(refused.value) == (
        "transformers cannot read cut.gguf: the file ends within a tensor; it was not copied or "
        "downloaded whole."
    )
