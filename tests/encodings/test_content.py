"""Laws, limiting cases and printed facts of the encodings that depend on the content."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from spec_strategies import variants

import posviz
from posviz import ParameterError
from posviz.attention import weights
from posviz.encodings.content import ContentBiasEncoding

FAMILY = [encoding for encoding in posviz.catalog() if issubclass(encoding, ContentBiasEncoding)]
SPECS = [spec for encoding in FAMILY for spec in variants(encoding)]
every_spec = pytest.mark.parametrize("spec", SPECS, ids=posviz.link)
AT = np.arange(9.0)
SEEN = np.tril(np.ones((len(AT), len(AT)), dtype=bool))
QUERIES, KEYS = np.random.default_rng(3).standard_normal((2, 2, len(AT), 4))
GIVEN = {"queries": QUERIES, "keys": KEYS}
SMALL = "heads=2&head_dim=4"


def spec(link: str) -> Any:
    return posviz.parse(link)


@every_spec
def test_later_keys_have_no_weight_and_change_nothing(spec: Any) -> None:
    rng = np.random.default_rng(0)
    queries, keys = rng.standard_normal((2, spec.heads, len(AT), spec.head_dim))
    changed = keys.copy()
    changed[:, -1] = 5.0
    first, second = (weights(spec.encode(AT, queries=queries, keys=one)) for one in (keys, changed))
    assert (first[:, ~SEEN] == 0).all()
    np.testing.assert_allclose(first[:, :-1], second[:, :-1], rtol=1e-12, atol=1e-15)
    assert np.abs(first[:, -1] - second[:, -1]).max() > 1e-3


@every_spec
def test_terms_add_up_to_the_logits(spec: Any) -> None:
    result = spec.encode(AT)
    np.testing.assert_allclose(sum(result.terms.values()), result.logits, rtol=1e-12)


# ---- CoPE ----


def test_s49_cope_with_all_gates_open_counts_distance_plus_1() -> None:
    # q·k/√D = 1000 leaves each gate at 1 to the last digit.
    cope = spec("cope?content=typed&typed_queries=100&typed_keys=10&npos_max=64")
    counted = cope.encode(AT).maps["positions counted"]
    distance = AT[:, None] - AT[None, :]
    np.testing.assert_allclose(counted[:, SEEN], np.tile(distance[SEEN] + 1, (4, 1)), rtol=1e-12)


def test_cope_with_all_gates_shut_stands_still_at_0() -> None:
    cope = spec("cope?content=typed&typed_queries=100&typed_keys=-10&embedding=normal")
    result = cope.encode(AT)
    np.testing.assert_allclose(result.maps["positions counted"], 0, atol=1e-12)
    # Every key gets the same number then, and the content alone decides.
    np.testing.assert_allclose(
        weights(result)[:, SEEN],
        np.tile(np.repeat(1 / (AT + 1), np.arange(1, len(AT) + 1)), (4, 1)),
        rtol=1e-9,
    )


def test_cope_counts_the_punctuation_marks_of_a_sentence() -> None:
    cope = spec("cope?content=sentence&heads=2&head_dim=64")
    result = cope.encode(np.arange(12.0))
    assert result.labels[3] == result.labels[8] == result.labels[11] == "."
    # q·k/√D is about 4 at a mark and -4 elsewhere, give or take what words have of their own.
    mark, word = (1 / (1 + math.exp(-strength)) for strength in (4.0, -4.0))
    counted = result.maps["positions counted"]
    np.testing.assert_allclose(counted[:, 11, 0], 3 * mark + 9 * word, atol=5e-3)
    np.testing.assert_allclose(counted[:, 10, 4], mark + 6 * word, atol=5e-3)


@settings(max_examples=20, deadline=None, derandomize=True, database=None)
@given(npos_max=st.integers(1, 12), seed=st.integers(0, 9))
def test_cope_is_its_formula_pair_by_pair(npos_max: int, seed: int) -> None:
    cope = spec(f"cope?{SMALL}&npos_max={npos_max}&embedding=normal&seed={seed}")
    found = cope.encode(AT, **GIVEN).logits
    table = cope.initial_parameters()["pos_emb"]
    for h, m, n in np.argwhere(np.broadcast_to(SEEN, found.shape)):
        gates = [1 / (1 + math.exp(-QUERIES[h, m] @ KEYS[h, t] / 2)) for t in range(n, m + 1)]
        position = min(sum(gates), npos_max - 1)
        below = math.floor(position)
        above = min(below + 1, npos_max - 1)
        share = position - below
        row = (1 - share) * table[below] + share * table[above]
        expected = QUERIES[h, m] @ (KEYS[h, n] + row) / 2
        assert found[h, m, n] == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_cope_starts_without_positions_as_the_authors_code_does() -> None:
    terms = spec(f"cope?{SMALL}").encode(AT, **GIVEN).terms
    assert not terms["contextual position"].any()


def test_gradients_flow_through_gates_and_count() -> None:
    cope = spec(f"cope?{SMALL}&npos_max=5&embedding=normal")
    queries, keys = (torch.tensor(one[:, :5], requires_grad=True) for one in (QUERIES, KEYS))

    def logits(q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
        found = cope.encode(torch.arange(5, dtype=torch.float64), queries=q, keys=k).logits
        return torch.tril(found)

    assert torch.autograd.gradcheck(logits, (queries, keys), eps=1e-6, atol=1e-5)


# ---- DAPE ----


def test_dape_with_a_silent_network_is_the_static_bias() -> None:
    for base, link in (("alibi", "alibi?heads=2"), ("none", "alibi?heads=2&slope_scale=1e-9")):
        dape = spec(f"dape?{SMALL}&base_bias={base}")
        parts = dape.initial_parameters()
        silent = {**parts, "mlp2.2.weight": 0 * parts["mlp2.2.weight"]}
        silent["mlp2.2.bias"] = 0 * parts["mlp2.2.bias"]
        found = weights(dape.encode(AT, parameters=silent, **GIVEN))
        expected = weights(spec(link).encode(AT), QUERIES, KEYS)
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


def test_dape_s_static_biases_are_those_of_the_encodings_of_that_name() -> None:
    for base, link, names in (
        ("alibi", "alibi?heads=2", ()),
        ("kerple_log", "kerple_log?heads=2", ("r1", "r2")),
    ):
        dape = spec(f"dape?{SMALL}&base_bias={base}")
        parts = dape.initial_parameters()
        given = {"parameters": {name: parts[name] for name in names}} if names else {}
        expected = spec(link).encode(AT, **given).matrix
        found = dape.encode(AT, **GIVEN).terms["static bias"]
        np.testing.assert_allclose(found[:, SEEN], expected[:, SEEN], rtol=1e-12)


def test_dape_s_added_part_follows_the_content_and_its_static_bias_does_not() -> None:
    dape = spec(f"dape?{SMALL}")
    first = dape.encode(AT, **GIVEN).terms
    second = dape.encode(AT, queries=KEYS, keys=QUERIES).terms
    np.testing.assert_array_equal(first["static bias"], second["static bias"])
    assert np.abs(first["adaptation"] - second["adaptation"]).max() > 0.01
    static = first["static bias"]
    np.testing.assert_array_equal(static[:, 1:, 1:], static[:, :-1, :-1])


def test_dape_mixes_the_heads_and_looks_at_one_pair_at_a_time() -> None:
    dape = spec(f"dape?{SMALL}")
    before = dape.encode(AT, **GIVEN).terms["adaptation"]
    keys = KEYS.copy()
    keys[0, 4] += 1.0
    after = dape.encode(AT, queries=QUERIES, keys=keys).terms["adaptation"]
    moved = np.abs(after - before) > 1e-12
    # Only head 0's key 4 changed: both heads see it, no other key does.
    assert moved[:, :, 4].all()
    assert not np.delete(moved, 4, axis=2).any()


def test_the_two_capes_are_told_apart() -> None:
    (sentence,) = (text for text in posviz.get("dape").misread if "CAPE" in text)
    assert "Likhomanenko 2021" in sentence
    assert "Zheng 2024" in sentence


# ---- Queries and keys ----


@pytest.mark.parametrize(
    ("link", "given", "start"),
    [
        ("cope", {"queries": QUERIES}, "CoPE: queries and keys must be given together."),
        ("cope", GIVEN, "CoPE: queries must have the axes (4 heads, 9 positions, 64 head"),
        ("dape", {"parameters": {}}, "DAPE (CAPE, 2024): parameters must be mlp2.0.weight, "),
    ],
)
def test_what_does_not_fit_gives_a_sentence(link: str, given: Any, start: str) -> None:
    with pytest.raises(ParameterError) as caught:
        spec(link).encode(AT, **given)
    assert str(caught.value).startswith(start)


@pytest.mark.parametrize(
    ("link", "lacking"),
    [
        ("cope?content=sentence&sentence=", "sentence"),
        ("cope?content=typed&typed_keys=", "typed_queries and typed_keys"),
    ],
)
def test_content_that_is_asked_for_must_be_there(link: str, lacking: str) -> None:
    with pytest.raises(ParameterError, match=f"^CoPE: {lacking} must not be empty while content"):
        spec(link)
