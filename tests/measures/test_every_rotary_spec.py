from __future__ import annotations

import numpy as np
import pytest

import posviz
from posviz import measures
from posviz.encodings.rotary import RotaryEncoding

ROTARY = [encoding for encoding in posviz.catalog() if issubclass(encoding, RotaryEncoding)]
LENGTH = 20_000


@pytest.fixture(params=ROTARY, ids=[encoding.id for encoding in ROTARY])
def spec(request: pytest.FixtureRequest) -> RotaryEncoding:
    made: RotaryEncoding = request.param()
    return made


def test_score_decay_equals_the_direct_sum(spec: RotaryEncoding) -> None:
    query = np.full(LENGTH, LENGTH - 1.0)
    seen = spec.relative_distance(query, query - np.arange(LENGTH))
    result = spec.encode(np.asarray([LENGTH - 1.0]))
    gain = result.attention_factor**2 * result.softmax_factor
    gain *= 1.0 if result.query_scale is None else result.query_scale[0]
    direct = gain * np.cos(seen[:, None] * result.inv_freq).mean(axis=1)
    decay = measures.score_decay(spec, length=LENGTH)
    np.testing.assert_allclose(decay.scores, direct, rtol=0, atol=1e-10)
    negative = np.flatnonzero(direct < 0)
    assert decay.first_negative == (negative[0] if negative.size else None)


def test_bands_cover_every_pair_and_nothing_is_nan(spec: RotaryEncoding) -> None:
    found = measures.spectrum(spec, length=LENGTH, trained_length=4096)
    assert found.kept + found.blended + found.divided == found.pairs.size == spec.pairs
    for values in (found.divisor, found.turns_trained, found.turns_target, found.beyond):
        assert not np.isnan(values).any()
    assert (found.beyond >= 1).all()


def test_needle_starts_at_its_weight_and_never_falls_below_plain_rope(spec: RotaryEncoding) -> None:
    lengths = [4096, 8192, 32768, 131072]
    weights = measures.needle_weight(spec, lengths=lengths, trained_length=4096).weights
    # S39 gives these without a factor; no method here lowers the logits.
    assert (weights >= np.asarray([0.9 - 1e-9, 0.81815, 0.52935, 0.21946])).all()
    assert (weights <= 1).all()


def test_a_length_of_one_is_a_length(spec: RotaryEncoding) -> None:
    decay = measures.score_decay(spec, length=1)
    assert decay.scores.shape == (1,)
    assert measures.spectrum(spec, length=1, trained_length=1).pairs.size == spec.pairs
    assert measures.short_range_cost(spec, length=1).change.size == 0
    assert measures.clock(spec, pair=0, position=0, length=1, trained_length=1).turns == 0
